const { absent } = require("../prelude/absent.js");

module.exports = absent("node:dns", "reach other programs over HTTP with fetch, which looks up names by itself");
