// RFC 3492, with the functions and errors that the module has in Node.js.
const { adapt, punycode } = require("../prelude/hostname.js");

const overflow = () => new RangeError("Overflow: input needs wider integers to process");
const max = 0x7fffffff;

function digitOf(code) {
  if (code >= 0x30 && code < 0x3a) return code - 0x30 + 26;
  if (code >= 0x41 && code < 0x5b) return code - 0x41;
  if (code >= 0x61 && code < 0x7b) return code - 0x61;
  return 36;
}

function decode(input) {
  const basic = Math.max(input.lastIndexOf("-"), 0);
  const out = [];
  for (let i = 0; i < basic; i++) {
    if (input.charCodeAt(i) >= 0x80) throw new RangeError("Illegal input >= 0x80 (not a basic code point)");
    out.push(input.charCodeAt(i));
  }
  let n = 0x80;
  let at = 0;
  let bias = 72;
  for (let i = basic > 0 ? basic + 1 : 0; i < input.length;) {
    const before = at;
    for (let weight = 1, k = 36; ; k += 36) {
      if (i >= input.length) throw new RangeError("Invalid input");
      const digit = digitOf(input.charCodeAt(i++));
      if (digit >= 36) throw new RangeError("Invalid input");
      if (digit > Math.floor((max - at) / weight)) throw overflow();
      at += digit * weight;
      const t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
      if (digit < t) break;
      if (weight > Math.floor(max / (36 - t))) throw overflow();
      weight *= 36 - t;
    }
    const count = out.length + 1;
    bias = adapt(at - before, count, before === 0);
    n += Math.floor(at / count);
    at %= count;
    out.splice(at++, 0, n);
  }
  return String.fromCodePoint(...out);
}

/** Applies a function to the labels of a domain, also in an address of mail. */
function map(domain, fn) {
  const parts = domain.split("@");
  const user = parts.length > 1 ? `${parts[0]}@` : "";
  return user + (parts[1] ?? parts[0]).replace(/[\u3002\uff0e\uff61]/g, ".").split(".").map(fn).join(".");
}

module.exports = {
  version: "2.1.0",
  ucs2: {
    decode: (text) => Array.from(text, (char) => char.codePointAt(0)),
    encode: (points) => String.fromCodePoint(...points),
  },
  decode,
  encode: (text) => punycode(text),
  toASCII: (domain) => map(domain, (label) => (/[^\0-\x7f]/.test(label) ? `xn--${punycode(label)}` : label)),
  toUnicode: (domain) => map(domain, (label) => (label.startsWith("xn--") ? decode(label.slice(4).toLowerCase()) : label)),
};
