const { unfinished } = require("../prelude/encoding.js");

const names = { "utf-8": "utf8", ucs2: "utf16le", "ucs-2": "utf16le", "utf-16le": "utf16le", binary: "latin1" };
const held = Symbol("what is not a whole character yet");

/** Bytes in pieces as text, without broken characters. It is a function: old code calls it without new. */
function StringDecoder(encoding = "utf8") {
  if (!Buffer.isEncoding(encoding)) throw Object.assign(new TypeError(`Unknown encoding: ${encoding}`), { code: "ERR_UNKNOWN_ENCODING" });
  this.encoding = names[encoding.toLowerCase()] ?? encoding.toLowerCase();
  this[held] = Buffer.alloc(0);
}

function incomplete(encoding, bytes) {
  if (encoding.startsWith("base64")) return bytes.length % 3;
  return encoding === "utf8" || encoding === "utf16le" ? unfinished(bytes, encoding === "utf8" ? "utf-8" : "utf-16le") : 0;
}

Object.assign(StringDecoder.prototype, {
  write(chunk) {
    if (typeof chunk === "string") return chunk;
    const bytes = Buffer.concat([this[held], chunk]);
    const whole = bytes.length - incomplete(this.encoding, bytes);
    this[held] = bytes.subarray(whole);
    return bytes.toString(this.encoding, 0, whole);
  },
  end(chunk) {
    const text = chunk === undefined ? "" : this.write(chunk);
    const rest = this[held].toString(this.encoding);
    this[held] = Buffer.alloc(0);
    return text + rest;
  },
});
module.exports = { StringDecoder };
