// hello world from Koa 0.2, for Node 0.11 with --harmony: its middleware are generators, which were new then.
// Of the versions of `debug` that Koa 0.2 asks for, the newest need a newer Node: package.json pins an older one.
//   PORT   where to listen on 127.0.0.1
'use strict';

var koa = require('koa');

var app = koa();
// The published answers were as long as those of Node's own http module: without this header.
app.poweredBy = false;

app.use(function* () {
  if (this.path === '/') this.body = 'hello world';
});

var server = app.listen(Number(process.env.PORT), '127.0.0.1');
process.once('SIGTERM', function () {
  server.close();
});
