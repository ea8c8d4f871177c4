const streams = require("../../third_party/web-streams-polyfill/ponyfill.js");

module.exports = { ...streams, TextDecoderStream, TextEncoderStream, CompressionStream, DecompressionStream };
