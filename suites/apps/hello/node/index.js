// Hello, World! from Node's own http server. No dependencies.
//   PORT   where to listen on 127.0.0.1
'use strict';

const http = require('node:http');

const server = http.createServer((request, response) => {
  if (request.url !== '/') {
    response.statusCode = 404;
    response.end();
    return;
  }
  response.setHeader('Content-Type', 'text/plain; charset=utf-8');
  response.setHeader('Content-Length', 13);
  response.end('Hello, World!');
});

server.listen(Number(process.env.PORT), '127.0.0.1');
process.once('SIGTERM', () => server.close());
