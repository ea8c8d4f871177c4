import { bytesOf, concat, decodeUTF8, encodeUTF8, isBytes, latin1, toBase64, utf16le } from "./bytes.js";
import { custom } from "./inspect.js";
import { checkNumber, checkOffset, failure, numberMethods, outOfRange, received, wrongType } from "./numbers.js";

export const constants = { MAX_LENGTH: 2 ** 31, MAX_STRING_LENGTH: 2 ** 29 };

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

const encodingIn = (name) => {
  const key = String(name).toLowerCase();
  return Object.hasOwn(encodings, key) ? encodings[key] : undefined;
};

function encodingOf(name = "utf8") {
  const found = encodingIn(name);
  if (!found) throw failure(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${name}`);
  return found;
}

const decode = (text, encoding) => decoders[typeof encoding === "string" && encoding ? encodingOf(encoding) : "utf8"](text);

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

const view = (bytes) => new FastBuffer(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const isArrayBuffer = (value) => value instanceof ArrayBuffer || value instanceof SharedArrayBuffer;

function checkBytes(name, value) {
  if (!(value instanceof Uint8Array)) throw wrongType(name, "an instance of Buffer or Uint8Array", value);
}

/** Old code calls Buffer, with and without new; its methods are those of FastBuffer. */
export function Buffer(value, encodingOrOffset, length) {
  if (typeof value !== "number") return Buffer.from(value, encodingOrOffset, length);
  if (typeof encodingOrOffset === "string") throw wrongType("string", "of type string", value);
  return Buffer.alloc(value);
}
Object.setPrototypeOf(Buffer, Uint8Array);
Object.defineProperty(Buffer, Symbol.species, { get: () => FastBuffer, configurable: true });

function fromArrayBuffer(buffer, offset, length) {
  const at = Number(offset) || 0;
  const outside = (name) => failure(RangeError, "ERR_BUFFER_OUT_OF_BOUNDS", `"${name}" is outside of buffer bounds`);
  if (at > buffer.byteLength) throw outside("offset");
  const size = length === undefined ? buffer.byteLength - at : Math.max(0, Number(length) || 0);
  if (at >= 0 && size > buffer.byteLength - at) throw outside("length");
  return new FastBuffer(buffer, at, size);
}

const fromList = (list) => view(Uint8Array.from(list, (n) => Number(n) & 255));

const statics = {
  from(value, encodingOrOffset, length) {
    if (typeof value === "string") return view(decode(value, encodingOrOffset));
    if (value !== null && typeof value === "object") {
      if (isArrayBuffer(value)) return fromArrayBuffer(value, encodingOrOffset, length);
      const plain = value.valueOf?.();
      if (plain !== value && (typeof plain === "string" || (typeof plain === "object" && plain)))
        return Buffer.from(plain, encodingOrOffset, length);
      if (value.length !== undefined || isArrayBuffer(value.buffer)) return typeof value.length === "number" ? fromList(value) : Buffer.alloc(0);
      if (value.type === "Buffer" && Array.isArray(value.data)) return fromList(value.data);
      const text = value[Symbol.toPrimitive]?.("string");
      if (typeof text === "string") return view(decode(text, encodingOrOffset));
    }
    throw failure(TypeError, "ERR_INVALID_ARG_TYPE", `The first argument must be of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object. Received ${received(value)}`);
  },
  of: (...items) => fromList(items),
  copyBytesFrom(source, offset = 0, length) {
    if (!ArrayBuffer.isView(source) || source instanceof DataView) throw wrongType("view", "an instance of TypedArray", source);
    checkOffset("offset", offset, 0);
    if (length !== undefined) checkOffset("length", length, 0);
    return view(bytesOf(source.subarray(offset, length === undefined ? undefined : offset + length)).slice());
  },
  isBuffer: (value) => value instanceof Buffer,
  isEncoding: (name) => typeof name === "string" && encodingIn(name) !== undefined,
  byteLength(value, encoding) {
    if (typeof value !== "string") {
      if (!isBytes(value)) throw wrongType("string", "of type string or an instance of Buffer or ArrayBuffer", value);
      return value.byteLength;
    }
    switch (encodingIn(encoding)) {
      case "latin1":
      case "ascii":
        return value.length;
      case "utf16le":
        return 2 * value.length;
      case "hex":
        return value.length >>> 1;
      case "base64":
      case "base64url":
        return ((value.length - /={0,2}$/.exec(value.slice(-2))[0].length) * 3) >>> 2; // whatever else is in it
    }
    return decoders.utf8(value).length;
  },
  concat(list, length) {
    if (!Array.isArray(list)) throw wrongType("list", "an instance of Array", list);
    list.forEach((part, i) => checkBytes(`list[${i}]`, part));
    const all = view(concat(list.map(bytesOf)));
    if (length === undefined || length === all.length) return all;
    checkOffset("length", length, 0);
    const out = Buffer.alloc(length);
    out.set(all.subarray(0, length));
    return out;
  },
  compare(a, b) {
    checkBytes("buf1", a);
    checkBytes("buf2", b);
    const n = Math.min(a.length, b.length);
    for (let i = 0; i < n; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
    return Math.sign(a.length - b.length);
  },
};
for (const [name, value] of Object.entries(statics))
  Object.defineProperty(Buffer, name, { value, writable: true, configurable: true });

function needleOf(value, encoding) {
  if (typeof value === "number") return Uint8Array.of(value & 255);
  if (typeof value === "string") return decoders[encodingOf(encoding)](value);
  checkBytes("value", value);
  return bytesOf(value);
}

const startsAt = (buffer, needle, at) => needle.every((byte, i) => buffer[at + i] === byte);

class FastBuffer extends Uint8Array {
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
    checkBytes("otherBuffer", other);
    return Buffer.compare(this, other) === 0;
  }
  compare(target, targetStart = 0, targetEnd = target?.length, start = 0, end = this.length) {
    checkBytes("target", target);
    checkOffset("targetStart", targetStart, 0);
    checkOffset("targetEnd", targetEnd, 0, target.length);
    checkOffset("sourceStart", start, 0);
    checkOffset("sourceEnd", end, 0, this.length);
    return Buffer.compare(bytesOf(this).subarray(start, Math.max(start, end)), bytesOf(target).subarray(targetStart, Math.max(targetStart, targetEnd)));
  }
  subarray(start, end) {
    return view(super.subarray(start, end));
  }
  slice(start, end) {
    return this.subarray(start, end); // not a copy, unlike that of a Uint8Array
  }
  copy(target, at, start, end) {
    checkBytes("target", target);
    const integer = (value, otherwise) => (value === undefined ? otherwise : Math.trunc(Number(value)) || 0);
    [at, start, end] = [integer(at, 0), integer(start, 0), integer(end, this.length)];
    if (at < 0) throw outOfRange("targetStart", ">= 0", at);
    if (start < 0 || start > this.length) throw outOfRange("sourceStart", `>= 0 && <= ${this.length}`, start);
    if (end < 0) throw outOfRange("sourceEnd", ">= 0", end);
    if (at >= target.length || start >= end) return 0;
    const part = bytesOf(this).subarray(start, Math.min(end, start + target.length - at));
    target.set(part, at);
    return part.length;
  }
  write(text, offset = 0, length, encoding) {
    if (length === undefined && typeof offset === "string") [offset, encoding] = [0, offset];
    if (typeof length === "string") [length, encoding] = [undefined, length];
    checkOffset("offset", offset, 0, this.length);
    if (length !== undefined) checkOffset("length", length, 0, this.length);
    const kind = encodingOf(encoding || undefined);
    if (typeof text !== "string") throw wrongType("string", "of type string", text);
    const room = Math.min(length ?? Infinity, this.length - offset);
    let bytes = decoders[kind](text);
    if (bytes.length > room) {
      let cut = room; // no half characters
      if (kind === "utf8") while (cut > 0 && (bytes[cut] & 0xc0) === 0x80) cut--;
      if (kind === "utf16le") cut -= cut % 2;
      bytes = bytes.subarray(0, cut);
    }
    this.set(bytes, offset);
    return bytes.length;
  }
  fill(value, offset = 0, end = this.length, encoding) {
    if (typeof value === "string") {
      if (typeof offset === "string") [offset, end, encoding] = [0, this.length, offset];
      else if (typeof end === "string") [end, encoding] = [this.length, end];
      encodingOf(encoding);
      if (value === "") value = 0;
    }
    checkNumber("offset", offset, 0);
    checkNumber("end", end, 0, this.length);
    if (offset >= end) return this;
    if (typeof value !== "string" && !isBytes(value)) return super.fill(Number(value) & 255, offset, end);
    const pattern = typeof value === "string" ? decode(value, encoding) : bytesOf(value);
    if (!pattern.length) throw failure(TypeError, "ERR_INVALID_ARG_VALUE", "The argument 'value' is invalid.");
    for (let i = offset; i < end; i++) this[i] = pattern[(i - offset) % pattern.length];
    return this;
  }
  indexOf(value, from = 0, encoding) {
    if (typeof from === "string") [from, encoding] = [0, from];
    const needle = needleOf(value, encoding);
    const start = Math.trunc(Number(from)) || 0;
    let i = start < 0 ? Math.max(0, this.length + start) : start;
    if (!needle.length) return Math.min(i, this.length);
    for (; (i = super.indexOf(needle[0], i)) >= 0; i++) if (startsAt(this, needle, i)) return i;
    return -1;
  }
  lastIndexOf(value, from, encoding) {
    if (typeof from === "string") [from, encoding] = [undefined, from];
    const needle = needleOf(value, encoding);
    const start = Number.isNaN(Number(from)) ? this.length : Math.trunc(Number(from));
    let i = Math.min(start < 0 ? this.length + start : start, this.length - needle.length);
    for (; i >= 0; i--) if (startsAt(this, needle, i)) return i;
    return -1;
  }
  includes(value, from, encoding) {
    return this.indexOf(value, from, encoding) !== -1;
  }
  swap16() {
    return swap(this, 2);
  }
  swap32() {
    return swap(this, 4);
  }
  swap64() {
    return swap(this, 8);
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
FastBuffer.prototype.inspect = FastBuffer.prototype[custom];
Object.defineProperty(FastBuffer.prototype, "constructor", { value: Buffer });
Object.defineProperty(Buffer, "prototype", { value: FastBuffer.prototype, writable: false });

function swap(buffer, size) {
  if (buffer.length % size) throw failure(RangeError, "ERR_INVALID_BUFFER_SIZE", `Buffer size must be a multiple of ${8 * size}-bits`);
  for (let i = 0; i < buffer.length; i += size) bytesOf(buffer).subarray(i, i + size).reverse();
  return buffer;
}

// These are functions, because form-data calls them with new.
Buffer.alloc = function alloc(size, fill, encoding) {
  checkNumber("size", size, 0, constants.MAX_LENGTH);
  const buffer = new FastBuffer(size);
  return fill === undefined || fill === 0 ? buffer : buffer.fill(fill, encoding);
};
Buffer.allocUnsafe = function allocUnsafe(size) {
  return Buffer.alloc(size);
};
Buffer.allocUnsafeSlow = function allocUnsafeSlow(size) {
  return Buffer.alloc(size);
};
Buffer.poolSize = 8192;
numberMethods(FastBuffer.prototype);
// Without documentation in Node.js, and used for their speed.
for (const name of ["ascii", "base64", "base64url", "hex", "latin1", "ucs2", "utf8"]) {
  Object.defineProperties(Buffer.prototype, {
    [`${name}Slice`]: { value(from, to) { return this.toString(name, from, to); }, writable: true, configurable: true },
    [`${name}Write`]: { value(text, at, length) { return this.write(text, at, length, name); }, writable: true, configurable: true },
  });
}
// Libraries copy them to objects of their own, or replace each of them.
for (const owner of [Buffer, Buffer.prototype])
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(owner)))
    if (typeof value === "function" && name !== "constructor") Object.defineProperty(owner, name, { enumerable: true });
