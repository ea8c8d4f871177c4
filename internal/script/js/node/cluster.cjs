const { absent } = require("../prelude/absent.js");

module.exports = absent("node:cluster", "an application runs in one engine", { isPrimary: true, isMaster: true, isWorker: false, workers: {} });
