import { find, formatters, inEnglish, text } from "./locale.js";
import { cached } from "./number.js";
import { datePattern, fill, joined, timePattern } from "./pattern.js";

const English = Intl.DateTimeFormat; // the engine's own: it knows the time zones
const days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const styles = ["full", "long", "medium", "short"];

export const DateTimeFormat = formatters("DateTimeFormat", " – ", (locales, options) => {
  const english = new English(locales, options);
  const { tag, data } = find(locales);
  const resolved = { ...english.resolvedOptions(), locale: tag };
  const strange = resolved.era || resolved.dayPeriod;
  if (strange) inEnglish("Intl.DateTimeFormat with era or dayPeriod", tag);
  if (!data || strange) return { format: english.format, toParts: (date) => english.formatToParts(date), resolved };
  const toParts = translator(resolved, options ?? {}, data);
  return { format: (date) => text(toParts(date)), toParts, resolved };
});

/** A function that writes dates in a language. */
function translator(resolved, options, data) {
  const timed = resolved.hour || resolved.timeStyle;
  // The engine sets options for en-US that were not given.
  const own = options.hour12 !== undefined || options.hourCycle !== undefined;
  const hour12 = timed && (options.hour12 ?? (own ? /^h1[12]$/.test(options.hourCycle) : data.hour12));
  const cycle =
    own && options.hour12 === undefined ? options.hourCycle : hour12 ? (data.tag === "ja-JP" ? "h11" : "h12") : "h23";
  if (timed) Object.assign(resolved, { hourCycle: cycle, hour12: Boolean(hour12) });
  const pattern = patternOf(resolved, options, Boolean(hour12), data);
  const reader = new English("en-US", {
    timeZone: resolved.timeZone,
    hourCycle: "h23",
    weekday: "short",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
    fractionalSecondDigits: 3,
    timeZoneName: "longOffset",
  });
  return (date) => {
    const parts = Object.fromEntries(reader.formatToParts(date).map((p) => [p.type, p.value]));
    const hour = Number(parts.hour);
    const shownHour = { h11: hour % 12, h12: hour % 12 || 12, h24: hour || 24 }[cycle] ?? hour;
    const moment = {
      year: Number(parts.year),
      month: Number(parts.month),
      day: Number(parts.day),
      weekday: days.indexOf(parts.weekday),
      hour,
      shownHour,
      minute: Number(parts.minute),
      second: Number(parts.second),
      millisecond: Number(parts.fractionalSecond),
      zone: () => zoneName(parts.timeZoneName, resolved, data),
    };
    return fill(pattern, moment, data);
  };
}

function patternOf(resolved, options, hour12, data) {
  const { dateStyle, timeStyle } = resolved;
  if (dateStyle || timeStyle) {
    const date = dateStyle ? data.dateStyles[styles.indexOf(dateStyle)] : "";
    let time = timeStyle ? data.timeStyles[styles.indexOf(timeStyle)] : "";
    if (time && hour12 !== data.hour12) {
      const zone = timeStyle === "full" || timeStyle === "long" ? "short" : undefined;
      time = timePattern(
        {
          hour: "numeric",
          minute: "2-digit",
          second: timeStyle === "short" ? undefined : "2-digit",
          timeZoneName: zone,
        },
        hour12,
        data,
      );
    }
    return joined(date, time, styles.indexOf(dateStyle), data);
  }
  const date = datePattern(resolved, data);
  // The engine has made of the fields of a time what en-US makes of them.
  const time = timePattern(
    { ...resolved, hour: options.hour, minute: options.minute, second: options.second },
    hour12,
    data,
  );
  const length = resolved.month === "long" ? (resolved.weekday ? 0 : 1) : resolved.month === "short" ? 2 : 3;
  return joined(resolved.weekday || resolved.year || resolved.month || resolved.day ? date : "", time, length, data);
}

/** A zone by its distance from Greenwich, which every language understands. */
function zoneName(longOffset, { timeZone, timeZoneName, timeStyle }, data) {
  const [prefix, colon, minus] = data.gmt;
  const [, side = "+", hours = "00", minutes = "00"] = /([+-])(\d\d):?(\d\d)?/.exec(longOffset) ?? [];
  const sign = side === "-" ? minus : side;
  const kind = timeZoneName ?? (timeStyle === "full" || timeStyle === "long" ? "short" : undefined);
  if (kind?.startsWith("long") && kind !== "long") return `${prefix}${sign}${hours}${colon}${minutes}`;
  if (hours === "00" && minutes === "00" && kind !== "shortOffset") return timeZone === "UTC" ? "UTC" : prefix;
  return `${prefix}${sign}${Number(hours)}${minutes === "00" ? "" : colon + minutes}`;
}

// What toLocaleString and its siblings need, and what they take if nothing is asked for.
const dateFields = ["weekday", "year", "month", "day"];
const timeFields = ["dayPeriod", "hour", "minute", "second", "fractionalSecondDigits"];
const { valueOf } = Date.prototype;

function fitting(options, needed, defaults) {
  if (options === undefined) options = {};
  const fields = [...(needed !== "time" ? dateFields : []), ...(needed !== "date" ? timeFields : [])];
  if (needed === "date" && options.timeStyle !== undefined) throw new TypeError("Invalid option : timeStyle");
  if (needed === "time" && options.dateStyle !== undefined) throw new TypeError("Invalid option : dateStyle");
  if (
    fields.some((name) => options[name] !== undefined) ||
    options.dateStyle !== undefined ||
    options.timeStyle !== undefined
  )
    return options;
  const added = {};
  if (defaults !== "time") Object.assign(added, { year: "numeric", month: "numeric", day: "numeric" });
  if (defaults !== "date") Object.assign(added, { hour: "numeric", minute: "numeric", second: "numeric" });
  return { ...options, ...added };
}

for (const [name, needed, defaults] of [
  ["toLocaleString", "any", "all"],
  ["toLocaleDateString", "date", "date"],
  ["toLocaleTimeString", "time", "time"],
]) {
  function Formatter(locales, options) {
    return new DateTimeFormat(locales, fitting(options, needed, defaults));
  }
  const method = {
    [name](locales, options) {
      const time = valueOf.call(this);
      return Number.isNaN(time) ? "Invalid Date" : cached(Formatter, locales, options, name).format(time);
    },
  }[name];
  Object.defineProperty(Date.prototype, name, { value: method, writable: true, configurable: true });
}
