const { absent } = require("../prelude/absent.js");

module.exports = absent("node:http2", "reach other programs over HTTP with fetch");
