// RFC 3492, with the functions and errors that the module has in Node.js.
const overflow = () => new RangeError("Overflow: input needs wider integers to process");
const max = 0x7fffffff;

/** RFC 3492: the characters that are not ASCII become numbers behind those that are. */
function punycode(label) {
  const points = Array.from(label, (char) => char.codePointAt(0));
  const digit = (d) => String.fromCharCode(d < 26 ? d + 97 : d + 22);
  let out = points
    .filter((p) => p < 0x80)
    .map((p) => String.fromCharCode(p))
    .join("");
  const basic = out.length;
  if (basic) out += "-";
  let n = 0x80;
  let delta = 0;
  let bias = 72;
  for (let handled = basic; handled < points.length;) {
    const next = Math.min(...points.filter((p) => p >= n));
    delta += (next - n) * (handled + 1);
    n = next;
    for (const point of points) {
      if (point < n) delta++;
      if (point !== n) continue;
      let q = delta;
      for (let k = 36; ; k += 36) {
        const t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
        if (q < t) break;
        out += digit(t + ((q - t) % (36 - t)));
        q = Math.floor((q - t) / (36 - t));
      }
      out += digit(q);
      bias = adapt(delta, handled + 1, handled === basic);
      delta = 0;
      handled++;
    }
    delta++;
    n++;
  }
  return out;
}

function adapt(delta, count, first) {
  let d = first ? Math.floor(delta / 700) : delta >> 1;
  d += Math.floor(d / count);
  let k = 0;
  for (; d > 455; k += 36) d = Math.floor(d / 35);
  return k + Math.floor((36 * d) / (d + 38));
}

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
