const { absent } = require("../prelude/absent.js");
const { dirname, join, resolve } = require("./path.cjs");

// They run when they are first required.
const modules = {
  assert: () => require("./assert.cjs"),
  "assert/strict": () => require("./assert/strict.cjs"),
  async_hooks: () => require("./async_hooks.cjs"),
  buffer: () => require("./buffer.cjs"),
  child_process: () => require("./child_process.cjs"),
  cluster: () => require("./cluster.cjs"),
  console: () => require("./console.cjs"),
  constants: () => require("./constants.cjs"),
  crypto: () => require("./crypto.cjs"),
  dgram: () => require("./dgram.cjs"),
  diagnostics_channel: () => require("./diagnostics_channel.cjs"),
  dns: () => require("./dns.cjs"),
  "dns/promises": () => require("./dns/promises.cjs"),
  domain: () => require("./domain.cjs"),
  events: () => require("./events.cjs"),
  fs: () => require("./fs.cjs"),
  "fs/promises": () => require("./fs/promises.cjs"),
  http: () => require("./http.cjs"),
  http2: () => require("./http2.cjs"),
  https: () => require("./https.cjs"),
  inspector: () => require("./inspector.cjs"),
  "inspector/promises": () => require("./inspector/promises.cjs"),
  net: () => require("./net.cjs"),
  os: () => require("./os.cjs"),
  path: () => require("./path.cjs"),
  "path/posix": () => require("./path/posix.cjs"),
  "path/win32": () => require("./path/win32.cjs"),
  perf_hooks: () => require("./perf_hooks.cjs"),
  process: () => require("./process.cjs"),
  punycode: () => require("./punycode.cjs"),
  querystring: () => require("./querystring.cjs"),
  readline: () => require("./readline.cjs"),
  "readline/promises": () => require("./readline/promises.cjs"),
  repl: () => require("./repl.cjs"),
  stream: () => require("./stream.cjs"),
  "stream/consumers": () => require("./stream/consumers.cjs"),
  "stream/promises": () => require("./stream/promises.cjs"),
  "stream/web": () => require("./stream/web.cjs"),
  string_decoder: () => require("./string_decoder.cjs"),
  sys: () => require("./sys.cjs"),
  timers: () => require("./timers.cjs"),
  "timers/promises": () => require("./timers/promises.cjs"),
  tls: () => require("./tls.cjs"),
  trace_events: () => require("./trace_events.cjs"),
  tty: () => require("./tty.cjs"),
  url: () => require("./url.cjs"),
  util: () => require("./util.cjs"),
  "util/types": () => require("./util/types.cjs"),
  v8: () => require("./v8.cjs"),
  vm: () => require("./vm.cjs"),
  wasi: () => require("./wasi.cjs"),
  worker_threads: () => require("./worker_threads.cjs"),
  zlib: () => require("./zlib.cjs"),
  module: () => module.exports,
};

/**
 * Modules are put together before the agent starts, so only those of Node.js, and files
 * with JSON, can be looked up later.
 */
function createRequire(from) {
  const base = dirname(/^file:/i.test(String(from)) ? require("./url.cjs").fileURLToPath(from) : String(from));
  const fail = (id) => {
    throw Object.assign(
      new Error(
        `require("${id}") of createRequire is not available in this runtime: import the module at the top of the file`,
      ),
      { code: "MODULE_NOT_FOUND" },
    );
  };
  // The path of a file with JSON: relative, or in a package.
  const pathOf = (id) => {
    if (typeof id !== "string" || !id.endsWith(".json")) return fail(id);
    if (/^(\.{0,2}\/|[a-z]:[\\/])/i.test(id)) return resolve(base, id);
    const { existsSync } = require("./fs.cjs");
    for (let dir = base; ; dir = dirname(dir)) {
      const path = join(dir, "node_modules", id);
      if (existsSync(path)) return path;
      if (dir === dirname(dir)) return fail(id);
    }
  };
  const isModule = (id) => Object.hasOwn(modules, String(id).replace(/^node:/, ""));
  const find = (id) =>
    isModule(id)
      ? modules[id.replace(/^node:/, "")]()
      : JSON.parse(require("./fs.cjs").readFileSync(pathOf(id), "utf8"));
  find.resolve = (id) => (isModule(id) ? id : pathOf(id));
  find.cache = {};
  return find;
}

module.exports = absent(
  "node:module",
  "modules are put together before the agent starts: import them at the top of the file",
  "globalPaths wrap wrapper isBuiltin createRequire syncBuiltinESMExports Module builtinModules runMain findSourceMap register SourceMap",
  {
    createRequire,
    builtinModules: Object.keys(modules),
    isBuiltin: (name) => Object.hasOwn(modules, String(name).replace(/^node:/, "")),
    globalPaths: [],
  },
);
