// hello world from Express 5.
//   PORT   where to listen on 127.0.0.1
'use strict';

const express = require('express');

const app = express();
// The same answer as from Node's own http module: without these two headers.
app.disable('etag');
app.disable('x-powered-by');

app.get('/', (request, response) => {
  response.type('text').send('hello world');
});

const server = app.listen(Number(process.env.PORT), '127.0.0.1', (error) => {
  if (error) throw error;
});
process.once('SIGTERM', () => server.close());
