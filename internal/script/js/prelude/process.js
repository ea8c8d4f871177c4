import { useNode } from "./absent.js";
import { bind } from "./context.js";
import { write } from "./console.js";
import { exit, ProcessExit } from "./exit.js";
import { host, missing } from "./host.js";
import { format } from "./inspect.js";
import { nanoseconds } from "./performance.js";

const facts = host("process", {});

// As in Node.js, all values become text.
const env = new Proxy(
  { ...facts.env },
  {
    set: (target, key, value) => Reflect.set(target, key, typeof key === "symbol" ? value : String(value)),
    defineProperty: (target, key, d) =>
      Reflect.defineProperty(
        target,
        key,
        "value" in d ? { ...d, value: String(d.value), writable: true, enumerable: true, configurable: true } : d,
      ),
  },
);

/** A stream that goes to the log, line by line. */
function output(level, fd) {
  let line = "";
  let timer;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (line) write(level, line);
    line = "";
  };
  return {
    fd,
    isTTY: false,
    writable: true,
    columns: 80,
    write(chunk, encoding, done = encoding) {
      line += typeof chunk === "string" ? chunk : new TextDecoder().decode(chunk);
      const end = line.lastIndexOf("\n");
      if (end >= 0) {
        const rest = line.slice(end + 1);
        line = line.slice(0, end);
        flush();
        line = rest;
      }
      // What waits for its end of line shows anyway, after a while.
      if (line && timer === undefined) timer = setTimeout(flush, 200);
      if (line.length > 8192) flush();
      if (typeof done === "function") queueMicrotask(() => done());
      return true;
    },
    end(chunk) {
      if (chunk !== undefined) this.write(chunk);
      flush();
    },
    on: () => process,
    once: () => process,
    off: () => process,
    emit: () => false,
    cork() {},
    uncork() {},
  };
}

const nothing = () => process; // events of the server's process are none of an agent's business
const started = Number(nanoseconds());

export const process = {
  title: "parley",
  version: "v20.0.0",
  versions: { node: "20.0.0", v8: "0.0.0", brotli: "1.1.0", quickjs: "2026-06-04" },
  [Symbol.toStringTag]: "process",
  release: { name: "node" },
  argv: ["/usr/local/bin/node", `${facts.cwd}/index.js`],
  argv0: "node",
  execArgv: [],
  execPath: "/usr/local/bin/node",
  env,
  exitCode: undefined,
  pid: facts.pid,
  ppid: 0,
  platform: facts.platform,
  arch: facts.arch,
  config: { target_defaults: {}, variables: {} },
  features: {},
  allowedNodeEnvironmentFlags: new Set(),
  report: {
    // What loaders of native addons read, to choose among their files.
    getReport: () => ({
      header: {
        reportVersion: 4,
        event: "JavaScript API",
        trigger: "GetReport",
        processId: facts.pid,
        cwd: facts.cwd,
        nodejsVersion: process.version,
        ...(facts.platform === "linux" && { glibcVersionRuntime: "2.36", glibcVersionCompiler: "2.28" }),
        wordSize: 64,
        arch: facts.arch,
        platform: facts.platform,
        componentVersions: { ...process.versions },
        release: { ...process.release },
      },
      javascriptStack: {},
      nativeStack: [],
      libuv: [],
      workers: [],
      environmentVariables: {},
      sharedObjects: [],
    }),
  },
  stdout: output("info", 1),
  stderr: output("error", 2),
  cwd: () => facts.cwd,
  chdir: missing("process.chdir", "give full paths, made with __dirname or process.cwd()"),
  umask: () => 0o22,
  getuid: () => 1000,
  geteuid: () => 1000,
  getgid: () => 1000,
  getegid: () => 1000,
  getgroups: () => [],
  uptime: () => (Number(nanoseconds()) - started) / 1e9,
  hrtime: Object.assign(
    (since) => {
      const now = BigInt(nanoseconds()) - (since ? BigInt(since[0]) * 1000000000n + BigInt(since[1]) : 0n);
      return [Number(now / 1000000000n), Number(now % 1000000000n)];
    },
    { bigint: () => BigInt(nanoseconds()) },
  ),
  memoryUsage: Object.assign(
    () => {
      const { total, used } = host("memory", {});
      return { rss: total, heapTotal: total, heapUsed: used, external: 0, arrayBuffers: 0 };
    },
    { rss: () => host("memory", {}).total },
  ),
  resourceUsage: () => ({ userCPUTime: 0, systemCPUTime: 0, maxRSS: 0 }),
  cpuUsage: () => ({ user: 0, system: 0 }),
  nextTick: (fn, ...args) => {
    const run = bind(fn);
    queueMicrotask(() => run(...args));
  },
  exit: (code = process.exitCode) => exit(code, (text) => write("warn", text)),
  abort: () => {
    throw new ProcessExit(134);
  },
  reallyExit: (code) => process.exit(code),
  kill: missing("process.kill", "agents cannot signal processes"),
  binding: missing("process.binding", "it belongs to the inside of Node.js"),
  dlopen: missing("process.dlopen", `native addons need Node.js itself: ${useNode}`),
  emitWarning: (warning, type = "Warning") =>
    write(
      "warn",
      typeof warning === "string"
        ? `${typeof type === "string" ? type : (type?.type ?? "Warning")}: ${warning}`
        : format(warning),
    ),
  on: nothing,
  once: nothing,
  off: nothing,
  addListener: nothing,
  removeListener: nothing,
  removeAllListeners: nothing,
  prependListener: nothing,
  setMaxListeners: nothing,
  setUncaughtExceptionCaptureCallback: nothing,
  emit: () => false,
  listeners: () => [],
  listenerCount: () => 0,
  eventNames: () => [],
  stdin: { fd: 0, isTTY: false, readable: false },
  // No Symbol.toStringTag: by that name libraries choose Node's own HTTP
  // client, where they would have used fetch.
};
for (const name of ["on", "once", "read", "pipe", "resume", "setEncoding", "setRawMode", Symbol.asyncIterator]) {
  process.stdin[name] = missing(
    "process.stdin",
    "people speak to an agent through the server, and what they say comes with the context",
  );
}
