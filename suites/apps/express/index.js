// Express. The same answers as the plain Node server beside it.
//   PORT          where to listen (0 takes a free one)
//   HOST          address to listen on (127.0.0.1)
//   COMPRESSION   "off" or "gzip", which adds the compression middleware
//   BODY_BYTES    least size of the JSON body, about (20480)
//   NODE_ENV      "production" makes Express keep compiled views (/page); else it
//                 finds, reads and compiles the view for each request
'use strict';

const fs = require('node:fs');
const path = require('node:path');
const express = require('express');

const compression = process.env.COMPRESSION || 'off';
const bodyBytes = Number(process.env.BODY_BYTES || 20480);

// A mistyped setting must not be measured as if it were another one.
if (!['off', 'gzip'].includes(compression)) {
  throw new Error(`COMPRESSION is "${compression}"; it can be "off" or "gzip"`);
}
if (!Number.isSafeInteger(bodyBytes) || bodyBytes < 0) {
  throw new Error(`BODY_BYTES is "${process.env.BODY_BYTES}"; it must be a number of bytes`);
}

const cities = ['Lisbon', 'Osaka', 'Tromsø', 'Quito', 'Nairobi'];

function customer(id) {
  const number = Math.imul(id, 2654435761) >>> 0;
  return {
    id,
    name: `Customer ${id}`,
    city: cities[number % cities.length],
    balance: (number % 10000000) / 100,
    active: number % 3 === 0,
    key: number.toString(16).padStart(8, '0'),
  };
}

// How many customers make the size that was asked for.
let customers = 0;
for (let bytes = 16; bytes < bodyBytes; customers += 1) {
  bytes += Buffer.byteLength(JSON.stringify(customer(customers + 1))) + 1;
}

// Made anew for each request, as a service would from its data.
function report() {
  return { customers: Array.from({ length: customers }, (_, index) => customer(index + 1)) };
}

// A template engine as small as can be: {{ name }} is a value. Like the engines
// that people use, it keeps the source where Express says that views are cached.
const sources = new Map();

function render(file, values, done) {
  const fill = (source) => done(null, source.replace(/\{\{ (\w+) \}\}/g, (_, name) => values[name]));
  if (values.cache && sources.has(file)) {
    fill(sources.get(file));
    return;
  }
  fs.readFile(file, 'utf8', (error, source) => {
    if (error) {
      done(error);
      return;
    }
    if (values.cache) sources.set(file, source);
    fill(source);
  });
}

const app = express();
app.engine('html', render);
app.set('view engine', 'html');
app.set('views', path.join(__dirname, 'views'));

if (compression === 'gzip') app.use(require('compression')());

app.get('/', (request, response) => {
  response.json(report());
});

app.get('/page', (request, response) => {
  const rows = report()
    .customers.map(({ id, name, city }) => `<tr><td>${id}</td><td>${name}</td><td>${city}</td></tr>`)
    .join('\n');
  response.render('page', { title: 'Customers', rows });
});

app.get('/health', (request, response) => {
  response.type('text/plain').send('ok');
});

const server = app.listen(Number(process.env.PORT || 0), process.env.HOST || '127.0.0.1', (error) => {
  if (error) throw error;
  console.log(`listening on http://${server.address().address}:${server.address().port}`);
});

process.on('SIGTERM', () => {
  server.close(() => process.exit(0));
  server.closeIdleConnections?.();
  setTimeout(() => process.exit(0), 1000).unref();
});
