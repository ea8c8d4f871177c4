const { absent } = require("../../prelude/absent.js");

module.exports = absent(
  "node:dns/promises",
  "reach other programs over HTTP with fetch, which looks up names by itself",
  "lookup lookupService Resolver getDefaultResultOrder setDefaultResultOrder setServers getServers resolve resolve4 resolve6 resolveAny resolveCaa resolveCname resolveMx resolveNaptr resolveNs resolvePtr resolveSoa resolveSrv resolveTxt reverse",
);
