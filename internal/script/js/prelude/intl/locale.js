import { host } from "../host.js";

/** A language tag and its parts. */
export class Locale {
  constructor(tag, options = {}) {
    if (typeof tag !== "string" && !(tag instanceof Locale))
      throw new TypeError("First argument to Intl.Locale constructor can't be empty or missing");
    const [name] = Intl.getCanonicalLocales(String(tag));
    const [, language, script, region] = /^([a-z]+)(?:-([A-Z][a-z]{3}))?(?:-([A-Z]{2}|\d{3}))?/.exec(name);
    Object.assign(this, {
      language: options.language ?? language,
      script: options.script ?? script,
      region: options.region ?? region,
    });
    this.baseName = [this.language, this.script, this.region].filter(Boolean).join("-");
  }
  toString() {
    return this.baseName;
  }
  maximize() {
    return this;
  }
  minimize() {
    return new Locale(this.language);
  }
}

const known = new Map();
const mostKnown = 100; // tags may come from users, and there is no limit to them

/** Tags as the engine takes them; an Intl.Locale is one too. */
export const tags = (locales) => (locales instanceof Locale ? String(locales) : locales);

/**
 * The first of the requested locales: its tag, and its data, or null for en-US, which
 * the engine has. Go keeps the tables, so that an engine has only those that its code
 * uses.
 */
export function find(locales) {
  const [first] = Intl.getCanonicalLocales(tags(locales));
  if (first === undefined) return { tag: "en-US", data: null };
  if (!known.has(first)) {
    const data = host("locale", first);
    if (data)
      for (const [name, text] of Object.entries(data))
        if (typeof text === "string" && name !== "tag") data[name] = text.split("|");
    if (known.size >= mostKnown) known.clear();
    known.set(first, { tag: data ? (first.length === 2 ? first : data.tag) : "en-US", data });
  }
  return known.get(first);
}

const supported = new Set("en de fr es it pt nl sv da nb no fi pl cs tr ru uk ja ko zh hi".split(" "));

export function supportedLocalesOf(locales) {
  return Intl.getCanonicalLocales(locales).filter((tag) => supported.has(tag.split("-")[0]));
}

const reported = new Set();

/** Logs once that English is used instead. */
export function inEnglish(what, tag) {
  if (tag.startsWith("en") || reported.has(what)) return;
  reported.add(what);
  console.warn(`${what} knows English only in this runtime, and does so for ${tag}`);
}

/** Defines a class in Intl, with the attributes of the standard. */
export function offer(name, type) {
  Object.defineProperty(type, "name", { value: name, configurable: true });
  Object.defineProperty(type.prototype, Symbol.toStringTag, { value: `Intl.${name}`, configurable: true });
  type.supportedLocalesOf ??= supportedLocalesOf;
  Object.defineProperty(Intl, name, { value: type, writable: true, configurable: true });
}

/** The text of parts. */
export const text = (parts) => parts.map((part) => part.value).join("");

/**
 * A class of formatters as the standard has them: made with new or without, and
 * with a format that can be passed around. make gives what one of them does.
 */
export function formatters(name, between, make) {
  const inside = new WeakMap();
  const of = (object) => {
    if (inside.has(object)) return inside.get(object);
    throw new TypeError(`Method of Intl.${name}.prototype called on an incompatible receiver`);
  };
  function Formatter(locales, options) {
    if (!new.target) return new Formatter(locales, options);
    inside.set(this, make(tags(locales), options));
  }
  const methods = {
    formatToParts(value) {
      return of(this).toParts(value);
    },
    resolvedOptions() {
      return { ...of(this).resolved };
    },
    formatRange(from, to) {
      const { format } = of(this);
      const [a, b] = [format(from), format(to)];
      return a === b ? a : a + between + b;
    },
  };
  for (const [key, value] of Object.entries(methods))
    Object.defineProperty(Formatter.prototype, key, { value, writable: true, configurable: true });
  Object.defineProperty(Formatter.prototype, "format", {
    get() {
      return of(this).format;
    },
    configurable: true,
  });
  offer(name, Formatter);
  return Formatter;
}
