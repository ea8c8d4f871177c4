module.exports = require("../path.cjs").posix;
