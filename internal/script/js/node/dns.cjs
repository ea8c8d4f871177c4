const { partial } = require("../prelude/absent.js");
const { called, resolverOf, shared } = require("../prelude/dns.js");

module.exports = partial(
  "node:dns",
  { ...shared, ...called, Resolver: resolverOf(called), promises: require("./dns/promises.cjs") },
  "lookupService setServers resolveAny resolveCaa resolveNaptr resolveSoa",
  "names are looked up as the server's machine does",
);
