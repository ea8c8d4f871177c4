const { percentDecode } = require("../prelude/query.js");

const escape = (text) => encodeURIComponent(String(text).toWellFormed());
const unescape = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return percentDecode(text);
  }
};

function parse(text, sep = "&", eq = "=", { maxKeys = 1000, decodeURIComponent: decode = unescape } = {}) {
  const out = Object.create(null);
  if (typeof text !== "string" || text === "") return out;
  let pairs = text.split(sep).filter(Boolean);
  if (maxKeys > 0) pairs = pairs.slice(0, maxKeys);
  for (const pair of pairs) {
    const at = pair.indexOf(eq);
    const [key, value] = (at < 0 ? [pair, ""] : [pair.slice(0, at), pair.slice(at + eq.length)]).map((part) =>
      decode(part.replaceAll("+", " ")),
    );
    if (!(key in out)) out[key] = value;
    else if (Array.isArray(out[key])) out[key].push(value);
    else out[key] = [out[key], value];
  }
  return out;
}

function stringify(object, sep = "&", eq = "=", { encodeURIComponent: encode = escape } = {}) {
  if (object === null || typeof object !== "object") return "";
  const text = (value) =>
    ["string", "bigint", "boolean"].includes(typeof value) || Number.isFinite(value) ? encode(String(value)) : "";
  return Object.entries(object)
    .flatMap(([key, value]) => (Array.isArray(value) ? value : [value]).map((item) => encode(key) + eq + text(item)))
    .join(sep);
}

module.exports = {
  parse,
  stringify,
  escape,
  unescape,
  decode: parse,
  encode: stringify,
  unescapeBuffer: (text) => Buffer.from(unescape(String(text))),
};
