const { absent, useNode } = require("../prelude/absent.js");

module.exports = absent("node:wasi", `this runtime has no WebAssembly: ${useNode}`, "WASI");
