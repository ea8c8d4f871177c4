module.exports = require("../assert.cjs").strict;
