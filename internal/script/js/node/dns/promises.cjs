const { partial } = require("../../prelude/absent.js");
const { promised, resolverOf, shared } = require("../../prelude/dns.js");

module.exports = partial(
  "node:dns/promises",
  { ...shared, ...promised, Resolver: resolverOf(promised) },
  "lookupService setServers resolveAny resolveCaa resolveNaptr resolveSoa",
  "names are looked up as the server's machine does",
);
