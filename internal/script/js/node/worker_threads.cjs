const { absent, useNode } = require("../prelude/absent.js");
const { take } = require("../prelude/messages.js");

const environment = new Map();

module.exports = absent(
  "node:worker_threads",
  `run things side by side with Promise.all, or ${useNode}`,
  "isMainThread MessagePort MessageChannel markAsUntransferable moveMessagePortToContext receiveMessageOnPort resourceLimits postMessageToThread threadId SHARE_ENV Worker parentPort workerData BroadcastChannel setEnvironmentData getEnvironmentData",
  {
    isMainThread: true,
    threadId: 0,
    parentPort: null,
    workerData: null,
    resourceLimits: {},
    MessageChannel,
    MessagePort,
    BroadcastChannel,
    receiveMessageOnPort: (port) => take(port),
    setEnvironmentData: (key, value) => void (value === undefined ? environment.delete(key) : environment.set(key, value)),
    getEnvironmentData: (key) => environment.get(key),
    SHARE_ENV: Symbol.for("nodejs.worker_threads.SHARE_ENV"),
  },
);
