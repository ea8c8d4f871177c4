const { partial } = require("../prelude/absent.js");

module.exports = partial(
  "node:perf_hooks",
  { performance, constants: {} },
  "PerformanceObserver monitorEventLoopDelay createHistogram",
  "measure with performance.now()",
);
