const { absent } = require("../prelude/absent.js");

module.exports = absent(
  "node:tls",
  "reach other programs over HTTP with fetch",
  "getCiphers rootCertificates convertALPNProtocols checkServerIdentity createSecureContext SecureContext TLSSocket Server createServer connect createSecurePair",
  { rootCertificates: [] },
);
