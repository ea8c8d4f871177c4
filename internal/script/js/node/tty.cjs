const { absent } = require("../prelude/absent.js");

module.exports = absent("node:tty", "what an agent writes goes to the log", "isatty ReadStream WriteStream", {
  isatty: () => false,
});
