const { absent } = require("../../prelude/absent.js");

module.exports = absent(
  "node:readline/promises",
  "people speak to an agent through the server, and what they say comes with the context",
  "Interface Readline createInterface",
);
