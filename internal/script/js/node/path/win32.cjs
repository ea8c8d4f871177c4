module.exports = require("../path.cjs").win32;
