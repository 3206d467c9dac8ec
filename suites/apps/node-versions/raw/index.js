// hello world from Node's own http module, in JavaScript that runs on every Node since 0.10.
//   PORT             where to listen on 127.0.0.1
//   CONTENT_LENGTH   "sent", or "left-out": Node then decides how the answer's end is told (sent)
'use strict';

var http = require('http');

var contentLength = process.env.CONTENT_LENGTH || 'sent';
// A mistyped setting must not be measured as if it were another one.
if (contentLength !== 'sent' && contentLength !== 'left-out') {
  throw new Error('CONTENT_LENGTH is "' + contentLength + '"; it can be "sent" or "left-out"');
}

var server = http.createServer(function (request, response) {
  if (request.url !== '/') {
    response.statusCode = 404;
    response.end();
    return;
  }
  response.setHeader('Content-Type', 'text/plain; charset=utf-8');
  if (contentLength === 'sent') response.setHeader('Content-Length', 11);
  response.end('hello world');
});

server.listen(Number(process.env.PORT), '127.0.0.1');
process.once('SIGTERM', function () {
  server.close();
});
