// pong, from Esrol. It takes its port from app/config/config.json and finds its routes in app/routes by itself.
'use strict';

const net = require('net');
const path = require('path');
const App = require('esrol-server-app');

// It names no address and so would listen on all of them: these servers are for this machine only.
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port) {
  return listen.call(this, port, '127.0.0.1');
};

new App(path.join(__dirname, 'app'));
