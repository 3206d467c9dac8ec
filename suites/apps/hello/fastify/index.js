// Hello, World! from Fastify 5.
//   PORT   where to listen on 127.0.0.1
'use strict';

const app = require('fastify')();

app.get('/', async () => 'Hello, World!');

app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
process.once('SIGTERM', () => app.close());
