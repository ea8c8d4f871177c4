// What code finds in its engine: a console, timers, files and require. There is
// no network, and no file but those of the request.
const { code, files: given, args } = JSON.parse(__host("input"));
const bytes = (text) => Uint8Array.from(text, (c) => c.charCodeAt(0));
const files = Object.fromEntries(given.map(({ name, text, binary }) => [name, text ?? bytes(binary)]));

const isName = /^[A-Za-z_$][\w$]*$/;
const quoted = (text) => (text.includes("'") ? JSON.stringify(text) : `'${text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}'`);

// A value as the console of Node.js shows it, more or less.
function show(value, depth, seen) {
  switch (typeof value) {
    case "string":
      return quoted(value);
    case "bigint":
      return `${value}n`;
    case "symbol":
      return String(value);
    case "function":
      return `[Function: ${value.name || "anonymous"}]`;
    case "object":
      break;
    default:
      return Object.is(value, -0) ? "-0" : String(value);
  }
  if (value === null) return "null";
  if (seen.includes(value)) return "[Circular]";
  if (value instanceof Error) return failure(value);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  if (value instanceof RegExp) return String(value);
  if (value instanceof Promise) return "Promise";
  const name = value.constructor?.name ?? "";
  if (depth > 4) return `[${name || "Object"}]`;
  const inner = (one) => show(one, depth + 1, [...seen, value]);
  const list = (items, open, close) => (items.length === 0 ? open + close : `${open} ${items.join(", ")} ${close}`);
  const most = 1000;
  const rest = (n) => (n > most ? [`... ${n - most} more`] : []);
  if (Array.isArray(value)) return list([...Array.from(value.slice(0, most), inner), ...rest(value.length)], "[", "]");
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return `${name}(${value.length}) ${list([...Array.from(value.subarray(0, most), String), ...rest(value.length)], "[", "]")}`;
  if (value instanceof Set) return `Set(${value.size}) ${list([...value].slice(0, most).map(inner), "{", "}")}`;
  if (value instanceof Map) return `Map(${value.size}) ${list([...value].slice(0, most).map(([k, v]) => `${inner(k)} => ${inner(v)}`), "{", "}")}`;
  const members = Object.keys(value).slice(0, most).map((key) => `${isName.test(key) ? key : quoted(key)}: ${inner(value[key])}`);
  return (name && name !== "Object" ? `${name} ` : "") + list(members, "{", "}");
}

const head = 2; // lines that a function has before the code

// An error, without the frames of this file.
function failure(error) {
  if (!(error instanceof Error)) return `Uncaught ${show(error, 0, [])}`;
  const frames = String(error.stack ?? "").split("\n").filter((line) => line && !/<eval>|main\.js/.test(line));
  const placed = frames.map((line) => line.replace(/<input>:(\d+)/, (_, n) => `code.js:${n - head}`));
  return [`${error.name}: ${error.message}`, ...placed.slice(0, 10)].join("\n");
}

const print = (...values) => {
  let [first, ...more] = values;
  if (typeof first === "string" && first.includes("%")) {
    first = first.replace(/%[sdifjoO%]/g, (verb) => {
      if (verb === "%%") return "%";
      if (more.length === 0) return verb;
      const value = more.shift();
      if (verb === "%s") return typeof value === "string" ? value : show(value, 0, []);
      if (verb === "%d" || verb === "%f") return String(Number(value));
      if (verb === "%i") return String(Math.trunc(Number(value)));
      return verb === "%j" ? JSON.stringify(value) : show(value, 0, []);
    });
  }
  __host("write", `${[...(values.length > 0 ? [first] : []), ...more].map((v) => (typeof v === "string" ? v : show(v, 0, []))).join(" ")}\n`);
};

const counts = {};
globalThis.console = {
  log: print, info: print, debug: print, warn: print, error: print, trace: print, dir: (value) => print(value), table: (value) => print(value),
  assert: (ok, ...values) => void (ok || print("Assertion failed:", ...values)),
  count: (label = "default") => print(`${label}: ${(counts[label] = (counts[label] ?? 0) + 1)}`),
  group: print, groupEnd: () => {}, time: () => {}, timeEnd: () => {}, timeLog: () => {},
};
globalThis.print = print;

const timers = new Map();
let last = 0;
const start = (repeat) => (fn, ms, ...more) => {
  if (typeof fn !== "function") throw new TypeError("The callback of a timer must be a function");
  const id = ++last;
  timers.set(id, { fn, more, repeat });
  __host("timer", JSON.stringify({ id, ms: Math.max(repeat ? 1 : 0, Number(ms) || 0), repeat }));
  return id;
};
const stop = (id) => void (timers.delete(Number(id)) && __host("stopTimer", String(id)));
globalThis.setTimeout = start(false);
globalThis.setImmediate = (fn, ...more) => globalThis.setTimeout(fn, 0, ...more);
globalThis.setInterval = start(true);
globalThis.clearTimeout = globalThis.clearInterval = globalThis.clearImmediate = stop;
globalThis.queueMicrotask ??= (fn) => void Promise.resolve().then(fn);
globalThis.structuredClone ??= (value) => JSON.parse(JSON.stringify(value));
globalThis.__timer = (id) => {
  const timer = timers.get(Number(id));
  if (!timer) return;
  if (!timer.repeat) timers.delete(Number(id));
  try {
    timer.fn(...timer.more);
  } catch (error) {
    fail(error);
  }
};

class Exit {
  constructor(status) {
    this.status = status;
  }
}
const fail = (error) => {
  if (!(error instanceof Exit)) __host("fail", failure(error));
  else if (error.status !== 0) __host("fail", `Exit code ${error.status}`);
};
globalThis.__rejected = (_, reason, handled) => void (handled || reason instanceof Exit || __host("rejected", failure(reason)));
globalThis.__reported = () => {};

globalThis.files = files;
globalThis.writeFile = (name, data) => {
  const text = typeof data === "string";
  if (!text && !(data instanceof Uint8Array)) throw new TypeError("writeFile takes a text or a Uint8Array");
  __host("writeFile", JSON.stringify(text ? { name: String(name), text: data } : { name: String(name), binary: Array.from(data, (b) => String.fromCharCode(b)).join("") }));
};
globalThis.process = {
  argv: ["node", "code.js", ...args], env: {}, platform: "parley", cwd: () => "/",
  exit: (status = 0) => {
    throw new Exit(status);
  },
  stdout: { write: (text) => void __host("write", String(text)) }, stderr: { write: (text) => void __host("write", String(text)) },
};

const AsyncFunction = (async () => {}).constructor;
const modules = new Map();
const normal = (from, name) => {
  const out = [];
  for (const part of [...from.split("/").slice(0, -1), ...name.split("/")]) {
    if (part === "..") out.pop();
    else if (part !== "." && part !== "") out.push(part);
  }
  return out.join("/");
};
const requireFrom = (from) => (name) => {
  const path = /^\.{0,2}\//.test(name) ? normal(from, name) : undefined;
  const found = path !== undefined && [path, `${path}.js`, `${path}.cjs`, `${path}.json`, `${path}/index.js`].find((one) => Object.hasOwn(files, one));
  if (!found) throw new Error(`Cannot find module '${name}': there are the files of the request, and no others. Read files with files[name] and write them with writeFile(name, text)`);
  if (modules.has(found)) return modules.get(found).exports;
  const module = { exports: {} };
  modules.set(found, module);
  if (found.endsWith(".json")) module.exports = JSON.parse(files[found]);
  else new Function("module", "exports", "require", "__filename", files[found])(module, module.exports, requireFrom(found), found);
  return module.exports;
};

globalThis.__run = async () => {
  try {
    await new AsyncFunction("require", "module", "exports", code)(requireFrom("code.js"), { exports: {} }, {});
  } catch (error) {
    if (error?.name === "InternalError" && /interrupted|out of memory/.test(error.message)) throw error; // the engine knows
    fail(error);
  }
};
globalThis.__call = (id) => void __post("ok", id, "null", "");
globalThis.__deliver = () => {};
