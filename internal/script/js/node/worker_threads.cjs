const { absent } = require("../prelude/absent.js");

module.exports = absent("node:worker_threads", "run things side by side with Promise.all", { isMainThread: true, threadId: 0, parentPort: null, workerData: null, resourceLimits: {} });
