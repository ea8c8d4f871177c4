module.exports = require("../stream.cjs").promises;
