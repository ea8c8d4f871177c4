const { absent } = require("../../prelude/absent.js");

module.exports = absent(
  "node:inspector/promises",
  "debug with console.log, which goes to the server's log",
  "open close url waitForDebugger console Session Network",
  { url: () => undefined, close() {}, console },
);
