import { find, offer } from "./locale.js";

const marks = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"; // in their order

/** How a character sorts: marks before digits before letters, and letters without their accents and case. */
function weigh(text, ignorePunctuation) {
  const keys = [];
  for (const char of text.normalize("NFD")) {
    if (/\p{M}/u.test(char)) {
      if (keys.length) keys.at(-1).accents += char;
      continue;
    }
    const rank = /\s/u.test(char)
      ? 0
      : /[\p{P}]/u.test(char)
        ? 1
        : /[\p{S}]/u.test(char)
          ? 2
          : /\p{N}/u.test(char)
            ? 3
            : 4;
    if (ignorePunctuation && rank < 2) continue;
    const mark = marks.indexOf(char);
    if (mark >= 0) {
      if (!ignorePunctuation) keys.push({ rank: 1, base: String.fromCharCode(mark), accents: "", upper: false });
      continue;
    }
    const base =
      { ß: "ss", æ: "ae", œ: "oe", ø: "o\u0338", đ: "d\u0335", ł: "l\u0335" }[char.toLowerCase()] ?? char.toLowerCase();
    keys.push({ rank, base, accents: "", upper: char !== char.toLowerCase() });
  }
  return keys;
}

// The same for ASCII, which most of what is sorted is made of: one number a character.
const ascii = new Uint8Array(128);
for (let code = 0; code < 128; code++) {
  const char = String.fromCharCode(code).toLowerCase();
  const mark = marks.indexOf(char);
  ascii[code] = /\s/.test(char)
    ? 1
    : mark >= 0
      ? 10 + mark
      : /[0-9]/.test(char)
        ? code + 20
        : /[a-z]/.test(char)
          ? char.charCodeAt(0)
          : 0;
}

/** Compares by letters, and then by case; undefined if there is more to it. */
function simply(a, b, small) {
  let cased = 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y && x < 128) continue;
    if (x > 127 || y > 127) return undefined;
    if (ascii[x] !== ascii[y])
      return restIsASCII(a, i) && restIsASCII(b, i) ? Math.sign(ascii[x] - ascii[y]) : undefined;
    cased ||= x > y ? -1 : 1; // capitals have the smaller codes
  }
  if (!restIsASCII(a, length) || !restIsASCII(b, length)) return undefined;
  return Math.sign(a.length - b.length) || cased * small;
}

const restIsASCII = (text, from) => !/[^\x20-\x7e]/.test(from ? text.slice(from) : text);

function first(a, b, difference) {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const d = difference(a[i], b[i]);
    if (d) return d;
  }
  return Math.sign(a.length - b.length);
}

const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** Runs of digits as numbers. */
function withNumbers(keys) {
  const out = [];
  for (const key of keys) {
    const last = out.at(-1);
    if (key.rank === 3 && last?.number !== undefined) last.number += key.base;
    else out.push(key.rank === 3 ? { ...key, number: key.base } : key);
  }
  return out;
}

function byNumber(a, b) {
  const [x, y] = [a, b].map((n) => n.replace(/^0+(?=.)/, ""));
  return Math.sign(x.length - y.length) || order(x, y);
}

export class Collator {
  #options;
  #tag;
  constructor(
    locales,
    { usage = "sort", sensitivity = "variant", ignorePunctuation = false, numeric, caseFirst = "false" } = {},
  ) {
    if (!["base", "accent", "case", "variant"].includes(sensitivity))
      throw new RangeError(`Value ${sensitivity} out of range for Intl.Collator options property sensitivity`);
    const [asked] = Intl.getCanonicalLocales(locales);
    this.#tag = find(locales).tag;
    this.#options = {
      usage,
      sensitivity,
      ignorePunctuation,
      collation: "default",
      numeric: numeric ?? /-u(-\w+)*-kn(?!-false)/.test(asked ?? ""),
      caseFirst,
    };
    this.compare = this.compare.bind(this);
  }
  compare(a, b) {
    const { sensitivity, ignorePunctuation, numeric, caseFirst } = this.#options;
    const [s, t] = [String(a), String(b)];
    if (s === t) return 0;
    if (!numeric && !ignorePunctuation && sensitivity === "variant") {
      const simple = simply(s, t, caseFirst === "upper" ? -1 : 1);
      if (simple !== undefined) return simple;
    }
    let [x, y] = [weigh(s, ignorePunctuation), weigh(t, ignorePunctuation)];
    if (numeric) [x, y] = [withNumbers(x), withNumbers(y)];
    const base = first(
      x,
      y,
      (p, q) =>
        p.rank - q.rank ||
        (p.number !== undefined && q.number !== undefined ? byNumber(p.number, q.number) : order(p.base, q.base)),
    );
    if (base) return Math.sign(base);
    const accents =
      sensitivity === "accent" || sensitivity === "variant" ? first(x, y, (p, q) => order(p.accents, q.accents)) : 0;
    if (accents) return accents;
    const small = caseFirst === "upper" ? -1 : 1;
    return sensitivity === "case" || sensitivity === "variant" ? first(x, y, (p, q) => small * (p.upper - q.upper)) : 0;
  }
  resolvedOptions() {
    return { locale: this.#tag, ...this.#options };
  }
}
offer("Collator", Collator);

const plain = new Collator("en-US");
Object.defineProperty(String.prototype, "localeCompare", {
  value: function localeCompare(that, locales, options) {
    if (this === undefined || this === null)
      throw new TypeError("String.prototype.localeCompare called on null or undefined");
    const collator = locales === undefined && options === undefined ? plain : new Collator(locales, options);
    return collator.compare(String(this), String(that));
  },
  writable: true,
  configurable: true,
});
