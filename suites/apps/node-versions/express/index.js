// hello world from Express 4.11 as it comes, in JavaScript that runs on every Node since 0.10.
//   PORT   where to listen on 127.0.0.1
'use strict';

var express = require('express');

var app = express();

app.get('/', function (request, response) {
  response.send('hello world');
});

var server = app.listen(Number(process.env.PORT), '127.0.0.1');
process.once('SIGTERM', function () {
  server.close();
});
