// hello world from Express 3, for Node 0.11.
//   PORT   where to listen on 127.0.0.1
'use strict';

var express = require('express');

var app = express();
// The published answers were as long as those of Node's own http module: without these two headers.
app.disable('etag');
app.disable('x-powered-by');

app.get('/', function (request, response) {
  response.set('Content-Type', 'text/plain; charset=utf-8');
  response.send('hello world');
});

var server = app.listen(Number(process.env.PORT), '127.0.0.1');
process.once('SIGTERM', function () {
  server.close();
});
