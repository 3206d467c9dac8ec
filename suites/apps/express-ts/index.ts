// GET /test answers "test": Express 4.14 in TypeScript 2.1, for Node 6.
//   PORT          where to listen on 127.0.0.1
//   NODE_ENV      "production" or not set
//   COMPRESSION   "off" or "gzip", which adds the compression middleware (off)
import express = require('express');
import compression = require('compression');

// Node, Express and the middleware bring no types along, and these are all that it takes.
declare const process: any;

const wanted: string = process.env.COMPRESSION || 'off';
// A mistyped setting must not be measured as if it were another one.
if (wanted !== 'off' && wanted !== 'gzip') {
  throw new Error(`COMPRESSION is "${wanted}"; it can be "off" or "gzip"`);
}

const app = express();
if (wanted === 'gzip') app.use(compression());

app.get('/test', (request, response) => {
  response.send('test');
});

const server = app.listen(Number(process.env.PORT), '127.0.0.1');
process.once('SIGTERM', () => server.close());
