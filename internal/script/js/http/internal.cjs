// What the modules of Node.js in third_party/nodejs import of the inside of Node.js.
const { codes, hideStackFrames } = require("../third_party/readable-stream/lib/ours/errors.js");
const validators = require("../third_party/readable-stream/lib/internal/validators.js");
const { getDefaultHighWaterMark } = require("../third_party/readable-stream/lib/internal/streams/state.js");
const { runIn, snapshot } = require("../prelude/context.js");
const { deprecate } = require("../node/util.cjs");
const { urlToHttpOptions } = require("../node/url.cjs");
const parser = require("./parser.js");

// The names of built-in functions as Node.js has them inside: ObjectKeys is Object.keys.
const primordials = new Proxy(
  {},
  {
    get(_, name) {
      if (name.startsWith("Safe")) return globalThis[name.slice(4)];
      const [, type, method] = /^(Array|Math|Number|Object|Reflect)([A-Z]\w*)$/.exec(name) ?? [];
      return type ? globalThis[type][method[0].toLowerCase() + method.slice(1)] : globalThis[name];
    },
  },
);

function defineError(code, Base, message) {
  class NodeError extends Base {
    constructor(...args) {
      super(message(...args));
      this.code = code;
    }
    toString() {
      return `${this.name} [${code}]: ${this.message}`;
    }
  }
  Object.defineProperty(NodeError.prototype, "name", { value: Base.name, writable: true, configurable: true });
  codes[code] = NodeError;
}
defineError("ERR_HTTP_BODY_NOT_ALLOWED", Error, () => "Adding content for this request method or response status is not allowed.");
defineError("ERR_HTTP_CONTENT_LENGTH_MISMATCH", Error, (is, said) => `Response body's content-length of ${is} byte(s) does not match the content-length of ${said} byte(s) set in header`);
defineError("ERR_HTTP_HEADERS_SENT", Error, (what) => `Cannot ${what} headers after they are sent to the client`);
defineError("ERR_HTTP_INVALID_HEADER_VALUE", TypeError, (value, name) => `Invalid value "${value}" for header "${name}"`);
defineError("ERR_HTTP_TRAILER_INVALID", Error, () => "Trailers are invalid with this transfer encoding");
defineError("ERR_INTERNAL_ASSERTION", Error, (message) => message ?? "This is a bug of the HTTP client");
defineError("ERR_INVALID_CHAR", TypeError, (name, field) => `Invalid character in ${name}${field === undefined ? "" : ` ["${field}"]`}`);
defineError("ERR_INVALID_HTTP_TOKEN", TypeError, (name, value) => `${name} must be a valid HTTP token ["${value}"]`);
defineError("ERR_INVALID_PROTOCOL", TypeError, (is, want) => `Protocol "${is}" not supported. Expected "${want}"`);
defineError("ERR_UNESCAPED_CHARACTERS", TypeError, (what) => `${what} contains unescaped characters`);
for (const type of Object.values(codes)) type.HideStackFramesError = type;

class ConnResetException extends Error {
  code = "ECONNRESET";
  get ["constructor"]() {
    return Error;
  }
}

const methods =
  "ACL BIND CHECKOUT CONNECT COPY DELETE GET HEAD LINK LOCK M-SEARCH MERGE MKACTIVITY MKCALENDAR MKCOL MOVE NOTIFY OPTIONS PATCH POST PROPFIND PROPPATCH PURGE PUT QUERY REBIND REPORT SEARCH SOURCE SUBSCRIBE TRACE UNBIND UNLINK UNLOCK UNSUBSCRIBE".split(" ");
const maxHeaderSize = 16384;

class HTTPParser {
  initialize(type, resource, most) {
    const fields = [];
    let trailers = [];
    let reason = "";
    let bytes;
    const made = new parser.ResponseParser(
      {
        begin: () => {
          fields.length = trailers.length = 0;
          reason = "";
          return 0;
        },
        reason: (from, to) => {
          reason += bytes.toString("latin1", from, to);
          return 0;
        },
        field: () => 0,
        value: () => 0,
        header: (name, text, trailing) => void (trailing ? trailers : fields).push(name, text),
        headersComplete: (status, upgrade, keepAlive) =>
          this[HTTPParser.kOnHeadersComplete](made.major, made.minor, fields.slice(), undefined, undefined, status, reason, upgrade, keepAlive) ?? 0,
        body: (from, to) => {
          this[HTTPParser.kOnBody](bytes.subarray(from, to));
          return 0;
        },
        messageComplete: () => {
          if (trailers.length) this[HTTPParser.kOnHeaders](trailers, "");
          trailers = [];
          this[HTTPParser.kOnMessageComplete]();
          return 0;
        },
      },
      most || maxHeaderSize,
    );
    const context = snapshot(); // of the request
    this.execute = (data) => {
      bytes = data;
      return this.result(runIn(context, () => made.execute(data)), made);
    };
    this.finish = () => this.result(runIn(context, () => made.finish()), made);
    this.getCurrentBuffer = () => bytes;
  }
  result(code, { at, code: name, reason }) {
    if (code === parser.codes.OK || code === parser.codes.PAUSED_UPGRADE) return at;
    return Object.assign(new Error("Parse Error"), { reason, code: `HPE_${name}`, bytesParsed: at });
  }
  remove() {}
  free() {}
  close() {}
}
const numbered = "kOnMessageBegin kOnHeaders kOnHeadersComplete kOnBody kOnMessageComplete kOnExecute kOnTimeout".split(" ");
Object.assign(HTTPParser, { REQUEST: 1, RESPONSE: 2, kLenientNone: 0, kLenientAll: 255 }, Object.fromEntries(numbered.map((name, i) => [name, i])));

const bindings = {
  http_parser: { methods, allMethods: methods, HTTPParser },
  trace_events: { getCategoryEnabledBuffer: () => [0], trace() {} },
};

module.exports = {
  primordials,
  internalBinding: (name) => bindings[name],
  maxHeaderSize,
  // internal/async_hooks
  defaultTriggerAsyncIdScope: (id, block, ...args) => block(...args),
  symbols: { async_id_symbol: Symbol("async_id") },
  // internal/errors
  codes,
  hideStackFrames,
  ConnResetException,
  // internal/options
  getOptionValue: (name) => name === "--max-http-header-size" && maxHeaderSize,
  // internal/perf/observe
  hasObserver: () => false,
  startPerf() {},
  stopPerf() {},
  // internal/streams/state
  getDefaultHighWaterMark,
  // internal/timers
  getTimerDuration(ms, name) {
    validators.validateNumber(ms, name);
    if (ms < 0 || !Number.isFinite(ms)) throw new codes.ERR_OUT_OF_RANGE(name, "a non-negative finite number", ms);
    return Math.min(ms, 2 ** 31 - 1);
  },
  setUnrefTimeout: (fn, ms) => setTimeout(fn, ms),
  // internal/url
  URL,
  urlToHttpOptions,
  isURL: (value) => value instanceof URL || Boolean(value?.href && value.protocol && value.auth === undefined && value.path === undefined),
  // internal/util
  kEmptyObject: Object.freeze({ __proto__: null }),
  deprecate,
  once(fn) {
    let called = false;
    return function (...args) {
      if (called) return undefined;
      called = true;
      return Reflect.apply(fn, this, args);
    };
  },
  // internal/util/debuglog
  debuglog: () => () => {},
  // internal/util/types
  isUint8Array: (value) => value instanceof Uint8Array,
  // internal/validators
  ...validators,
};
