const { absent } = require("../prelude/absent.js");

module.exports = absent(
  "node:http2",
  "reach other programs over HTTP with fetch",
  "connect createServer createSecureServer getDefaultSettings getPackedSettings getUnpackedSettings performServerHandshake sensitiveHeaders Http2ServerRequest Http2ServerResponse",
  { constants: {} },
);
