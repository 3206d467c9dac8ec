// Plain Node, no dependencies. The same answers as the Express server beside it.
//   PORT          where to listen (0 takes a free one)
//   HOST          address to listen on (127.0.0.1)
//   COMPRESSION   "off" or "gzip", which compresses / and /page for clients that accept it
//   BODY_BYTES    least size of the JSON body, about (20480)
// NODE_ENV changes nothing here: plain Node does not look at it.
'use strict';

const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const zlib = require('node:zlib');

const compression = process.env.COMPRESSION || 'off';
const bodyBytes = Number(process.env.BODY_BYTES || 20480);

// A mistyped setting must not be measured as if it were another one.
if (!['off', 'gzip'].includes(compression)) {
  throw new Error(`COMPRESSION is "${compression}"; it can be "off" or "gzip"`);
}
if (!Number.isSafeInteger(bodyBytes) || bodyBytes < 0) {
  throw new Error(`BODY_BYTES is "${process.env.BODY_BYTES}"; it must be a number of bytes`);
}

// Shorter answers are not compressed: what Express's middleware does by default.
const compressFrom = 1024;

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

// Read once: what Express does in production only.
const view = fs.readFileSync(path.join(__dirname, 'page.html'), 'utf8');

function page() {
  return view
    .replaceAll('{{ title }}', 'Customers')
    .replace('{{ rows }}', () =>
      report()
        .customers.map(({ id, name, city }) => `<tr><td>${id}</td><td>${name}</td><td>${city}</td></tr>`)
        .join('\n'));
}

// RFC 9110, 12.5.3: named with a weight above 0, or covered by *.
function acceptsGzip(header = '') {
  const weights = new Map();
  for (const offer of header.split(',')) {
    const [coding, ...parameters] = offer.split(';').map((part) => part.trim().toLowerCase());
    const q = parameters.find((parameter) => parameter.startsWith('q='));
    weights.set(coding, q === undefined ? 1 : Number(q.slice(2)));
  }
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0;
}

function send(request, response, type, text) {
  response.setHeader('Content-Type', type);
  const size = Buffer.byteLength(text);
  const compress = compression === 'gzip' && size >= compressFrom;
  if (compression === 'gzip') response.setHeader('Vary', 'Accept-Encoding');
  if (!compress || !acceptsGzip(request.headers['accept-encoding'])) {
    response.setHeader('Content-Length', size);
    response.end(text);
    return;
  }
  zlib.gzip(text, (error, packed) => {
    if (error) {
      response.statusCode = 500;
      response.end();
      return;
    }
    response.setHeader('Content-Encoding', 'gzip');
    response.setHeader('Content-Length', packed.length);
    response.end(packed);
  });
}

const server = http.createServer((request, response) => {
  switch (request.url.split('?')[0]) {
    case '/':
      send(request, response, 'application/json; charset=utf-8', JSON.stringify(report()));
      break;
    case '/page':
      send(request, response, 'text/html; charset=utf-8', page());
      break;
    case '/health':
      response.setHeader('Content-Type', 'text/plain; charset=utf-8');
      response.end('ok');
      break;
    default:
      response.statusCode = 404;
      response.end('not found');
  }
});

server.listen(Number(process.env.PORT || 0), process.env.HOST || '127.0.0.1', () => {
  console.log(`listening on http://${server.address().address}:${server.address().port}`);
});

process.on('SIGTERM', () => {
  server.close(() => process.exit(0));
  server.closeIdleConnections?.();
  setTimeout(() => process.exit(0), 1000).unref();
});
