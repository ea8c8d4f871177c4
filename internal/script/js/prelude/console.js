import { host } from "./host.js";
import { format, inspect } from "./inspect.js";
import { callsHere } from "./polyfill.js";

/** Writes a text to the application's log. */
export const write = (level, text) => void host("console", { level, text });

/** A value as text even if it is a proxy that throws. */
function each(value) {
  try {
    return format(value);
  } catch (error) {
    return `(could not be shown: ${error?.message ?? error})`;
  }
}

/** A console that writes to the log. */
export function makeConsole(out = write) {
  const counts = new Map();
  const timers = new Map();
  let indentation = "";

  const print = (level, args) => {
    let text;
    try {
      text = format(...args);
    } catch {
      text = args.map(each).join(" ");
    }
    out(level, indentation ? indentation + text.replaceAll("\n", `\n${indentation}`) : text);
  };
  const elapsed = (label) => {
    const from = timers.get(label);
    if (from === undefined) return void print("warn", [`There is no timer ${label} for console.time`]);
    const ms = performance.now() - from;
    return ms >= 1000 ? `${(ms / 1000).toFixed(3)}s` : `${ms.toFixed(3)}ms`;
  };

  const console = {
    log: (...args) => print("info", args),
    info: (...args) => print("info", args),
    debug: (...args) => print("debug", args),
    warn: (...args) => print("warn", args),
    error: (...args) => print("error", args),
    trace: (...args) => print("error", [[`Trace: ${format(...args)}`, ...callsHere()].join("\n")]),
    assert(condition, ...args) {
      if (condition) return;
      if (typeof args[0] === "string") args[0] = `Assertion failed: ${args[0]}`;
      else args.unshift("Assertion failed");
      print("error", args);
    },
    dir: (value, options) => print("info", [inspect(value, { ...options })]),
    dirxml: (...args) => print("info", args),
    table: (data, columns) => print("info", [table(data, columns)]),
    group(...args) {
      if (args.length) print("info", args);
      indentation += "  ";
    },
    groupCollapsed: (...args) => console.group(...args),
    groupEnd() {
      indentation = indentation.slice(2);
    },
    count(label = "default") {
      counts.set(`${label}`, (counts.get(`${label}`) ?? 0) + 1);
      print("info", [`${label}: ${counts.get(`${label}`)}`]);
    },
    countReset: (label = "default") => void counts.delete(`${label}`),
    time: (label = "default") => void timers.set(`${label}`, performance.now()),
    timeLog(label = "default", ...args) {
      const text = elapsed(`${label}`);
      if (text) print("info", [`${label}: ${text}`, ...args]);
    },
    timeEnd(label = "default") {
      console.timeLog(label);
      timers.delete(`${label}`);
    },
    timeStamp() {},
    profile() {},
    profileEnd() {},
    clear() {},
  };
  return console;
}

/** A console for other streams writes to the log as well. */
export function Console() {
  return makeConsole();
}

/** Rows and columns in a frame; other values are shown as they are. */
function table(data, only) {
  if (typeof data !== "object" || data === null) return format(data);
  const entries =
    data instanceof Map
      ? [...data].map(([k, v], i) => [i, { Key: k, Values: v }])
      : data instanceof Set
        ? [...data].map((v, i) => [i, v])
        : Object.entries(data);
  const columns = [];
  let values = false;
  const rows = entries.map(([index, row]) => {
    const cells = new Map();
    if (typeof row === "object" && row !== null) {
      for (const key of Object.keys(row)) {
        if (only && !only.includes(key)) continue;
        if (!columns.includes(key)) columns.push(key);
        cells.set(key, inspect(row[key], { depth: 0 }));
      }
      return { index: String(index), cells };
    }
    values = true;
    return { index: String(index), cells, value: inspect(row, { depth: 0 }) };
  });
  const head = ["(index)", ...(only ?? columns), ...(values ? ["Values"] : [])];
  const lines = rows.map((r) => [
    r.index,
    ...(only ?? columns).map((c) => r.cells.get(c) ?? ""),
    ...(values ? [r.value ?? ""] : []),
  ]);
  const widths = head.map((h, i) => Math.max(h.length, ...lines.map((l) => l[i].length)) + 2);
  const rule = (l, m, r) => l + widths.map((w) => "─".repeat(w)).join(m) + r;
  const row = (cells) => `│${cells.map((c, i) => ` ${c.padEnd(widths[i] - 1)}`).join("│")}│`;
  return [rule("┌", "┬", "┐"), row(head), rule("├", "┼", "┤"), ...lines.map(row), rule("└", "┴", "┘")].join("\n");
}
