const { google } = require("./surface.js");
const { moduleOf } = require("./names.js");

module.exports = moduleOf(google, "@google/adk");
