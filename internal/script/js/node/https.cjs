const { absent } = require("../prelude/absent.js");
const { Agent: PlainAgent } = require("../third_party/nodejs/http_agent.js");
const { ClientRequest } = require("../third_party/nodejs/http_client.js");
const { urlToHttpOptions } = require("./url.cjs");
const tls = require("./tls.cjs");

// What connections must have in common to be used for each other.
const named =
  "ca cert clientCertEngine ciphers key pfx rejectUnauthorized servername minVersion maxVersion secureProtocol crl honorCipherOrder ecdhCurve dhparam secureOptions sessionIdContext sigalgs privateKeyIdentifier privateKeyEngine".split(" ");

function Agent(options) {
  if (!(this instanceof Agent)) return new Agent(options);
  PlainAgent.call(this, options);
  this.defaultPort = 443;
  this.protocol = "https:";
  this.maxCachedSessions = this.options.maxCachedSessions ?? 100;
  this._sessionCache = { map: {}, list: [] };
}
Object.setPrototypeOf(Agent, PlainAgent);
Object.setPrototypeOf(Agent.prototype, PlainAgent.prototype);

Agent.prototype.createConnection = function (...args) {
  const numbers = { port: args.find((a) => typeof a === "number"), host: args.find((a) => typeof a === "string") };
  const given = args.find((a) => a !== null && typeof a === "object");
  const options = { ...given };
  for (const [name, value] of Object.entries(numbers)) if (value !== undefined) options[name] = value;
  return tls.connect(options);
};

Agent.prototype.getName = function (options = {}) {
  const parts = named.map((name) => {
    const value = options[name];
    if (name === "servername") return value && value !== options.host ? value : "";
    if (name === "sigalgs" && value) return JSON.stringify(value);
    return value === false || value ? value : "";
  });
  return [PlainAgent.prototype.getName.call(this, options), ...parts].join(":");
};

// Agents for proxies look for the name of this module in the stack.
const begin = Object.defineProperty((...args) => new ClientRequest(...args), "name", { value: "node:https:request" });

let globalAgent = new Agent({ keepAlive: true, scheduling: "lifo", timeout: 5000 });

function request(...args) {
  let options = {};
  if (typeof args[0] === "string") options = urlToHttpOptions(new URL(args.shift()));
  else if (args[0] instanceof URL) options = urlToHttpOptions(args.shift());
  if (args[0] && typeof args[0] !== "function") Object.assign(options, args.shift());
  options._defaultAgent = https.globalAgent;
  return begin(options, ...args);
}

const https = absent("node:https", "requests to an agent come through the server", "Server createServer", {
  Agent,
  request,
  get: (...args) => request(...args).end(),
});
Object.defineProperty(https, "globalAgent", {
  configurable: true,
  enumerable: true,
  get: () => globalAgent,
  set: (agent) => void (globalAgent = agent),
});
module.exports = https;
