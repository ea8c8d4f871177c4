const { isBytes, bytesOf, fromBase64, toBase64 } = require("../prelude/bytes.js");
const { Codec } = require("../prelude/compression.js");
const { derive } = require("../prelude/derive.js");
const { host } = require("../prelude/host.js");
const { partial } = require("../prelude/absent.js");
const { Transform } = require("./stream.cjs");
const { constants, codes } = require("../prelude/zlib-constants.js");

const buffer = (base64) => Buffer.from(fromBase64(base64).buffer);

function argument(name, type, value) {
  const received = value === null || value === undefined ? value : typeof value === "object" ? `an instance of ${value.constructor?.name}` : `type ${typeof value} (${String(value)})`;
  return Object.assign(new TypeError(`The "${name}" argument must be of type ${type}. Received ${received}`), { code: "ERR_INVALID_ARG_TYPE" });
}

function input(data) {
  if (typeof data === "string") return Buffer.from(data);
  if (isBytes(data)) return bytesOf(data);
  throw argument("buffer", "string or an instance of Buffer, TypedArray, DataView, or ArrayBuffer", data);
}

function number(options, name, low, high, otherwise) {
  const value = options[name];
  if (value === undefined || Number.isNaN(value)) return otherwise;
  if (typeof value !== "number") throw argument(`options.${name}`, "number", value);
  if (value < low || value > high)
    throw Object.assign(new RangeError(`The value of "options.${name}" is out of range. It must be >= ${low} and <= ${high}. Received ${value}`), { code: "ERR_OUT_OF_RANGE" });
  return value;
}

/** What Go needs of the options. Those about memory and windows have no effect. */
function parameters({ format, compress }, options = {}) {
  const strategy = number(options, "strategy", 0, 4, 0);
  const level = number(options, "level", -1, 9, -1);
  return {
    format,
    compress,
    level: strategy === constants.Z_HUFFMAN_ONLY ? -2 : level,
    dictionary: options.dictionary === undefined ? "" : toBase64(bytesOf(options.dictionary)),
    max: Math.floor(number(options, "maxOutputLength", 1, Number.MAX_SAFE_INTEGER, 0)),
    partial: number(options, "finishFlush", 0, 5, constants.Z_FINISH) !== constants.Z_FINISH,
  };
}

/** An error of Go as Node.js has it. */
function failure(error) {
  const { message, code } = error;
  if (!code) return error; // of what reads the stream
  if (code === "ERR_BUFFER_TOO_LARGE" || code === "ERR_OUT_OF_RANGE") return Object.assign(new RangeError(message), { code });
  const errno = constants[code] ?? constants[`BROTLI_DECODER${code?.slice(4)}`];
  return Object.assign(new Error(message), errno === undefined ? { code } : { errno, code });
}

function convert(kind, data, params) {
  try {
    return buffer(host(kind.compress ? "deflate" : "inflate", { ...params, data: toBase64(data) }));
  } catch (error) {
    throw failure(error);
  }
}

class Zlib extends Transform {
  #codec;
  #kind;
  #params;
  #flushes = new WeakSet();
  bytesWritten = 0;
  constructor(kind, options = {}) {
    super(options);
    this.#params = parameters(kind, options);
    this.#codec = new Codec(this.#params);
    this.#kind = options.flush === undefined || options.flush === constants.Z_NO_FLUSH ? "w" : "f";
  }
  #send(kind, chunk, done) {
    this.bytesWritten += chunk.length;
    this.#codec.write(kind, chunk, (bytes) => this.push(Buffer.from(bytes.buffer))).then(
      () => done(),
      (error) => done(failure(error)),
    );
  }
  _transform(chunk, encoding, done) {
    this.#send(this.#flushes.has(chunk) ? "f" : this.#kind, chunk, done);
  }
  _flush(done) {
    this.#send("e", Buffer.alloc(0), done);
  }
  /** Writes out what was compressed so far. */
  flush(kind, done = kind) {
    const mark = Buffer.alloc(0);
    this.#flushes.add(mark);
    this.write(mark, () => typeof done === "function" && done());
  }
  /** Begins another stream of compressed data. */
  reset() {
    this.#codec.close();
    this.#codec = new Codec(this.#params);
  }
  /** Parameters cannot change in the middle of a stream here. */
  params(level, strategy, done) {
    if (done) process.nextTick(done);
  }
  close(done) {
    if (done) this.once("close", done);
    this.destroy();
  }
  _destroy(error, done) {
    this.#codec.close();
    done(error);
  }
}

const zlib = {
  constants,
  codes,
  crc32(data, value = 0) {
    if (typeof data !== "string" && !ArrayBuffer.isView(data)) throw argument("data", "string or an instance of Buffer, TypedArray, or DataView", data);
    return host("crc32", { data: toBase64(input(data)), value: value >>> 0 });
  },
};

for (const [name, format, compress] of [
  ["Deflate", "deflate", true],
  ["Inflate", "deflate", false],
  ["Gzip", "gzip", true],
  ["Gunzip", "gzip", false],
  ["DeflateRaw", "deflate-raw", true],
  ["InflateRaw", "deflate-raw", false],
  ["Unzip", "unzip", false],
  ["BrotliDecompress", "br", false],
]) {
  const kind = { format, compress };
  // Old code calls them without new.
  const type = {
    [name]: function (options) {
      return Reflect.construct(Zlib, [kind, options], new.target ?? type);
    },
  }[name];
  derive(type, Zlib, {});
  const small = name[0].toLowerCase() + name.slice(1);
  zlib[name] = type;
  zlib[`create${name}`] = (options) => new type(options);
  zlib[`${small}Sync`] = (data, options) => convert(kind, input(data), parameters(kind, options));
  zlib[small] = (data, options, done) => {
    if (typeof options === "function") [options, done] = [undefined, options];
    if (typeof done !== "function") throw argument("callback", "function", done);
    const [bytes, params] = [input(data), parameters(kind, options)];
    setImmediate(() => {
      let out;
      try {
        out = convert(kind, bytes, params);
      } catch (error) {
        return done(error);
      }
      done(null, out);
    });
  };
}

for (const [name, value] of Object.entries(constants)) Object.defineProperty(zlib, name, { value });

module.exports = partial(
  "node:zlib",
  zlib,
  "BrotliCompress brotliCompress brotliCompressSync createBrotliCompress",
  "it decompresses Brotli only; compress with gzip or deflate",
);
