const { absent } = require("../prelude/absent.js");
const { Agent } = require("./http.cjs");

module.exports = absent("node:https", "make requests with fetch", "Agent globalAgent Server createServer get request", {
  Agent,
  globalAgent: new Agent(),
});
