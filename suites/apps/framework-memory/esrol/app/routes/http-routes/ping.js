'use strict';

module.exports = class Ping {
  static get url() {
    return '/ping';
  }

  // What Esrol calls for GET /ping; for GET /ping/1 it would call getSingleRecord.
  static getMultipleRecords(request, response) {
    response.end('pong');
  }
};
