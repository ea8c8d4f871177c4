// node:dns: Go asks what the machine is configured to ask.
import { ask } from "../guest.js";

async function query(kind, name, syscall) {
  if (typeof name !== "string")
    throw Object.assign(new TypeError('The "hostname" argument must be of type string'), { code: "ERR_INVALID_ARG_TYPE" });
  try {
    return await ask("dns", { kind, name });
  } catch (error) {
    const code = error.code ?? "ESERVFAIL";
    throw Object.assign(new Error(`${syscall} ${code} ${name}`, { cause: error }), { code, syscall, hostname: name });
  }
}

async function lookup(name, options = {}) {
  const { all = false, family: wanted = 0 } = typeof options === "object" ? (options ?? {}) : { family: options };
  const family = { IPv4: 4, IPv6: 6 }[wanted] ?? Number(wanted);
  if (!name) return all ? [] : { address: null, family: family === 6 ? 6 : 4 };
  const found = await query(family === 4 || family === 6 ? `ip${family}` : "ip", name, "getaddrinfo");
  const list = found.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  return all ? list : list[0];
}

const kinds = { 4: "ip4", 6: "ip6", Cname: "cname", Mx: "mx", Ns: "ns", Srv: "srv", Txt: "txt", Ptr: "ptr" };
const records = { 4: "A", 6: "Aaaa" };

/** The functions that give promises. */
export const promised = { lookup, reverse: (ip) => query("ptr", ip, "getHostByAddr") };
for (const [name, kind] of Object.entries(kinds)) {
  promised[`resolve${name}`] = async (host, options) => {
    const found = await query(kind, host, `query${records[name] ?? name}`);
    return options?.ttl ? found.map((address) => ({ address, ttl: 0 })) : found;
  };
}
promised.resolve = (host, type = "A") => {
  const name = { A: "4", AAAA: "6" }[type] ?? type[0] + type.slice(1).toLowerCase();
  const fn = promised[`resolve${name}`];
  if (fn) return fn(host);
  return Promise.reject(new Error(`Records of the type ${type} are not available in this runtime`));
};

const withCallback =
  (fn) =>
  (...args) => {
    const done = args.pop();
    if (typeof done !== "function")
      throw Object.assign(new TypeError('The "callback" argument must be of type function'), {
        code: "ERR_INVALID_ARG_TYPE",
      });
    fn(...args).then(
      (value) => process.nextTick(done, null, value),
      (error) => process.nextTick(done, error),
    );
  };

/** The functions that take callbacks. */
export const called = Object.fromEntries(Object.entries(promised).map(([name, fn]) => [name, withCallback(fn)]));
called.lookup = (name, options, done) => {
  if (typeof options === "function") [options, done] = [{}, options];
  withCallback(lookup)(name, options, (error, found) => {
    if (error) done(error);
    else if (options?.all) done(null, found);
    else done(null, found.address, found.family);
  });
};

/** A class Resolver with some functions. */
export const resolverOf = (functions) =>
  Object.assign(class Resolver {}.prototype, functions, { cancel() {}, getServers: () => [] }).constructor;

export const shared = {
  getServers: () => [],
  getDefaultResultOrder: () => "verbatim",
  setDefaultResultOrder() {},
  ADDRCONFIG: 1024,
  ALL: 256,
  V4MAPPED: 2048,
  NODATA: "ENODATA",
  NOTFOUND: "ENOTFOUND",
  SERVFAIL: "ESERVFAIL",
  TIMEOUT: "ETIMEOUT",
  CANCELLED: "ECANCELLED",
};
