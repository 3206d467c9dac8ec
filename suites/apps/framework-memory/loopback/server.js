// pong, from LoopBack 2: loopback-boot reads config.json and middleware.json beside this file, and runs what is in boot.
//   PORT   where to listen on 127.0.0.1
'use strict';

const loopback = require('loopback');
const boot = require('loopback-boot');

const app = loopback();

boot(app, __dirname, (error) => {
  if (error) throw error;
  app.listen();                         // on the host of config.json and the PORT of the environment
});
