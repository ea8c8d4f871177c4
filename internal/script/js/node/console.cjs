// A Console that is made for streams of its own writes to the log as well: there is no other place.
const { makeConsole } = require("../prelude/console.js");

function Console() {
  return makeConsole();
}
module.exports = Object.assign(Object.create(console), console, { Console });
