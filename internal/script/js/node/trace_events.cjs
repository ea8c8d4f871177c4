const { absent } = require("../prelude/absent.js");

module.exports = absent("node:trace_events", "measure with performance.now()", "createTracing getEnabledCategories");
