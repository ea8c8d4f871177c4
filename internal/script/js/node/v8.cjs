const { absent } = require("../prelude/absent.js");

module.exports = absent("node:v8", "this runtime is not V8; copy values with structuredClone");
