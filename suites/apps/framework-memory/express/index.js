// pong, from Express 4.13.
//   PORT   where to listen on 127.0.0.1
'use strict';

const express = require('express');

const app = express();

// end() and not send(), which would add a Content-Type and an ETag: the published answers had neither.
app.get('/ping', (request, response) => {
  response.end('pong');
});
app.listen(Number(process.env.PORT), '127.0.0.1');
