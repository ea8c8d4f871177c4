// Chooses and fills the patterns of dates.

/** The fields of a date in one letter each; the tables have the patterns in the order below. */
function keyOf({ weekday, year, month, day }) {
  const w = weekday ? (weekday === "long" ? "W" : "w") : "";
  const m = { numeric: "n", "2-digit": "2", short: "s", long: "l", narrow: "s" }[month] ?? "";
  return w + (year ? "y" : "") + m + (day ? (day === "2-digit" ? "D" : "d") : "");
}

const order = ["d", "y", "w", "W", "wd", "Wd"];
for (const m of "nsl") order.push(m, `${m}d`, `y${m}`, `y${m}d`, `w${m}d`, `wy${m}d`, `W${m}d`, `Wy${m}d`);

const fields = /'((?:[^']|'')*)'|([a-zA-Z])\2*|[^a-zA-Z']+/g;

/** Replaces fields of a pattern, and leaves what is between ' alone. */
const alter = (pattern, letters, field) =>
  pattern.replace(fields, (token) => (letters.includes(token[0]) ? field : token));

/** The pattern of a date with the fields that are asked for. */
export function datePattern(asked, data) {
  const key = keyOf(asked);
  const odd = data.odd?.find((entry) => entry.startsWith(`${key}=`));
  let pattern = odd ? odd.slice(key.length + 1) : data.dates[order.indexOf(key.replace("2", "n").replace("D", "d"))];
  if (pattern === undefined) pattern = pieces(asked, data);
  else if (!odd) {
    // Where one of day and month is asked for with two digits, both are as asked.
    const two = [asked.month === "2-digit", asked.day === "2-digit"];
    const mixed =
      two[0] !== two[1] && (asked.month === "numeric" || asked.day === "numeric") && asked.month && asked.day;
    if (two[0] || (mixed && asked.month === "numeric")) pattern = alter(pattern, ["M"], two[0] ? "MM" : "M");
    if (two[1] || mixed) pattern = alter(pattern, ["d"], two[1] ? "dd" : "d");
  }
  if (asked.year === "2-digit") pattern = alter(pattern, ["y"], "yy");
  if (asked.month === "narrow") pattern = alter(pattern, ["M", "L"], "MMMMM");
  if (asked.weekday === "narrow") pattern = alter(pattern, ["E", "c"], "EEEEE");
  return pattern;
}

/** Fields without a pattern in common: one after the other. */
function pieces({ weekday, year, month, day }, data) {
  const parts = [];
  if (month || (year && !day)) parts.push(datePattern({ year, month }, data));
  else if (year) parts.push(datePattern({ year }, data));
  if (weekday) parts.push(datePattern({ weekday }, data));
  if (day) parts.push(datePattern({ day }, data));
  return parts.join(" ");
}

/** The pattern of a time with the fields that are asked for. */
export function timePattern({ hour, minute, second, fractionalSecondDigits, timeZoneName }, hour12, data) {
  const half = hour12 ? 5 : 0;
  const [h, hm, hms, hmsz, hmz] = data.times.slice(half, half + 5);
  let pattern;
  let zoned = false;
  if (hour) {
    zoned = Boolean(timeZoneName && minute);
    pattern = second ? (zoned ? hmsz : hms) : minute ? (zoned ? hmz : hm) : h;
    if (hour === "2-digit") pattern = alter(pattern, ["h"], "hh");
    else if (minute === "2-digit" || second === "2-digit") pattern = alter(pattern, ["h"], "h"); // then all are as asked
  } else if (minute && second) pattern = data.times[10];
  else pattern = minute ? "m" : second ? "s" : "";
  if (fractionalSecondDigits) {
    const fraction = "S".repeat(fractionalSecondDigits);
    pattern = second ? pattern.replace(/s+/, (s) => `${s}'${data.numbers[0]}'${fraction}`) : fraction;
  }
  if (timeZoneName && !zoned) pattern = pattern ? `${pattern} z` : "z";
  return pattern;
}

/** The pattern of date and time; how they are joined depends on how long the date is. */
export function joined(date, time, length, data) {
  if (!date || !time) return date || time;
  return data.glue[length].replace("{1}", () => date).replace("{0}", () => time);
}

const names = {
  MMMM: "months",
  LLLL: "monthsAlone",
  MMM: "monthsShort",
  LLL: "monthsShortAlone",
  MMMMM: "monthsNarrow",
  EEEE: "days",
  cccc: "daysAlone",
  EEE: "daysShort",
  ccc: "daysShortAlone",
  EEEEE: "daysNarrow",
};
const types = {
  y: "year",
  M: "month",
  L: "month",
  d: "day",
  E: "weekday",
  c: "weekday",
  h: "hour",
  m: "minute",
  s: "second",
  S: "fractionalSecond",
  a: "dayPeriod",
  B: "dayPeriod",
  z: "timeZoneName",
};

/** Fills a pattern with the parts of a moment. */
export function fill(pattern, moment, data) {
  const out = [];
  const literal = (value) =>
    out.at(-1)?.type === "literal" ? (out.at(-1).value += value) : out.push({ type: "literal", value });
  for (const [token, quoted, letter] of pattern.matchAll(fields)) {
    if (letter && types[letter]) out.push({ type: types[letter], value: field(token, letter, moment, data) });
    else literal(quoted === undefined ? token : quoted.replaceAll("''", "'"));
  }
  return out;
}

function field(token, letter, moment, data) {
  const list = data[names[token]] ?? data[names[token]?.replace("Alone", "")];
  const pad = (n) => String(n).padStart(token.length, "0");
  switch (letter) {
    case "y":
      return token === "yy" ? String(moment.year % 100).padStart(2, "0") : String(moment.year);
    case "M":
    case "L":
      return list ? list[moment.month - 1] : pad(moment.month);
    case "d":
      return pad(moment.day);
    case "E":
    case "c":
      return list[moment.weekday];
    case "a":
      return data.periods[moment.hour < 12 ? 0 : 1];
    case "B":
      return data.periodsByHour[moment.hour];
    case "h":
      return pad(moment.shownHour);
    case "m":
      return pad(moment.minute);
    case "s":
      return pad(moment.second);
    case "S":
      return String(moment.millisecond).padStart(3, "0").slice(0, token.length);
    default:
      return moment.zone();
  }
}
