// Hello, World! from Express 5.
//   PORT   where to listen on 127.0.0.1
'use strict';

const express = require('express');

const app = express();
// No other server sends these two headers, and an ETag is work: a hash of each body.
app.disable('etag');
app.disable('x-powered-by');

app.get('/', (request, response) => {
  response.type('text').send('Hello, World!');
});

const server = app.listen(Number(process.env.PORT), '127.0.0.1', (error) => {
  if (error) throw error;
});
process.once('SIGTERM', () => server.close());
