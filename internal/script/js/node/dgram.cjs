const { absent } = require("../prelude/absent.js");

module.exports = absent("node:dgram", "reach other programs over HTTP with fetch", "createSocket Socket");
