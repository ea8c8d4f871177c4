// Values as text, for people: what util.inspect and console.log show.

export const custom = Symbol.for("nodejs.util.inspect.custom");

const defaults = {
  depth: 2,
  showHidden: false,
  colors: false,
  compact: 3,
  breakLength: 80,
  maxArrayLength: 100,
  maxStringLength: 10000,
  sorted: false,
  getters: false,
};

export function inspect(value, options, ...old) {
  // util.inspect once took (value, showHidden, depth).
  const given =
    typeof options === "object" && options
      ? options
      : { showHidden: Boolean(options), ...(old.length && { depth: old[0] }) };
  const settings = { ...defaults, ...given };
  for (const limit of ["depth", "maxArrayLength", "maxStringLength"]) settings[limit] ??= Infinity;
  const state = { ...settings, given, path: [], circular: new Map(), budget: 20000 };
  return show(value, state, 0);
}
inspect.custom = custom;
inspect.defaultOptions = defaults;

const plainKey = /^[a-zA-Z_$][a-zA-Z_$0-9]*$/;

export function quote(text) {
  const mark = !text.includes("'")
    ? "'"
    : !text.includes('"')
      ? '"'
      : !text.includes("`") && !text.includes("${")
        ? "`"
        : "'";
  const escapes = { "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f", "\v": "\\v", "\\": "\\\\" };
  return (
    mark +
    text.replace(/[\x00-\x1f\x7f-\x9f\\'"`]/g, (c) => {
      if (c === "'" || c === '"' || c === "`") return c === mark ? `\\${c}` : c;
      return escapes[c] ?? `\\x${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
    }) +
    mark
  );
}

function primitive(value, state) {
  switch (typeof value) {
    case "string": {
      const left = value.length - state.maxStringLength;
      return left > 0
        ? `${quote(value.slice(0, state.maxStringLength))}... ${left} more character${left > 1 ? "s" : ""}`
        : quote(value);
    }
    case "number":
      return Object.is(value, -0) ? "-0" : String(value);
    case "bigint":
      return `${value}n`;
    default:
      return String(value); // a symbol too
  }
}

function show(value, state, depth) {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return primitive(value, state);
  if (--state.budget < 0) return "..."; // so that a huge tree of values costs no more than a big one
  if (state.path.includes(value)) {
    if (!state.circular.has(value)) state.circular.set(value, state.circular.size + 1);
    return `[Circular *${state.circular.get(value)}]`;
  }
  try {
    const own = value[custom];
    if (typeof own === "function" && own !== inspect) {
      const text = own.call(
        value,
        state.depth - depth,
        { ...defaults, ...state.given, depth: state.depth - depth },
        inspect,
      );
      if (text !== value) return typeof text === "string" ? indent(text, depth) : show(text, state, depth);
    }
    return compose(value, state, depth);
  } catch (error) {
    if (error instanceof RangeError || error instanceof InternalErrorType) throw error;
    return `[${nameOf(value)}: cannot be shown: ${error?.message}]`; // a getter or a proxy that throws
  }
}

const InternalErrorType = globalThis.InternalError ?? RangeError;

const indent = (text, depth) => (depth ? text.replaceAll("\n", `\n${"  ".repeat(depth)}`) : text);

/** The name of the class of an object; null if it has no prototype. */
function nameOf(value) {
  for (let object = value; object; object = Object.getPrototypeOf(object)) {
    const constructor = Object.getOwnPropertyDescriptor(object, "constructor")?.value;
    if (typeof constructor === "function" && constructor.name) return constructor.name;
  }
  return null;
}

const type = (value) => Object.prototype.toString.call(value).slice(8, -1);

function compose(value, state, depth) {
  const name = nameOf(value);
  const tag = value[Symbol.toStringTag];
  let keys = Object.keys(value);
  if (state.showHidden) keys = Object.getOwnPropertyNames(value);
  keys.push(
    ...Object.getOwnPropertySymbols(value).filter(
      (s) => state.showHidden || Object.prototype.propertyIsEnumerable.call(value, s),
    ),
  );
  if (state.sorted) keys.sort(typeof state.sorted === "function" ? state.sorted : undefined);

  let prefix = name === null ? `[${type(value)}: null prototype] ` : name === "Object" ? "" : `${name} `;
  if (typeof tag === "string" && tag && tag !== name && !Object.hasOwn(value, Symbol.toStringTag))
    prefix = `${name ?? "[Object: null prototype]"} [${tag}] `;
  let brackets = ["{", "}"];
  let base = "";
  let items = () => [];

  if (Array.isArray(value)) {
    prefix = name === "Array" ? "" : `${name ?? "[Array: null prototype]"}(${value.length}) `;
    brackets = ["[", "]"];
    keys = keys
      .filter((k) => typeof k === "symbol" || !/^\d+$/.test(k) || k >= 2 ** 32 - 1)
      .filter((k) => k !== "length");
    items = () => elements(value, state, depth);
  } else if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    prefix = `${name ?? type(value)}(${value.length}) `;
    brackets = ["[", "]"];
    keys = keys.filter((k) => typeof k === "symbol" || !/^\d+$/.test(k));
    items = () => elements(value, state, depth);
  } else if (value instanceof Map) {
    prefix = `${name ?? "Map"}(${value.size}) `;
    items = () =>
      limited(value, value.size, state, ([k, v]) => `${show(k, state, depth + 1)} => ${show(v, state, depth + 1)}`);
  } else if (value instanceof Set) {
    prefix = `${name ?? "Set"}(${value.size}) `;
    items = () => limited(value, value.size, state, (v) => show(v, state, depth + 1));
  } else if (value instanceof Error) {
    base = errorText(value, keys, state, depth);
    keys = keys.filter(
      (k) => !["stack", "message", "cause", "errors"].includes(k) && !(k === "name" && base.includes(value.name)),
    );
  } else if (typeof value === "function") {
    base = functionText(value, name);
    keys = keys.filter((k) => !state.showHidden || !["length", "name", "prototype"].includes(k));
  } else if (value instanceof Date) {
    base = Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  } else if (value instanceof RegExp) {
    base = RegExp.prototype.toString.call(value);
  } else if (value instanceof ArrayBuffer) {
    items = () => [`[Uint8Contents]: <${hex(new Uint8Array(value), state)}>`, `byteLength: ${value.byteLength}`];
  } else if (value instanceof WeakMap || value instanceof WeakSet) {
    items = () => ["<items unknown>"];
  } else if (value instanceof Promise) {
    prefix = "Promise ";
  } else if (
    ["Number", "String", "Boolean", "Symbol", "BigInt"].includes(type(value)) &&
    typeof value.valueOf() !== "object"
  ) {
    base = `[${type(value)}: ${primitive(value.valueOf(), state)}]`;
    if (type(value) === "String") keys = keys.filter((k) => typeof k === "symbol" || !/^\d+$/.test(k));
  } else if (typeof value.next === "function" && /Iterator|Generator/.test(type(value))) {
    prefix = `Object [${type(value)}] `;
  } else if (type(value) === "Arguments") {
    prefix = "[Arguments] ";
    brackets = ["[", "]"];
    keys = [];
    items = () => elements(value, state, depth);
  }

  if (base && !keys.length) return indent(base, depth);
  if (depth > state.depth)
    return (
      base ||
      `[${(prefix.replace(/\(\d+\) $/, "").trim() || (Array.isArray(value) ? "Array" : "Object")).replace(/^\[|\]$/g, "")}]`
    );
  state.path.push(value);
  state.deepest = depth;
  const parts = [...items(), ...keys.map((key) => property(value, key, state, depth))];
  state.path.pop();
  const mark = state.circular.has(value) ? `<ref *${state.circular.get(value)}> ` : "";
  return mark + join(base ? `${indent(base, depth)} ` : prefix, brackets, parts, state, depth);
}

function property(value, key, state, depth) {
  const label = typeof key === "symbol" ? `[${String(key)}]` : plainKey.test(key) ? key : quote(key);
  const d = Object.getOwnPropertyDescriptor(value, key);
  if (d && !("value" in d)) {
    if (state.getters && d.get) return `${label}: ${show(d.get.call(value), state, depth + 1)}`;
    return `${label}: ${d.get ? (d.set ? "[Getter/Setter]" : "[Getter]") : "[Setter]"}`;
  }
  return `${label}: ${show(d ? d.value : value[key], state, depth + 1)}`;
}

function elements(value, state, depth) {
  const out = [];
  const end = Math.min(value.length, state.maxArrayLength);
  let shown = 0;
  let i = 0;
  for (; i < value.length && shown < end; shown++) {
    const from = i;
    while (i < value.length && !(i in value)) i++;
    if (i > from) out.push(`<${i - from} empty item${i - from > 1 ? "s" : ""}>`);
    else out.push(show(value[i++], state, depth + 1));
  }
  if (i < value.length) out.push(more(value.length - i));
  return out;
}

const more = (n) => `... ${n} more item${n > 1 ? "s" : ""}`;

function limited(all, size, state, text) {
  const out = [];
  for (const item of all) {
    if (out.length >= state.maxArrayLength) {
      out.push(more(size - out.length));
      break;
    }
    out.push(text(item));
  }
  return out;
}

function hex(bytes, state) {
  const shown = bytes.subarray(0, Math.min(50, state.maxArrayLength));
  const text = Array.from(shown, (b) => b.toString(16).padStart(2, "0")).join(" ");
  const left = bytes.length - shown.length;
  return left > 0 ? `${text} ... ${left} more byte${left > 1 ? "s" : ""}` : text;
}

const builtin = new Set([
  "Error",
  "EvalError",
  "RangeError",
  "ReferenceError",
  "SyntaxError",
  "TypeError",
  "URIError",
  "AggregateError",
]);

/** An error's own header and its stack, which in this engine has no header. */
function errorText(error, keys, state, depth) {
  const type = nameOf(error);
  let name = error.name !== undefined ? String(error.name) : "Error";
  if (type === "DOMException") name = `DOMException [${name}]`;
  else if (type && !Object.hasOwn(error, "name") && builtin.has(name)) name = type; // a class without a name of its own
  const message = String(error.message ?? "");
  const header = message ? `${name}: ${message}` : name;
  const stack = typeof error.stack === "string" ? error.stack.trimEnd() : "";
  let text =
    stack.startsWith(header) || (stack && !/^\s*at /.test(stack))
      ? stack
      : stack
        ? `${header}\n${stack}`
        : `[${header}]`;
  state.path.push(error);
  const inner = [];
  if (Object.hasOwn(error, "cause")) inner.push(`[cause]: ${show(error.cause, state, 1)}`);
  if (Array.isArray(error.errors)) inner.push(`[errors]: ${show(error.errors, state, 1)}`);
  state.path.pop();
  if (inner.length) text += ` {\n  ${inner.join(",\n  ")}\n}`;
  return text;
}

function functionText(fn, name) {
  const source = Function.prototype.toString.call(fn);
  if (/^class\b/.test(source)) {
    const parent = Object.getPrototypeOf(fn)?.name;
    return `[class ${fn.name || "(anonymous)"}${parent ? ` extends ${parent}` : ""}]`;
  }
  return `[${name ?? "Function"}${fn.name ? `: ${fn.name}` : " (anonymous)"}]`;
}

/** On one line if it is short and not deep, by the measures of Node.js. */
function join(prefix, [open, close], parts, state, depth) {
  if (!parts.length) return `${prefix}${open}${close}`;
  const length = parts.reduce((sum, part) => sum + part.length + 2, 0) + 2 * depth + prefix.length + open.length + 10;
  const flat =
    state.compact === true ||
    (state.compact !== false && state.deepest - depth < state.compact && length <= state.breakLength);
  const line = `${prefix}${open} ${parts.join(", ")} ${close}`;
  if (flat && !line.includes("\n")) return line;
  const pad = "  ".repeat(depth + 1);
  return `${prefix}${open}\n${pad}${rows(parts, open, pad).join(`,\n${pad}`)}\n${pad.slice(2)}${close}`;
}

/** The many short items of an array share lines. */
function rows(parts, open, pad) {
  if (open !== "[" || parts.length <= 6 || parts.some((part) => part.length > 16 || part.includes("\n"))) return parts;
  const lines = [];
  for (const part of parts) {
    const last = lines.at(-1);
    if (last !== undefined && pad.length + last.length + part.length < 76 && !part.startsWith("..."))
      lines[lines.length - 1] = `${last}, ${part}`;
    else lines.push(part);
  }
  return lines;
}

/** What console.log makes of its arguments. */
export function format(...args) {
  return formatWithOptions({}, ...args);
}

export function formatWithOptions(options, ...args) {
  let text = "";
  let next = 0;
  if (typeof args[0] === "string") {
    next = 1;
    text = args[0].replace(/%[sdifjoOc%]/g, (mark) => {
      if (mark === "%%") return args.length > 1 ? "%" : mark;
      if (next >= args.length) return mark;
      const value = args[next++];
      switch (mark) {
        case "%s":
          return plain(value, options);
        case "%d":
          return typeof value === "bigint"
            ? `${value}n`
            : typeof value === "symbol"
              ? "NaN"
              : primitive(Number(value), defaults);
        case "%i":
          return typeof value === "bigint"
            ? `${value}n`
            : typeof value === "symbol"
              ? "NaN"
              : primitive(parseInt(value, 10), defaults);
        case "%f":
          return typeof value === "symbol" ? "NaN" : primitive(parseFloat(value), defaults);
        case "%j":
          try {
            return JSON.stringify(value);
          } catch (error) {
            if (/circular/i.test(error.message)) return "[Circular]";
            throw error;
          }
        case "%o":
          return inspect(value, { ...options, showHidden: true, depth: 4 });
        case "%O":
          return inspect(value, options);
        default:
          return ""; // %c is for browsers
      }
    });
  }
  for (; next < args.length; next++) {
    if (next > 0) text += " ";
    text += typeof args[next] === "string" ? args[next] : inspect(args[next], options);
  }
  return text;
}

/** %s: an object speaks for itself only if its class says how. */
function plain(value, options) {
  if (typeof value === "string") return value;
  if (typeof value !== "object" || value === null) return primitive(value, defaults);
  const { toString } = value;
  const own = typeof toString === "function" && !Function.prototype.toString.call(toString).includes("[native code]");
  return own ? String(value) : inspect(value, { ...options, depth: 0 });
}
