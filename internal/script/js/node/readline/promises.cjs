const { absent } = require("../../prelude/absent.js");
const readline = require("../readline.cjs");

class Interface extends readline.Interface {
  question(query) {
    return new Promise((resolve) => super.question(query, resolve));
  }
}

module.exports = absent(
  "node:readline/promises",
  "people speak to an agent through the server, and what they say comes with the context",
  "Readline",
  { Interface, createInterface: (...args) => new Interface(...args) },
);
