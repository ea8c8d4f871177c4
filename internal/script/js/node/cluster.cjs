const { absent } = require("../prelude/absent.js");

module.exports = absent(
  "node:cluster",
  "an application runs in one engine",
  "isWorker isMaster isPrimary Worker workers settings SCHED_NONE SCHED_RR schedulingPolicy setupPrimary setupMaster fork disconnect",
  { isPrimary: true, isMaster: true, isWorker: false, workers: {}, settings: {} },
);
