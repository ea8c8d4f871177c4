const { inspect, format, formatWithOptions } = require("../third_party/node-inspect-extracted/inspect.js");
const { equal } = require("../prelude/equal.js");
const { partial } = require("../prelude/absent.js");
const types = require("./util/types.cjs");

const promisified = Symbol.for("nodejs.util.promisify.custom");

function promisify(fn) {
  if (typeof fn !== "function")
    throw Object.assign(new TypeError('The "original" argument must be of type function'), {
      code: "ERR_INVALID_ARG_TYPE",
    });
  if (fn[promisified]) return fn[promisified];
  const promising = function (...args) {
    return new Promise((resolve, reject) => {
      fn.call(this, ...args, (error, value) => (error ? reject(error) : resolve(value)));
    });
  };
  Object.setPrototypeOf(promising, Object.getPrototypeOf(fn));
  return Object.defineProperties(promising, Object.getOwnPropertyDescriptors(fn));
}
promisify.custom = promisified;

// Their callbacks come first, and have no error.
const waiting = require("./timers/promises.cjs");
for (const name of ["setTimeout", "setImmediate"]) Object.defineProperty(globalThis[name], promisified, { value: waiting[name] });

function callbackify(fn) {
  return function (...args) {
    const done = args.pop();
    fn.apply(this, args).then(
      (value) => process.nextTick(done, null, value),
      (error) =>
        process.nextTick(
          done,
          error ?? Object.assign(new Error("Promise was rejected with a falsy value"), { reason: error }),
        ),
    );
  };
}

function inherits(constructor, parent) {
  Object.defineProperty(constructor, "super_", { value: parent, writable: true, configurable: true });
  Object.setPrototypeOf(constructor.prototype, parent.prototype);
}

function deprecate(fn, message, code) {
  let warned = false;
  const warning = function (...args) {
    if (!warned) process.emitWarning(message, code ? `DeprecationWarning [${code}]` : "DeprecationWarning");
    warned = true;
    return new.target ? Reflect.construct(fn, args, new.target === warning ? fn : new.target) : fn.apply(this, args);
  };
  return Object.setPrototypeOf(warning, fn);
}

/** Writes to the log if NODE_DEBUG names the section. */
function debuglog(section) {
  const on = (process.env.NODE_DEBUG ?? "").toLowerCase().split(",").includes(section.toLowerCase());
  return Object.assign((...args) => on && console.debug(`${section.toUpperCase()}: ${format(...args)}`), {
    enabled: on,
  });
}

module.exports = partial(
  "node:util",
  {
    inspect,
    format,
    formatWithOptions,
    promisify,
    callbackify,
    inherits,
    deprecate,
    debuglog,
    debug: debuglog,
    types,
    isDeepStrictEqual: (a, b) => equal(a, b),
    TextEncoder,
    TextDecoder,
    toUSVString: (text) => String(text).toWellFormed(),
    stripVTControlCharacters: (text) =>
      text.replace(
        /[\u001b\u009b][[\]()#;?]*(?:(?:[0-9]{1,4}(?:;[0-9]{0,4})*)?[0-9A-PR-TZcf-nq-uy=><~]|[^\u0007]*\u0007)/g,
        "",
      ),
    styleText: (style, text) => text, // a log has no colours
    aborted: (signal) =>
      new Promise((resolve) =>
        signal.aborted ? resolve() : signal.addEventListener("abort", () => resolve(), { once: true }),
      ),
    isArray: Array.isArray,
    isDate: types.isDate,
    isRegExp: types.isRegExp,
    isError: (value) => value instanceof Error,
    isBuffer: Buffer.isBuffer,
    isFunction: (value) => typeof value === "function",
    isString: (value) => typeof value === "string",
    isNumber: (value) => typeof value === "number",
    isBoolean: (value) => typeof value === "boolean",
    isObject: (value) => value !== null && typeof value === "object",
    isNull: (value) => value === null,
    isUndefined: (value) => value === undefined,
    isNullOrUndefined: (value) => value == null,
    isSymbol: (value) => typeof value === "symbol",
    isPrimitive: (value) => value === null || (typeof value !== "object" && typeof value !== "function"),
    _extend: Object.assign,
    log: (...args) => console.log(...args),
    customInspectSymbol: inspect.custom,
  },
  "parseArgs MIMEType MIMEParams getSystemErrorName getSystemErrorMap transferableAbortController transferableAbortSignal parseEnv",
  "agents have no command line and no system calls",
);
