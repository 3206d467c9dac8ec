'use strict';

module.exports = (app) => {
  app.get('/ping', (request, response) => {
    response.end('pong');
  });
};
