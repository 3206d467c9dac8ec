// Hello, World! from Hono 4, on Node's http server.
//   PORT   where to listen on 127.0.0.1
'use strict';

const { serve } = require('@hono/node-server');
const { Hono } = require('hono');

const app = new Hono();

app.get('/', (context) => context.text('Hello, World!'));

const server = serve({ fetch: app.fetch, port: Number(process.env.PORT), hostname: '127.0.0.1' });
process.once('SIGTERM', () => server.close());
