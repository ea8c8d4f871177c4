const { absent } = require("../prelude/absent.js");

module.exports = absent("node:net", "reach other programs over HTTP with fetch");
