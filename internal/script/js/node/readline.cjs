const { absent } = require("../prelude/absent.js");
const { Interface, advice } = require("../prelude/lines.js");

const createInterface = (...args) => new Interface(...args);
module.exports = absent("node:readline", advice, "clearLine clearScreenDown cursorTo emitKeypressEvents moveCursor", {
  Interface,
  createInterface,
  get promises() {
    return require("./readline/promises.cjs");
  },
});
