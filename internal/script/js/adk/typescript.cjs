const { typescript } = require("./surface.js");
const { moduleOf } = require("./names.js");

module.exports = moduleOf({ ...typescript, default: typescript }, "adk-typescript");
