import { bytesOf, concat, decodeUTF8, encodeUTF8, fromBase64, latin1, strictUTF8, toBase64, utf16le } from "./bytes.js";
import { DOMException } from "./exception.js";
import { host } from "./host.js";

export class TextEncoder {
  get encoding() {
    return "utf-8";
  }
  encode(text = "") {
    return encodeUTF8(String(text).toWellFormed());
  }
  encodeInto(text, target) {
    const string = String(text).toWellFormed();
    const all = encodeUTF8(string);
    if (all.length <= target.length) {
      target.set(all);
      return { read: string.length, written: all.length };
    }
    let read = 0;
    let written = 0;
    for (const char of string) {
      const bytes = encodeUTF8(char);
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      read += char.length;
      written += bytes.length;
    }
    return { read, written };
  }
}

const labels = new Map();
for (const [name, others] of Object.entries({
  "utf-8": "utf-8 utf8 unicode-1-1-utf-8 x-unicode20utf8 unicode11utf8 unicode20utf8",
  "utf-16le": "utf-16le utf-16 ucs-2 unicode iso-10646-ucs-2 csunicode unicodefeff",
  "utf-16be": "utf-16be unicodefffe",
  "windows-1252":
    "windows-1252 latin1 latin-1 l1 ascii us-ascii iso-8859-1 iso8859-1 iso88591 iso_8859-1 ansi_x3.4-1968 cp1252 x-cp1252 cp819",
})) {
  for (const label of others.split(" ")) labels.set(label, name);
}

const unicode = new Set(["utf-8", "utf-16le", "utf-16be"]);

// What windows-1252 has where ISO 8859-1 has control characters.
const windows1252 = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ";

export class TextDecoder {
  #encoding;
  #fatal;
  #ignoreBOM;
  #held = new Uint8Array(0); // the beginning of a character whose end has not come yet
  #begun = false;

  constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
    const clean = String(label).trim().toLowerCase();
    this.#encoding = labels.get(clean) ?? host("text.name", clean);
    if (!this.#encoding) {
      const error = new RangeError(`The "${label}" encoding is not supported`);
      error.code = "ERR_ENCODING_NOT_SUPPORTED";
      throw error;
    }
    this.#fatal = Boolean(fatal);
    this.#ignoreBOM = Boolean(ignoreBOM);
  }
  get encoding() {
    return this.#encoding;
  }
  get fatal() {
    return this.#fatal;
  }
  get ignoreBOM() {
    return this.#ignoreBOM;
  }

  decode(input, { stream = false } = {}) {
    let bytes = input === undefined ? new Uint8Array(0) : bytesOf(input);
    if (this.#encoding === "windows-1252")
      return latin1(bytes).replace(/[\x80-\x9f]/g, (c) => windows1252[c.charCodeAt(0) - 0x80]);
    if (this.#held.length) bytes = concat([this.#held, bytes]);
    if (!unicode.has(this.#encoding)) return this.#other(bytes, stream);
    const keep = stream ? unfinished(bytes, this.#encoding) : 0;
    this.#held = bytes.slice(bytes.length - keep);
    bytes = bytes.subarray(0, bytes.length - keep);
    let text;
    try {
      text = this.#convert(bytes);
    } catch (error) {
      this.#held = new Uint8Array(0);
      this.#begun = false;
      throw Object.assign(new TypeError(error.message), { code: "ERR_ENCODING_INVALID_ENCODED_DATA" });
    }
    if (!this.#begun && text) {
      if (!this.#ignoreBOM && text.charCodeAt(0) === 0xfeff) text = text.slice(1);
      this.#begun = true;
    }
    if (!stream) this.#begun = false;
    return text;
  }

  #convert(bytes) {
    if (this.#encoding === "utf-8") return this.#fatal ? strictUTF8(bytes) : decodeUTF8(bytes);
    const ordered = this.#encoding === "utf-16be" ? bytes.map((_, i) => bytes[i ^ 1]) : bytes;
    const text = utf16le(ordered) + (bytes.length % 2 ? "\ufffd" : "");
    if (this.#fatal && (bytes.length % 2 || !text.isWellFormed()))
      throw new TypeError(`the encoded data was not valid for encoding ${this.#encoding}`);
    return text.toWellFormed();
  }

  /** Go decodes all others. What it leaves is the beginning of the next piece. */
  #other(bytes, more) {
    this.#held = new Uint8Array(0);
    try {
      const { text, rest } = host("text.decode", { encoding: this.#encoding, data: toBase64(bytes), fatal: this.#fatal, more });
      this.#held = fromBase64(rest);
      return text;
    } catch ({ message, code }) {
      throw Object.assign(new TypeError(message), { code });
    }
  }
}

/** How many bytes at the end wait for others. */
export function unfinished(bytes, encoding) {
  const n = bytes.length;
  if (encoding === "utf-16le" || encoding === "utf-16be") {
    const odd = n % 2;
    const first = n - odd - (encoding === "utf-16le" ? 1 : 2); // the high byte of the last unit
    const high = first >= 0 && (bytes[first] & 0xfc) === 0xd8;
    return odd + (high ? 2 : 0);
  }
  for (let back = 1; back <= 3 && back <= n; back++) {
    const byte = bytes[n - back];
    if ((byte & 0xc0) === 0x80) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needed > back ? back : 0;
  }
  return 0;
}

export function atob(text) {
  let clean = String(text).replace(/[\t\n\f\r ]/g, "");
  if (clean.length % 4 === 0) clean = clean.replace(/={1,2}$/, "");
  if (clean.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(clean)) {
    throw new DOMException("The string to be decoded is not correctly encoded.", "InvalidCharacterError");
  }
  return latin1(fromBase64(clean));
}

export function btoa(text) {
  const string = String(text);
  const bytes = new Uint8Array(string.length);
  for (let i = 0; i < string.length; i++) {
    const code = string.charCodeAt(i);
    if (code > 255)
      throw new DOMException("Invalid character: btoa takes characters up to U+00FF", "InvalidCharacterError");
    bytes[i] = code;
  }
  return toBase64(bytes);
}
