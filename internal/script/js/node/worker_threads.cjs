const { absent } = require("../prelude/absent.js");

module.exports = absent(
  "node:worker_threads",
  "run things side by side with Promise.all",
  "isMainThread MessagePort MessageChannel markAsUntransferable moveMessagePortToContext receiveMessageOnPort resourceLimits postMessageToThread threadId SHARE_ENV Worker parentPort workerData BroadcastChannel setEnvironmentData getEnvironmentData",
  {
    isMainThread: true,
    threadId: 0,
    parentPort: null,
    workerData: null,
    resourceLimits: {},
    SHARE_ENV: Symbol.for("nodejs.worker_threads.SHARE_ENV"),
  },
);
