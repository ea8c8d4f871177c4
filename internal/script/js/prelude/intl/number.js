import { find, formatters, text } from "./locale.js";

const English = Intl.NumberFormat; // the engine's own: it rounds, and writes as in en-US
const digits = new Set([
  "integer",
  "group",
  "decimal",
  "fraction",
  "infinity",
  "nan",
  "exponentSeparator",
  "exponentMinusSign",
  "exponentInteger",
]);

export const NumberFormat = formatters("NumberFormat", "–", (locales, options) => {
  const english = new English(locales, options);
  const { tag, data } = find(locales);
  const resolved = { ...english.resolvedOptions(), locale: tag };
  if (!data) return { format: english.format, toParts: (value) => english.formatToParts(value), resolved };
  const toParts = (value) => translate(value, english, resolved, data);
  return { format: (value) => text(toParts(value)), toParts, resolved };
});

/** Writes a number that English has written as another language writes it. */
function translate(value, english, resolved, data) {
  const [decimal, plainGroup, minus, percent, nan, moneyGroup = plainGroup] = data.numbers;
  const group = resolved.style === "currency" ? moneyGroup : plainGroup;
  if (resolved.notation === "compact") return compact(value, resolved, data);
  const parts = english.formatToParts(value);
  const whole = parts
    .filter((p) => p.type === "integer")
    .map((p) => p.value)
    .join("");
  const number = [];
  let integer = false;
  for (const part of parts) {
    if (!digits.has(part.type)) continue;
    if (part.type === "integer" || part.type === "group") {
      if (!integer) number.push(...grouped(whole, resolved.useGrouping, group, data));
      integer = true;
    } else if (part.type === "decimal") number.push({ type: "decimal", value: decimal });
    else if (part.type === "nan") number.push({ type: "nan", value: nan });
    else number.push(part.type === "exponentMinusSign" ? { ...part, value: minus } : part);
  }
  const sign = parts.find((p) => p.type === "minusSign" || p.type === "plusSign");
  const accounting =
    resolved.currencySign === "accounting" && parts.some((p) => p.type === "literal" && p.value === "(");
  const signed = sign && { type: sign.type, value: sign.type === "minusSign" ? minus : sign.value };
  return compose(number, signed, accounting, parts, resolved, data, percent);
}

/** Puts the sign, the currency and the rest around the digits. */
function compose(number, sign, accounting, parts, resolved, data, percent) {
  if (resolved.style === "currency" && resolved.currencyDisplay !== "name") {
    const [plain, negative, accountants] = data.currency;
    const symbol = currencySymbol(resolved, data);
    const pattern = accounting ? accountants : sign ? negative : plain;
    return fill(spaced(pattern, symbol), {
      "#": number,
      "¤": [{ type: "currency", value: symbol }],
      "-": accounting && !sign ? [{ type: "minusSign", value: data.numbers[2] }] : [sign],
    });
  }
  if (resolved.style === "percent")
    return fill((sign ? "-" : "") + percent, { "#": number, "%": [{ type: "percentSign", value: "%" }], "-": [sign] });
  // Units and the names of currencies are those of English.
  const last = parts.findLastIndex((p) => digits.has(p.type));
  return [...(sign ? [sign] : []), ...number, ...parts.slice(last + 1)];
}

/** A letter next to a digit needs a space between. */
function spaced(pattern, symbol) {
  if (/\p{L}$/u.test(symbol)) pattern = pattern.replace("¤#", "¤\u00a0#");
  return /^\p{L}/u.test(symbol) ? pattern.replace("#¤", "#\u00a0¤") : pattern;
}

function fill(pattern, fields) {
  const out = [];
  for (const char of pattern) {
    if (fields[char]) out.push(...fields[char]);
    else if (out.at(-1)?.type === "literal") out.at(-1).value += char;
    else out.push({ type: "literal", value: char });
  }
  return out;
}

function currencySymbol({ currency, currencyDisplay }, data) {
  if (currencyDisplay === "code") return currency;
  const own = data.symbols.find((s) => s.startsWith(`${currency} `))?.split(" ");
  if (own) return own[currencyDisplay === "narrowSymbol" ? 2 : 1];
  return new English("en-US", { style: "currency", currency, currencyDisplay })
    .formatToParts(1)
    .find((p) => p.type === "currency").value;
}

function grouped(whole, mode, group, data) {
  const from = mode === "always" ? 4 : mode === "min2" || (data.groupFrom5 && mode !== false) ? 5 : 4;
  if (mode === false || whole.length < from) return [{ type: "integer", value: whole }];
  const parts = [];
  let rest = whole;
  for (let size = 3; rest.length > size; size = data.lakhs ? 2 : 3) {
    parts.unshift({ type: "group", value: group }, { type: "integer", value: rest.slice(-size) });
    rest = rest.slice(0, -size);
  }
  return [{ type: "integer", value: rest }, ...parts];
}

/** 1.2 Mio.: the number in units of its own size. */
function compact(value, resolved, data) {
  const number = Number(value);
  const units = data.compact.map((entry) => {
    const [, from, shift = from, sign] = /^(\d+)(?:\/(\d+))?:(.*)$/.exec(entry);
    return { from: Number(from), shift: Number(shift), sign };
  });
  const digitOptions = {};
  const given = resolved.roundingPriority !== "morePrecision"; // otherwise compact numbers are rounded in their own way
  for (const name of [
    "minimumFractionDigits",
    "maximumFractionDigits",
    "minimumSignificantDigits",
    "maximumSignificantDigits",
  ]) {
    if (given && resolved[name] !== undefined) digitOptions[name] = resolved[name];
  }
  const at = (power) => {
    const scaled = number / 10 ** power;
    const before = Math.max(1, Math.floor(Math.log10(Math.abs(scaled) || 1)) + 1);
    const { notation, compactDisplay, roundingPriority, ...rest } = resolved;
    for (const name of [
      "minimumFractionDigits",
      "maximumFractionDigits",
      "minimumSignificantDigits",
      "maximumSignificantDigits",
    ])
      delete rest[name];
    if (given) Object.assign(rest, digitOptions);
    else rest.maximumSignificantDigits = Math.max(2, before);
    return { english: new English("en-US", rest), rest: { ...rest, useGrouping: resolved.useGrouping }, scaled };
  };
  const size = Number.isFinite(number) && number !== 0 ? Math.floor(Math.log10(Math.abs(number)) + 1e-12) : 0;
  let unit = units.findLastIndex(({ from }) => from <= size);
  const shift = units[unit]?.shift ?? 0;
  let { english, rest, scaled } = at(shift);
  // Rounding may reach the next unit: 999 999 is 1 Mio.
  const next = units[unit + 1];
  if (next && Math.abs(Number(english.format(scaled).replace(/[^0-9.]/g, ""))) >= 10 ** (next.from - shift)) {
    unit++;
    ({ english, rest, scaled } = at(next.shift));
  }
  const parts = translate(scaled, english, { ...rest, notation: "standard" }, data);
  if (unit < 0) return parts;
  const last = parts.findLastIndex((p) => digits.has(p.type));
  const { sign } = units[unit];
  const space = /^\s*/.exec(sign)[0];
  return parts.toSpliced(last + 1, 0, ...(space ? [{ type: "literal", value: space }] : []), {
    type: "compact",
    value: sign.slice(space.length),
  });
}

const method = (object, name, fn) =>
  Object.defineProperty(object, name, { value: fn, writable: true, configurable: true });
const cache = new Map();

/** Formatters without options are kept: they are asked for again, row by row. */
export function cached(Type, locales, options, key = "") {
  if (options !== undefined || (locales !== undefined && typeof locales !== "string"))
    return new Type(locales, options);
  const id = `${Type.name} ${key} ${locales}`;
  if (!cache.has(id)) {
    if (cache.size > 100) cache.clear();
    cache.set(id, new Type(locales, options));
  }
  return cache.get(id);
}

for (const Type of [Number, BigInt]) {
  const { valueOf } = Type.prototype;
  method(Type.prototype, "toLocaleString", function toLocaleString(locales, options) {
    return cached(NumberFormat, locales, options).format(valueOf.call(this));
  });
}
