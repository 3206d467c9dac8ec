// hello world from Node's own http module, in JavaScript that runs on Node 0.11 as on today's.
//   PORT   where to listen on 127.0.0.1
'use strict';

var http = require('http');

var server = http.createServer(function (request, response) {
  if (request.url !== '/') {
    response.statusCode = 404;
    response.end();
    return;
  }
  response.setHeader('Content-Type', 'text/plain; charset=utf-8');
  response.setHeader('Content-Length', 11);
  response.end('hello world');
});

server.listen(Number(process.env.PORT), '127.0.0.1');
process.once('SIGTERM', function () {
  server.close();
});
