// Rules about words: English ones.
import { find, inEnglish, offer } from "./locale.js";

export class PluralRules {
  #ordinal;
  #tag;
  #number;
  constructor(locales, options = {}) {
    this.#tag = find(locales).tag;
    this.#ordinal = options.type === "ordinal";
    this.#number = new Intl.NumberFormat("en-US", { ...options, style: "decimal", useGrouping: false });
    inEnglish("Intl.PluralRules", this.#tag);
  }
  select(value) {
    const text = this.#number.format(Math.abs(Number(value)));
    if (!this.#ordinal) return text === "1" ? "one" : "other";
    const n = Number(text);
    const teen = n % 100 >= 11 && n % 100 <= 13;
    return (!teen && { 1: "one", 2: "two", 3: "few" }[n % 10]) || "other";
  }
  resolvedOptions() {
    return {
      locale: this.#tag,
      type: this.#ordinal ? "ordinal" : "cardinal",
      pluralCategories: this.#ordinal ? ["few", "one", "two", "other"] : ["one", "other"],
    };
  }
}

export class ListFormat {
  #options;
  #tag;
  constructor(locales, { type = "conjunction", style = "long" } = {}) {
    if (!["conjunction", "disjunction", "unit"].includes(type))
      throw new RangeError(`Value ${type} out of range for Intl.ListFormat options property type`);
    this.#tag = find(locales).tag;
    this.#options = { type, style };
    inEnglish("Intl.ListFormat", this.#tag);
  }
  formatToParts(items) {
    const list = Array.from(items, (value) => {
      if (typeof value !== "string") throw new TypeError("Iterable yielded a value that is not a string");
      return { type: "element", value };
    });
    const { type, style } = this.#options;
    const word =
      type === "disjunction" ? "or" : type === "unit" ? "" : style === "long" ? "and" : style === "short" ? "&" : "";
    const comma = type === "unit" && style === "narrow" ? " " : ", ";
    return list.flatMap((item, i) => {
      if (i === 0) return [item];
      const last = i === list.length - 1 && word;
      return [{ type: "literal", value: last ? (list.length === 2 ? ` ${word} ` : `, ${word} `) : comma }, item];
    });
  }
  format(items) {
    return this.formatToParts(items)
      .map((part) => part.value)
      .join("");
  }
  resolvedOptions() {
    return { locale: this.#tag, ...this.#options };
  }
}

const units = ["second", "minute", "hour", "day", "week", "month", "quarter", "year"];
const short = {
  second: "sec.",
  minute: "min.",
  hour: "hr.",
  day: "day",
  week: "wk.",
  month: "mo.",
  quarter: "qtr.",
  year: "yr.",
};
const special = {
  second: { 0: "now" },
  day: { "-1": "yesterday", 0: "today", 1: "tomorrow" },
};
const near = { "-1": "last", 0: "this", 1: "next" };

export class RelativeTimeFormat {
  #options;
  #tag;
  #number;
  constructor(locales, { numeric = "always", style = "long" } = {}) {
    this.#tag = find(locales).tag;
    this.#options = { numeric, style };
    this.#number = new Intl.NumberFormat("en-US");
    inEnglish("Intl.RelativeTimeFormat", this.#tag);
  }
  format(value, unit) {
    const name = String(unit).replace(/s$/, "");
    if (!units.includes(name)) throw new RangeError(`Invalid unit argument for format() '${unit}'`);
    const n = Number(value);
    if (!Number.isFinite(n))
      throw new RangeError("The number value needs to be finite for Intl.RelativeTimeFormat.prototype.format()");
    const { numeric, style } = this.#options;
    const word = style === "long" ? name : short[name];
    if (numeric === "auto" && special[name]?.[n]) return special[name][n];
    if (
      numeric === "auto" &&
      near[n] &&
      name !== "second" &&
      name !== "day" &&
      (n === 0 || (name !== "minute" && name !== "hour"))
    )
      return `${near[n]} ${word}`;
    const amount = this.#number.format(Math.abs(n));
    const many =
      amount === "1" ? word : style === "long" || name === "day" ? `${word}s` : name === "quarter" ? "qtrs." : word;
    return n < 0 || Object.is(n, -0) ? `${amount} ${many} ago` : `in ${amount} ${many}`;
  }
  formatToParts(value, unit) {
    return [{ type: "literal", value: this.format(value, unit) }];
  }
  resolvedOptions() {
    return { locale: this.#tag, ...this.#options, numberingSystem: "latn" };
  }
}

/** Pieces of text: characters as people see them, words, or sentences. */
export class Segmenter {
  #granularity;
  #tag;
  constructor(locales, { granularity = "grapheme" } = {}) {
    this.#tag = find(locales).tag;
    this.#granularity = granularity;
  }
  segment(text) {
    const input = String(text);
    const pattern = {
      grapheme:
        /\r\n|\p{RI}\p{RI}|\p{Emoji}(?:\p{EMod}|\ufe0f\u20e3?)?(?:\u200d\p{Emoji}(?:\p{EMod}|\ufe0f)?)*[\p{M}\u200d]*|[\s\S][\p{M}\u200d]*/gu,
      word: /[\p{L}\p{M}\p{N}_]+(?:['’.][\p{L}\p{N}]+)*|\s+|[^\p{L}\p{M}\p{N}_\s]/gu,
      sentence: /[^.!?。！？]*[.!?。！？]*["')\]]*\s*/gu,
    }[this.#granularity];
    const granularity = this.#granularity;
    return {
      *[Symbol.iterator]() {
        for (const match of input.matchAll(pattern)) {
          if (!match[0]) continue;
          const segment = { segment: match[0], index: match.index, input };
          yield granularity === "word" ? { ...segment, isWordLike: /[\p{L}\p{N}]/u.test(match[0]) } : segment;
        }
      },
      containing(index = 0) {
        return [...this].find((s) => s.index <= index && index < s.index + s.segment.length);
      },
    };
  }
  resolvedOptions() {
    return { locale: this.#tag, granularity: this.#granularity };
  }
}

for (const [name, type] of Object.entries({ PluralRules, ListFormat, RelativeTimeFormat, Segmenter }))
  offer(name, type);
