const { absent } = require("../prelude/absent.js");

/** The version of an address, or 0 if it is none. */
function isIP(text) {
  if (/^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/.test(text)) return 4;
  return String(text).includes(":") && URL.canParse(`http://[${text}]/`) ? 6 : 0;
}

module.exports = absent(
  "node:net",
  "reach other programs over HTTP with fetch",
  "BlockList SocketAddress connect createConnection createServer isIP isIPv4 isIPv6 Server Socket Stream getDefaultAutoSelectFamily setDefaultAutoSelectFamily getDefaultAutoSelectFamilyAttemptTimeout setDefaultAutoSelectFamilyAttemptTimeout",
  { isIP, isIPv4: (text) => isIP(text) === 4, isIPv6: (text) => isIP(text) === 6 },
);
