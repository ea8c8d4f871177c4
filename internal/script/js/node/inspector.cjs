const { absent } = require("../prelude/absent.js");

module.exports = absent("node:inspector", "debug with console.log, which goes to the server's log", { url: () => undefined, close() {} });
