// hello world from Koa 3. Koa has no router of its own.
//   PORT   where to listen on 127.0.0.1
'use strict';

const Koa = require('koa');

const app = new Koa();

app.use((context) => {
  if (context.path === '/') context.body = 'hello world';
});

const server = app.listen(Number(process.env.PORT), '127.0.0.1');
process.once('SIGTERM', () => server.close());
