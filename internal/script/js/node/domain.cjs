const { absent } = require("../prelude/absent.js");

module.exports = absent("node:domain", "catch errors with try and catch", "Domain createDomain create active");
