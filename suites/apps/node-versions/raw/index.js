// hello world from Node's own http module, in JavaScript that runs on every Node since 0.10.
//   PORT     where to listen on 127.0.0.1
//   LENGTH   "told": the answer has a Content-Length; "left-out": Node decides how it ends (told)
'use strict';

var http = require('http');

var length = process.env.LENGTH || 'told';
// A mistyped setting must not be measured as if it were another one.
if (length !== 'told' && length !== 'left-out') {
  throw new Error('LENGTH is "' + length + '"; it can be "told" or "left-out"');
}

var server = http.createServer(function (request, response) {
  if (request.url !== '/') {
    response.statusCode = 404;
    response.end();
    return;
  }
  response.setHeader('Content-Type', 'text/plain; charset=utf-8');
  if (length === 'told') response.setHeader('Content-Length', 11);
  response.end('hello world');
});

server.listen(Number(process.env.PORT), '127.0.0.1');
process.once('SIGTERM', function () {
  server.close();
});
