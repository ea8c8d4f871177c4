module.exports = require("./util.cjs");
