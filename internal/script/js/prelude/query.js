import { decodeUTF8, encodeUTF8 } from "./bytes.js";

/** Turns %xx into bytes, and the bytes into text. */
export function percentDecode(text) {
  if (!text.includes("%")) return text;
  const bytes = encodeUTF8(text);
  const out = [];
  for (let i = 0; i < bytes.length; i++) {
    const hex = bytes[i] === 0x25 ? String.fromCharCode(bytes[i + 1], bytes[i + 2]) : "";
    if (/^[0-9a-f]{2}$/i.test(hex)) {
      out.push(parseInt(hex, 16));
      i += 2;
    } else {
      out.push(bytes[i]);
    }
  }
  return decodeUTF8(Uint8Array.from(out));
}

const hex = (byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;

/** Writes the characters that a pattern matches as %xx. */
export function percentEncode(text, pattern) {
  return text.toWellFormed().replace(pattern, (char) => Array.from(encodeUTF8(char), hex).join(""));
}

const formDecode = (text) => percentDecode(text.replaceAll("+", " "));
const formEncode = (text) => percentEncode(text, /[^A-Za-z0-9*\-._ ]/gu).replaceAll(" ", "+");

function parse(text) {
  return text
    .split("&")
    .filter(Boolean)
    .map((pair) => {
      const at = pair.indexOf("=");
      return at < 0 ? [formDecode(pair), ""] : [formDecode(pair.slice(0, at)), formDecode(pair.slice(at + 1))];
    });
}

export class URLSearchParams {
  #pairs = [];
  #changed = null; // tells the URL that these are part of

  constructor(init = "") {
    if (init === null || init === undefined) return;
    if (typeof init === "object" || typeof init === "function") {
      const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
      for (const pair of pairs) {
        const items = pair === null || typeof pair !== "object" ? [] : [...pair];
        if (items.length !== 2) throw new TypeError("Each query pair must be an iterable [name, value] tuple");
        this.#pairs.push(items.map((item) => String(item).toWellFormed()));
      }
    } else {
      this.#pairs = parse(String(init).replace(/^\?/, "").toWellFormed());
    }
  }

  static bind(params, changed) {
    params.#changed = changed;
  }
  static reset(params, text) {
    params.#pairs = parse(text);
  }

  #update(pairs) {
    this.#pairs = pairs;
    this.#changed?.(this.toString());
  }
  get size() {
    return this.#pairs.length;
  }
  append(name, value) {
    this.#update([...this.#pairs, [String(name).toWellFormed(), String(value).toWellFormed()]]);
  }
  delete(name, value) {
    this.#update(this.#pairs.filter(([n, v]) => n !== String(name) || (value !== undefined && v !== String(value))));
  }
  get(name) {
    return this.#pairs.find(([n]) => n === String(name))?.[1] ?? null;
  }
  getAll(name) {
    return this.#pairs.filter(([n]) => n === String(name)).map(([, v]) => v);
  }
  has(name, value) {
    return this.#pairs.some(([n, v]) => n === String(name) && (value === undefined || v === String(value)));
  }
  set(name, value) {
    const at = this.#pairs.findIndex(([n]) => n === String(name));
    if (at < 0) return this.append(name, value);
    const rest = this.#pairs.filter(([n], i) => n !== String(name) || i === at);
    rest[at] = [String(name), String(value).toWellFormed()];
    this.#update(rest);
  }
  sort() {
    this.#update([...this.#pairs].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
  }
  forEach(callback, self) {
    if (typeof callback !== "function") throw new TypeError("The callback of forEach must be a function");
    for (const [name, value] of this.#each()) callback.call(self, value, name, this);
  }
  // Other classes are made of this one, and say entries in terms of keys: what
  // is here must not say keys in terms of entries.
  *#each() {
    for (let i = 0; i < this.#pairs.length; i++) yield [...this.#pairs[i]];
  }
  entries() {
    return this.#each();
  }
  *keys() {
    for (const [name] of this.#each()) yield name;
  }
  *values() {
    for (const [, value] of this.#each()) yield value;
  }
  [Symbol.iterator]() {
    return this.entries();
  }
  toString() {
    return this.#pairs.map(([name, value]) => `${formEncode(name)}=${formEncode(value)}`).join("&");
  }
  [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) {
    const pairs = this.#pairs.map(([name, value]) => `${inspect(name)} => ${inspect(value)}`);
    return pairs.length ? `URLSearchParams { ${pairs.join(", ")} }` : "URLSearchParams {}";
  }
  get [Symbol.toStringTag]() {
    return "URLSearchParams";
  }
}

const { bind, reset } = URLSearchParams;
delete URLSearchParams.bind;
delete URLSearchParams.reset;
export { bind, reset };
