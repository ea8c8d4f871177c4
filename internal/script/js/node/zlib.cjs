const { absent } = require("../prelude/absent.js");

module.exports = absent("node:zlib", "fetch decodes compressed bodies by itself", { constants: {} });
