const { absent } = require("../prelude/absent.js");

module.exports = absent(
  "node:readline",
  "people speak to an agent through the server, and what they say comes with the context",
  "Interface clearLine clearScreenDown createInterface cursorTo emitKeypressEvents moveCursor",
  { promises: require("./readline/promises.cjs") },
);
