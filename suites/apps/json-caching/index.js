// The same JSON from Express 4, made for each request or once, with two switches.
//   PORT     where to listen on 127.0.0.1
//   OBJECT   "small", 59 bytes as JSON, or "large", 562,024 bytes (small)
//   ETAG     "off" has Express make no ETag of what it sends (on)
// For Node 6 too: nothing in here is younger.
'use strict';

const express = require('express');

const object = oneOf('OBJECT', ['small', 'large']) === 'large' ? large() : customer(1);
const etag = oneOf('ETAG', ['on', 'off']);

// A mistyped setting must not be measured as if it were another one.
function oneOf(name, values) {
  const value = process.env[name] || values[0];
  if (values.indexOf(value) < 0) {
    throw new Error(`${name} is "${value}"; it can be ${values.map((known) => `"${known}"`).join(' or ')}`);
  }
  return value;
}

function customer(id) {
  const cities = ['Lisbon', 'Osaka', 'Quito', 'Nairobi', 'Cork'];
  return { id, name: `Customer ${id}`, city: cities[id % cities.length], balance: ((id * 7919) % 100000) / 100 };
}

function large() {
  const customers = [];
  for (let id = 1; id <= 8400; id += 1) customers.push(customer(id));
  return { customers };
}

const app = express();
if (etag === 'off') app.disable('etag');

app.get('/not_cached', (request, response) => {
  response.json(object);
});

// Made once. These two set the Content-Type that json() sets, and leave its ETag out.
const text = JSON.stringify(object);
const bytes = Buffer.from(text);

app.get('/cached', (request, response) => {
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.end(text);
});

app.get('/cached_buffer', (request, response) => {
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.end(bytes);
});

app.listen(Number(process.env.PORT), '127.0.0.1');
