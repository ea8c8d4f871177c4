const { absent } = require("../../prelude/absent.js");
const lines = require("../../prelude/lines.js");

class Interface extends lines.Interface {
  question(query) {
    return new Promise((resolve) => super.question(query, resolve));
  }
}

module.exports = absent("node:readline/promises", lines.advice, "Readline", { Interface, createInterface: (...args) => new Interface(...args) });
