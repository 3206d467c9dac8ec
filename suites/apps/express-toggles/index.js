// Pages from Express, with a switch for each thing that is toggled.
//   PORT          where to listen on 127.0.0.1
//   EXPRESS       "4" or "5" (5)
//   NODE_ENV      "production" makes Express compile each view once, else for every page
//   COMPRESSION   "off" or "gzip", which adds the compression middleware (off)
//   WORKERS       processes that answer; from 2 on they are a cluster, with one more that does not (1)
'use strict';

const cluster = require('node:cluster');
const path = require('node:path');

const port = Number(process.env.PORT);
const version = oneOf('EXPRESS', ['5', '4']);
const compression = oneOf('COMPRESSION', ['off', 'gzip']);
const workers = Number(process.env.WORKERS ?? 1);
if (!Number.isSafeInteger(workers) || workers < 1) {
  throw new Error(`WORKERS is "${process.env.WORKERS}"; it must be a number from 1`);
}

// A mistyped setting must not be measured as if it were another one.
function oneOf(name, values) {
  const value = process.env[name] ?? values[0];
  if (!values.includes(value)) {
    throw new Error(`${name} is "${value}"; it can be ${values.map((known) => `"${known}"`).join(' or ')}`);
  }
  return value;
}

// The suite waits for this line, and so knows what it measures.
function ready() {
  console.log(`ready: Express ${version}, workers: ${workers}`);
}

if (cluster.isPrimary && workers > 1) {
  fork();
} else {
  serve(cluster.isPrimary ? ready : undefined);
}

function fork() {
  let listening = 0;
  cluster.on('listening', () => {
    listening += 1;
    if (listening === workers) ready();
  });
  // Fewer workers than were asked for must not be measured either.
  cluster.on('exit', (worker, code) => {
    if (code !== 0) process.exit(1);
  });
  process.once('SIGTERM', () => {
    for (const worker of Object.values(cluster.workers)) worker.process.kill();
  });
  for (let started = 0; started < workers; started += 1) cluster.fork();
}

function serve(listening) {
  const express = require(`express${version}`);
  const cities = ['Lisbon', 'Osaka', 'Tromsø', 'Quito', 'Nairobi'];
  const customers = Array.from({ length: 150 }, (_, index) => ({
    id: index + 1,
    name: `Customer ${index + 1}`,
    city: cities[index % cities.length],
    balance: ((index * 7919) % 100000) / 100,
  }));

  const app = express();
  app.set('view engine', 'ejs');
  app.set('views', path.join(__dirname, 'views'));
  if (compression === 'gzip') app.use(require('compression')());

  // Two sizes of page: 20 KiB, and less than the 1 KiB from which the middleware compresses.
  app.get('/customers', (request, response) => {
    response.render('customers', { customers });
  });
  app.get('/customers/:id', (request, response, next) => {
    const customer = customers[request.params.id - 1];
    if (!customer) return next();
    response.render('customer', { customer });
  });
  app.get('/health', (request, response) => {
    response.type('text').send('ok');
  });

  const server = app.listen(port, '127.0.0.1', (error) => {
    if (error) throw error;
    listening?.();
  });
  process.once('SIGTERM', () => server.close(() => process.exit()));
}
