const { unfinished } = require("../prelude/encoding.js");

/** Bytes in pieces as text, without broken characters. */
class StringDecoder {
  #held = Buffer.alloc(0);
  constructor(encoding = "utf8") {
    if (!Buffer.isEncoding(encoding))
      throw Object.assign(new TypeError(`Unknown encoding: ${encoding}`), { code: "ERR_UNKNOWN_ENCODING" });
    this.encoding =
      { "utf-8": "utf8", ucs2: "utf16le", "ucs-2": "utf16le", "utf-16le": "utf16le", binary: "latin1" }[
        encoding.toLowerCase()
      ] ?? encoding.toLowerCase();
  }
  write(chunk) {
    if (typeof chunk === "string") return chunk;
    const bytes = Buffer.concat([this.#held, chunk]);
    const keep = this.#incomplete(bytes);
    this.#held = bytes.subarray(bytes.length - keep);
    return bytes.toString(this.encoding, 0, bytes.length - keep);
  }
  end(chunk) {
    const text = chunk === undefined ? "" : this.write(chunk);
    const rest = this.#held.toString(this.encoding);
    this.#held = Buffer.alloc(0);
    return text + rest;
  }
  #incomplete(bytes) {
    if (this.encoding.startsWith("base64")) return bytes.length % 3;
    return this.encoding === "utf8" || this.encoding === "utf16le"
      ? unfinished(bytes, this.encoding === "utf8" ? "utf-8" : "utf-16le")
      : 0;
  }
}
module.exports = { StringDecoder };
