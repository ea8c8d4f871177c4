const { absent } = require("../prelude/absent.js");

const names =
  "assert assert/strict async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns dns/promises domain events fs fs/promises http http2 https inspector inspector/promises module net os path path/posix path/win32 perf_hooks process punycode querystring readline readline/promises repl stream stream/consumers stream/promises stream/web string_decoder sys timers timers/promises tls trace_events tty url util util/types v8 vm wasi worker_threads zlib".split(
    " ",
  );

/** Modules are put together before the agent starts, so nothing can be looked up later. */
function createRequire() {
  const require = (id) => {
    throw Object.assign(
      new Error(
        `require("${id}") of createRequire is not available in this runtime: import the module at the top of the file`,
      ),
      { code: "MODULE_NOT_FOUND" },
    );
  };
  require.resolve = require;
  require.cache = {};
  return require;
}

module.exports = absent(
  "node:module",
  "modules are put together before the agent starts: import them at the top of the file",
  "globalPaths wrap wrapper isBuiltin createRequire syncBuiltinESMExports Module builtinModules runMain findSourceMap register SourceMap",
  {
    createRequire,
    builtinModules: names,
    isBuiltin: (name) => names.includes(String(name).replace(/^node:/, "")),
    globalPaths: [],
  },
);
