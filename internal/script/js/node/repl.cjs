const { absent } = require("../prelude/absent.js");

module.exports = absent(
  "node:repl",
  "people speak to an agent through the server",
  "start writer REPLServer Recoverable isValidSyntax builtinModules",
);
