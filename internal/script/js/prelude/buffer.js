import { bytesOf, concat, decodeUTF8, encodeUTF8, isBytes, latin1, toBase64, utf16le } from "./bytes.js";
import { custom } from "./inspect.js";
import { numberMethods } from "./numbers.js";

const encodings = {
  utf8: "utf8",
  "utf-8": "utf8",
  hex: "hex",
  base64: "base64",
  base64url: "base64url",
  ascii: "ascii",
  latin1: "latin1",
  binary: "latin1",
  ucs2: "utf16le",
  "ucs-2": "utf16le",
  utf16le: "utf16le",
  "utf-16le": "utf16le",
};

function encodingOf(name = "utf8") {
  const key = String(name ?? "utf8").toLowerCase();
  if (!Object.hasOwn(encodings, key))
    throw Object.assign(new TypeError(`Unknown encoding: ${name}`), { code: "ERR_UNKNOWN_ENCODING" });
  return encodings[key];
}

function units(text, size, put) {
  const bytes = new Uint8Array(text.length * size);
  for (let i = 0; i < text.length; i++) put(bytes, i, text.charCodeAt(i));
  return bytes;
}

const decoders = {
  utf8: (text) => encodeUTF8(text.toWellFormed()),
  // Node.js takes as much as is good, and both alphabets.
  hex: (text) => Uint8Array.fromHex(/^(?:[0-9a-f]{2})*/i.exec(text)[0]),
  base64(text) {
    let clean = text
      .replace(/=[\s\S]*$/, "")
      .replace(/[^A-Za-z0-9+/\-_]/g, "")
      .replaceAll("-", "+")
      .replaceAll("_", "/");
    if (clean.length % 4 === 1) clean = clean.slice(0, -1);
    return Uint8Array.fromBase64(clean);
  },
  latin1: (text) => units(text, 1, (bytes, i, code) => (bytes[i] = code)),
  utf16le: (text) =>
    units(text, 2, (bytes, i, code) => {
      bytes[2 * i] = code;
      bytes[2 * i + 1] = code >> 8;
    }),
};
decoders.base64url = decoders.base64;
decoders.ascii = decoders.latin1;

const encoders = {
  utf8: decodeUTF8,
  hex: (bytes) => bytes.toHex(),
  base64: (bytes) => toBase64(bytes),
  base64url: (bytes) => toBase64(bytes, { alphabet: "base64url", omitPadding: true }),
  latin1,
  ascii: (bytes) => latin1(bytes.map((b) => b & 0x7f)),
  utf16le,
};

const view = (bytes) => new Buffer(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const typeError = (message) => Object.assign(new TypeError(message), { code: "ERR_INVALID_ARG_TYPE" });

export class Buffer extends Uint8Array {
  constructor(value, offset, length) {
    if (typeof value === "string")
      super(decoders[encodingOf(offset)](value)); // new Buffer("text") is old, and around
    else super(value, offset, length);
  }

  static from(value, encoding, length) {
    if (typeof value === "string") return view(decoders[encodingOf(encoding)](value));
    if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer) return new Buffer(value, encoding, length);
    if (value !== null && typeof value === "object") {
      const plain = value.valueOf?.();
      if (plain !== value && (typeof plain === "string" || (typeof plain === "object" && plain)))
        return Buffer.from(plain, encoding, length);
      if (value.type === "Buffer" && Array.isArray(value.data)) return new Buffer(value.data);
      if (typeof value.length === "number" || value[Symbol.iterator])
        return new Buffer(Array.from(value, (n) => Number(n) & 255));
    }
    throw typeError("The first argument must be a string, an array, a Buffer or an ArrayBuffer");
  }
  static of(...items) {
    return Buffer.from(items);
  }
  static isBuffer(value) {
    return value instanceof Buffer;
  }
  static isEncoding(name) {
    return typeof name === "string" && Object.hasOwn(encodings, name.toLowerCase());
  }
  static byteLength(value, encoding) {
    return typeof value === "string" ? decoders[encodingOf(encoding)](value).length : bytesOf(value).length;
  }
  static concat(list, length) {
    if (!Array.isArray(list)) throw typeError("Buffer.concat takes an array of Buffers");
    const all = view(concat(list.map(bytesOf)));
    if (length === undefined || length === all.length) return all;
    const out = Buffer.alloc(length);
    out.set(all.subarray(0, length));
    return out;
  }
  static compare(a, b) {
    const n = Math.min(a.length, b.length);
    for (let i = 0; i < n; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
    return Math.sign(a.length - b.length);
  }

  get parent() {
    return this.buffer;
  }
  get offset() {
    return this.byteOffset;
  }
  toString(encoding, start = 0, end = this.length) {
    return encoders[encodingOf(encoding)](bytesOf(this).subarray(Math.max(0, start), Math.max(0, end)));
  }
  toLocaleString(encoding, start, end) {
    return this.toString(encoding, start, end);
  }
  toJSON() {
    return { type: "Buffer", data: Array.from(this) };
  }
  equals(other) {
    if (!(other instanceof Uint8Array)) throw typeError("A Buffer is compared with a Buffer or a Uint8Array");
    return Buffer.compare(this, other) === 0;
  }
  compare(target, targetStart = 0, targetEnd = target.length, start = 0, end = this.length) {
    return Buffer.compare(this.subarray(start, end), target.subarray(targetStart, targetEnd));
  }
  subarray(start, end) {
    return view(super.subarray(start, end));
  }
  slice(start, end) {
    return this.subarray(start, end); // not a copy, unlike that of a Uint8Array
  }
  copy(target, at = 0, start = 0, end = this.length) {
    const part = bytesOf(this).subarray(start, Math.min(end, start + Math.max(0, target.length - at)));
    target.set(part, at);
    return part.length;
  }
  write(text, offset = 0, length, encoding) {
    if (typeof offset === "string") [offset, length, encoding] = [0, undefined, offset];
    if (typeof length === "string") [length, encoding] = [undefined, length];
    const room = Math.min(length ?? Infinity, this.length - offset);
    let bytes = decoders[encodingOf(encoding)](text);
    if (bytes.length > room) {
      let cut = room; // no half characters
      if (encodingOf(encoding) === "utf8") while (cut > 0 && (bytes[cut] & 0xc0) === 0x80) cut--;
      bytes = bytes.subarray(0, cut);
    }
    this.set(bytes, offset);
    return bytes.length;
  }
  fill(value, offset = 0, end = this.length, encoding = "utf8") {
    if (typeof offset === "string") [offset, encoding] = [0, offset];
    if (typeof end === "string") [end, encoding] = [this.length, end];
    if (typeof value !== "string" && !isBytes(value)) return super.fill(Number(value) & 255, offset, end);
    const pattern = typeof value === "string" ? decoders[encodingOf(encoding)](value) : bytesOf(value);
    for (let i = offset; i < end; i++) this[i] = pattern.length ? pattern[(i - offset) % pattern.length] : 0;
    return this;
  }
  #needle(value, encoding) {
    if (typeof value === "number") return Uint8Array.of(value & 255);
    return typeof value === "string" ? decoders[encodingOf(encoding)](value) : bytesOf(value);
  }
  indexOf(value, from = 0, encoding) {
    if (typeof from === "string") [from, encoding] = [0, from];
    const needle = this.#needle(value, encoding);
    let i = from < 0 ? Math.max(0, this.length + from) : from;
    if (!needle.length) return Math.min(i, this.length);
    for (; (i = super.indexOf(needle[0], i)) >= 0; i++) if (needle.every((b, j) => this[i + j] === b)) return i;
    return -1;
  }
  lastIndexOf(value, from = this.length, encoding) {
    const needle = this.#needle(value, encoding);
    let i = Math.min(from < 0 ? this.length + from : from, this.length - needle.length);
    for (; i >= 0; i--) if (needle.every((b, j) => this[i + j] === b)) return i;
    return -1;
  }
  includes(value, from, encoding) {
    return this.indexOf(value, from, encoding) !== -1;
  }
  [custom](depth, options, inspect) {
    const most = 50;
    const parts = Array.from(bytesOf(this).subarray(0, most), (b) => b.toString(16).padStart(2, "0"));
    const left = this.length - most;
    if (left > 0) parts.push(`... ${left} more byte${left > 1 ? "s" : ""}`);
    const others = Object.fromEntries(Object.entries(this).slice(this.length));
    const extra = Object.keys(others).length ? `, ${inspect(others, { ...options, breakLength: Infinity, compact: true }).slice(2, -2)}` : "";
    return `<${this.constructor.name}${parts.length ? " " : ""}${parts.join(" ")}${extra}>`;
  }
}
// These are functions, because form-data calls them with new.
Buffer.alloc = function alloc(size, fill, encoding) {
  if (typeof size !== "number") throw typeError("The size of a Buffer must be a number");
  if (!(size >= 0 && size <= 2 ** 31))
    throw Object.assign(new RangeError(`The size ${size} is out of range`), { code: "ERR_OUT_OF_RANGE" });
  const buffer = new Buffer(size);
  return fill === undefined || fill === 0 ? buffer : buffer.fill(fill, encoding);
};
Buffer.allocUnsafe = function allocUnsafe(size) {
  return Buffer.alloc(size);
};
Buffer.allocUnsafeSlow = function allocUnsafeSlow(size) {
  return Buffer.alloc(size);
};
Buffer.poolSize = 8192;
numberMethods(Buffer.prototype);
// Libraries copy them to objects of their own.
for (const name of Object.getOwnPropertyNames(Buffer))
  if (typeof Buffer[name] === "function") Object.defineProperty(Buffer, name, { enumerable: true });
// Without documentation in Node.js, and used for their speed.
for (const name of ["ascii", "base64", "base64url", "hex", "latin1", "ucs2", "utf8"]) {
  Object.defineProperties(Buffer.prototype, {
    [`${name}Slice`]: { value(from, to) { return this.toString(name, from, to); }, writable: true, configurable: true },
    [`${name}Write`]: { value(text, at, length) { return this.write(text, at, length, name); }, writable: true, configurable: true },
  });
}

export const constants = { MAX_LENGTH: 2 ** 31, MAX_STRING_LENGTH: 2 ** 29 };
