// pong, from Node's own http server.
//   PORT   where to listen on 127.0.0.1
'use strict';

const http = require('http');

// Whatever is asked for: it has no routes.
const server = http.createServer((request, response) => {
  response.end('pong');
});
server.listen(Number(process.env.PORT), '127.0.0.1');
