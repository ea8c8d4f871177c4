// Tools that are plain functions: what their arguments are, and how to hand
// them over. Names, types and comments are those of the source, which Go has
// looked at before it was compiled and registered with __signature. The rest is
// read from the function's own text, in which the bundler may have changed
// names: city becomes city2 where another module has a city.
import { toSchema } from "./schema.js";

const signatures = new WeakMap();

globalThis.__signature = (fn, signature) => {
  if (typeof fn === "function") signatures.set(fn, signature);
};

const contextName = /^_*(ctx|context|tool_?context)\d*$/i;
const streamName = /^_*input_?stream\d*$/i;
const objectName = /^_*(params|args|input|parameters|options)\d*$/;
const contextMembers = ["state", "actions", "eventActions", "session", "agentName", "invocationId", "functionCallId", "toolConfirmation", "userContent", "invocationContext"];
const contextMethods = ["saveArtifact", "loadArtifact", "listArtifacts", "searchMemory", "addSessionToMemory", "requestCredential", "getAuthResponse", "loadCredential", "dropCredential", "requestConfirmation"];

/** How a plain function is called as a tool, and what it declares. A signature
 * is registered at the end of its module, when the tool may be made already: so
 * it is looked for as late as possible. */
export function bind(fn, declared) {
  let plan;
  let known;
  const current = () => {
    const signature = signatures.get(fn);
    if (!plan || signature !== known) {
      known = signature;
      plan = declared ? explicit(fn, signature, declared) : derived(fn, signature);
    }
    return plan;
  };
  return {
    get schema() {
      return current().schema;
    },
    get description() {
      return signatures.get(fn)?.description;
    },
    call: (args, ctx) => fn(...values(current().params, args ?? {}, ctx)),
  };
}

// values are the arguments of one call. A context that no parameter is known to
// take comes last.
function values(params, args, ctx) {
  const list = params.flatMap((p) => {
    if (p.role === "context") return [ctx];
    if (p.role === "none") return [undefined];
    if (p.role === "all") return [withDefaults(revive(args, p.schema), p.keys)];
    const value = revive(args[p.key], p.schema);
    if (p.rest) return Array.isArray(value) ? value : value === undefined ? [] : [value];
    return [value === null && leftOut(p) ? undefined : value];
  });
  if (params.length === 0) list.push(args);
  if (!params.some((p) => p.role === "context" || p.rest)) list.push(ctx);
  return list;
}

// Models say null for what they leave out; a default is for undefined only.
const leftOut = (p) => p.fallback !== undefined || (p.optional && typeof p.schema?.type === "string" && p.schema.type !== "null");

function withDefaults(args, keys) {
  const left = keys?.filter((k) => k.fallback !== undefined && args[k.name] === null) ?? [];
  return left.length === 0 ? args : { ...args, ...Object.fromEntries(left.map((k) => [k.name, undefined])) };
}

// JSON has no dates and no big integers. Only a Date and a bigint of the source
// have these formats.
function revive(value, schema) {
  if (!schema || value === null || value === undefined) return value;
  if (schema.format === "date-time" && typeof value === "string") {
    const date = new Date(value);
    return Number.isNaN(date.getTime()) ? value : date;
  }
  if (schema.format === "int64" && Number.isInteger(Number(value)) && value !== "") return BigInt(value);
  if (Array.isArray(value)) return schema.items ? value.map((v) => revive(v, schema.items)) : value;
  if (typeof value !== "object" || !schema.properties) return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, revive(v, schema.properties[k])]));
}

/** The parameters of a function with the role that each plays: it takes the
 * context, all arguments in one object, the argument of that name, or none. */
function roles(fn, signature, properties) {
  const own = parametersOf(fn);
  const types = signature?.params?.length === own.length ? signature.params : [];
  return own.map((p, i) => {
    const type = types[i] ?? {};
    const out = { ...p, schema: type.schema, description: type.description, optional: type.optional, typed: types.length > 0 };
    out.local = p.name; // as the text has it
    out.name = out.key = type.name || p.name;
    out.role = "argument";
    const unknown = !type.schema || Object.keys(type.schema).length === 0;
    if (type.context) out.role = "context";
    else if (type.skip || isFunction(p.fallback)) out.role = "none";
    else if (Object.hasOwn(properties ?? {}, out.name)) out.role = "argument";
    else if (contextName.test(out.name)) out.role = "context";
    else if (streamName.test(out.name)) out.role = "none";
    else if (unknown && i === own.length - 1 && takesContext(fn, p, i)) out.role = "context";
    else if (p.rest && unknown) out.role = "rest"; // of whatever is handed over
    return out;
  }).filter((p) => p.role !== "rest");
}

// A last parameter that nothing is known about takes the context if the function
// uses it so. The first may be data that looks a little like it.
function takesContext(fn, p, index) {
  if (p.keys) return index > 0 && p.keys.length > 0 && p.keys.every((k) => contextMembers.includes(k.name) || contextMethods.includes(k.name));
  if (!p.name || p.rest || objectName.test(p.name)) return false;
  const dot = "\\s*(?:\\?\\.|\\.)\\s*";
  const members = [`state${dot}(?:get|set|has|update|toRecord)\\s*\\(`, `(?:${contextMethods.join("|")})\\s*\\(`];
  if (index > 0) members.push(`state\\s*\\[\\s*["'\`]`, `(?:actions|eventActions|session|invocationContext)${dot}`, "(?:agentName|invocationId|functionCallId)\\b");
  return new RegExp(`${mention(p.name)}${dot}(?:${members.join("|")})`).test(textOf(fn));
}

// The author has declared the arguments, and the function takes them by name or
// as one object: the names tell.
function explicit(fn, signature, declared) {
  const schema = { type: "object", ...toSchema(declared) };
  const properties = (schema.properties ??= {});
  const params = roles(fn, signature, properties);
  const args = params.filter((p) => p.role === "argument");
  const found = args.map((p) => (p.keys ? undefined : keyFor(p, Object.keys(properties))));
  const byName = found.some(Boolean) && (found[0] !== undefined || !objectName.test(args[0].name));
  // Names that have nothing to do with the declared ones, but types that no
  // object fits: the order must be that of the declaration.
  const inOrder = !byName && args.some((p) => p.schema?.type && p.schema.type !== "object");
  args.forEach((p, i) => {
    const key = byName ? found[i] : inOrder ? Object.keys(properties)[i] : undefined;
    if (key !== undefined) p.key = key;
    else if (p.keys || (!byName && !inOrder && i === 0)) p.role = "all";
    else p.role = p.fallback === undefined && p === params.at(-1) && !params.some((q) => q.role === "context") ? "context" : "none";
  });
  return { schema, params };
}

const bare = (name) => name.replace(/[_-]/g, "").toLowerCase();

function keyFor(p, keys) {
  if (keys.includes(p.name)) return p.name;
  const original = p.typed ? p.name : p.name.replace(/\d+$/, "");
  return keys.find((k) => k === original) ?? keys.find((k) => bare(k) === bare(original));
}

// Nothing is declared but by the function itself.
function derived(fn, signature) {
  const params = roles(fn, signature);
  const args = params.filter((p) => p.role === "argument");
  for (const p of args) {
    if (p.keys) p.whole = patternSchema(p);
    else if (args.length === 1) p.whole = wholeSchema(fn, p);
    if (p.whole) {
      p.role = "all";
      p.schema = p.whole;
    } else if (!p.name) p.role = "none"; // an array pattern has no name to go by
  }
  const parts = args.filter((p) => p.role !== "none").map((p) => p.whole ?? objectSchema([p]));
  return { schema: parts.length === 1 ? parts[0] : merged(parts), params };
}

function merged(parts) {
  const required = parts.flatMap((s) => s.required ?? []);
  return { type: "object", properties: Object.assign({}, ...parts.map((s) => s.properties)), ...(required.length > 0 && { required }) };
}

// The schema of all arguments, when a single parameter takes them as an object;
// undefined when it is just a value.
function wholeSchema(fn, p) {
  const type = p.schema;
  const isObject = [type?.type].flat().includes("object");
  const unknown = !type || Object.keys(type).length === 0;
  if (p.rest || (!isObject && !unknown)) return undefined;
  if (isObject && type.properties) return { ...type, type: "object" };
  if (!isObject && !type && !objectName.test(p.name)) return undefined;
  const used = membersUsed(fn, p.local).map((m) => ({ ...m, schema: typeOfMembers(type) }));
  if (used.length > 0) return objectSchema(used);
  return isObject ? { ...type, type: "object", properties: {} } : undefined;
}

// What a Record says about each of its members, if that is something.
const typeOfMembers = (type) => (Object.keys(type?.additionalProperties ?? {}).length > 0 ? type.additionalProperties : undefined);

function patternSchema(p) {
  const type = p.schema ?? {};
  const keys = objectSchema(p.keys.map((k) => ({ ...k, schema: type.properties?.[k.name] ?? typeOfMembers(type) })));
  if (!type.properties) return keys;
  const optional = p.keys.filter((k) => k.fallback !== undefined).map((k) => k.name);
  const added = (keys.required ?? []).filter((name) => !Object.hasOwn(type.properties, name));
  const required = [...(type.required ?? []), ...added].filter((name) => !optional.includes(name));
  const { required: _, ...rest } = type;
  return { ...rest, type: "object", properties: { ...type.properties, ...keys.properties }, ...(required.length > 0 && { required }) };
}

function objectSchema(list) {
  const properties = {};
  const required = [];
  for (const p of list) {
    const value = literal(p.fallback);
    properties[p.name] = {
      ...(p.schema ?? guess(p.fallback)),
      ...(p.description && { description: p.description }),
      ...(value !== undefined && typeof value !== "object" && { default: value }),
    };
    if (p.fallback === undefined && !p.optional && !p.rest) required.push(p.name);
  }
  return { type: "object", properties, ...(required.length > 0 && { required }) };
}

// isFunction tells whether a default value is one, which the bundler may have
// given its name.
function isFunction(fallback = "") {
  const text = fallback.replace(/^__name\d*\(/, "").replace(/^async\s*(?=[\p{ID_Start}$_(])/u, "");
  if (/^(?:function|class)\b|^[\p{ID_Start}$_][\p{ID_Continue}$]*\s*=>/u.test(text)) return true;
  return text.startsWith("(") && /^\)\s*=>/.test(text.slice(pieces(text, 1).end));
}

// guess tells a type from a default value; without one it is a text.
function guess(fallback) {
  const value = literal(fallback);
  if (Array.isArray(value)) return { type: "array", items: { type: value.length > 0 && value[0] !== null ? typeof value[0] : "string" } };
  if (value !== undefined && value !== null) return { type: typeof value };
  const text = fallback ?? "";
  if (text.startsWith("[")) return { type: "array", items: { type: "string" } };
  if (text.startsWith("{")) return { type: "object" };
  if (text.startsWith("!")) return { type: "boolean" };
  return { type: /^[-+(]*\d[\d\s+\-*/%().e_]*$/.test(text) ? "number" : "string" };
}

function literal(text) {
  if (text === undefined) return undefined;
  try {
    if (/^-?\d[\d_]*(\.\d+)?(e[-+]?\d+)?$/i.test(text)) return Number(text.replace(/_/g, ""));
    if (/^'[^'"\\]*'$|^`[^`"\\$]*`$/.test(text)) return text.slice(1, -1);
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const textOf = (fn) => Function.prototype.toString.call(fn);

// mention is a pattern for a name that is not part of another name, and not a member.
const mention = (name) => `(?<![\\w$.])${name.replace(/\$/g, "\\$")}`;

/** Which members of a parameter a function reads. One that is called is not
 * data, and a length alone is that of a text or a list. */
function membersUsed(fn, name) {
  const text = textOf(fn);
  const id = mention(name);
  const used = new Map();
  const add = (key, fallback) => used.set(key, { name: key, fallback: used.get(key)?.fallback ?? fallback });
  const value = `(?:\\?\\?|\\|\\|)\\s*("[^"\\n]*"|'[^'\\n]*'|-?\\d[\\d.]*|true|false|\\[\\])`;
  for (const m of text.matchAll(new RegExp(`${id}\\s*(?:\\?\\.|\\.)\\s*([\\p{ID_Start}$_][\\p{ID_Continue}$]*)\\s*(?:((?:\\?\\.)?\\()|${value})?`, "gu"))) if (!m[2]) add(m[1], m[3]);
  for (const m of text.matchAll(new RegExp(`${id}\\s*(?:\\?\\.)?\\[\\s*(["'\`])([^"'\`$]+)\\1\\s*\\]\\s*(?:${value})?`, "gu"))) add(m[2], m[3]);
  for (const m of text.matchAll(new RegExp(`\\}\\s*=\\s*${name.replace(/\$/g, "\\$")}(?![\\w$])(?!\\s*(?:\\.(?!\\.)|\\[|\\(|\\?\\.))`, "gu"))) {
    for (const key of keysOf(text.slice(opening(text, m.index)))) add(key.name, key.fallback);
  }
  if (used.size === 1 && used.has("length")) return [];
  return [...used.values()];
}

// opening is where the brace is opened that is closed at i.
function opening(text, i) {
  for (let depth = 0; i > 0; i--) {
    if (text[i] === "}") depth++;
    else if (text[i] === "{" && --depth === 0) break;
  }
  return i;
}

/** The parameters of a function: [{name, fallback, rest, keys}]. A destructured
 * one has no name but keys, each with a name and a fallback. */
export function parametersOf(fn) {
  const text = textOf(fn);
  if (/\{\s*\[native code\]\s*\}\s*$/.test(text)) return [];
  const single = /^\s*(?:async\s+)?([\p{ID_Start}$_][\p{ID_Continue}$]*)\s*=>/u.exec(text);
  if (single) return [{ name: single[1] }];
  const computed = /^\s*(?:async\s*)?\*?\s*\[/.exec(text); // ["a(b)"](c) {}
  const open = text.indexOf("(", computed ? pieces(text, computed[0].length).end : 0);
  return open < 0 ? [] : pieces(text, open + 1).list.map(parameter);
}

function parameter(text) {
  if (text.startsWith("...")) return { ...parameter(text.slice(3).trim()), rest: true };
  if (text.startsWith("{")) return { name: "", keys: keysOf(text), fallback: fallbackOf(text.slice(pieces(text, 1).end + 1)) };
  if (text.startsWith("[")) return { name: "", fallback: fallbackOf(text.slice(pieces(text, 1).end + 1)) };
  const [, name, rest] = /^([\p{ID_Start}$_][\p{ID_Continue}$]*)([^]*)$/u.exec(text) ?? [, "", ""];
  return { name, fallback: fallbackOf(rest) };
}

const fallbackOf = (text) => /^\s*=\s*([^]*)$/.exec(text)?.[1];

// keysOf are the keys of a destructuring pattern.
function keysOf(text) {
  return pieces(text, 1).list.flatMap((piece) => {
    const [, word, quoted, rest] = /^(?:([\p{ID_Start}$_][\p{ID_Continue}$]*)|["']([^"']*)["'])\s*([^]*)$/u.exec(piece) ?? [];
    if (word === undefined && quoted === undefined) return [];
    if (!rest.startsWith(":")) return [{ name: word ?? quoted, fallback: fallbackOf(rest) }];
    return [{ name: word ?? quoted, fallback: parameter(rest.slice(1).trim()).fallback }];
  });
}

// pieces cuts what a bracket encloses at its commas, and drops the comments; it
// begins behind the bracket.
function pieces(text, from) {
  const list = [];
  let piece = "";
  let depth = 0;
  let i = from;
  for (; i < text.length; i++) {
    const c = text[i];
    const end = literalEnd(text, i, piece);
    if (end > i) {
      piece += c === "/" && (text[i + 1] === "/" || text[i + 1] === "*") ? " " : text.slice(i, end);
      i = end - 1;
      continue;
    }
    if (")]}".includes(c) && depth-- === 0) break;
    if (depth === 0 && c === ",") {
      list.push(piece.trim());
      piece = "";
      continue;
    }
    if ("([{".includes(c)) depth++;
    piece += c;
  }
  if (piece.trim() !== "") list.push(piece.trim());
  return { list, end: i };
}

// literalEnd is the end of the string, template, comment or regular expression
// that begins at i; i if none does.
function literalEnd(text, i, before) {
  const c = text[i];
  const until = (close) => {
    let inClass = false;
    for (let j = i + 1; j < text.length; j++) {
      if (text[j] === "\\") j++;
      else if (close === "`" && text.startsWith("${", j)) j = pieces(text, j + 2).end;
      else if (close === "/" && text[j] === "[") inClass = true;
      else if (close === "/" && text[j] === "]") inClass = false;
      else if (text[j] === close && !inClass) return j + 1;
    }
    return text.length;
  };
  const find = (end) => {
    const at = text.indexOf(end, i + 2);
    return at < 0 ? text.length : at + end.length;
  };
  if (c === '"' || c === "'" || c === "`") return until(c);
  if (c !== "/") return i;
  if (text[i + 1] === "/") return find("\n");
  if (text[i + 1] === "*") return find("*/");
  return /(?:^|[=(,:?[{!&|+\-*%<>;])\s*$/.test(before) ? until("/") : i;
}
