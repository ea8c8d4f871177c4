// Tools that are plain functions: what their arguments are, and how to hand
// them over. The parameters are read from the function's own text; their types
// and comments from the TypeScript source, which Go has looked at before it was
// compiled and registered with __signature.

const signatures = new WeakMap();

globalThis.__signature = (fn, signature) => {
  if (typeof fn === "function") signatures.set(fn, signature);
};

const contextName = /^_?(ctx|context|tool_?context|input_?stream)$/i;
const objectName = /^_?(params|args|input|parameters|options)$/;

/** The parameters of a function: [{name, pattern, fallback}], where pattern are
 * the keys of a destructured one. */
export function parametersOf(fn) {
  const text = Function.prototype.toString.call(fn).replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, " ");
  const bare = /^\s*(?:async\s+)?([\w$]+)\s*=>/.exec(text);
  if (bare) return [{ name: bare[1] }];
  const open = text.indexOf("(");
  if (open < 0) return [];
  return split(text, open + 1, ")").map(parameter).filter(Boolean);
}

// split cuts a list at its top-level commas, up to the closing bracket.
function split(text, from, close) {
  const pieces = [];
  let depth = 0;
  let start = from;
  for (let i = from; i < text.length; i++) {
    const c = text[i];
    if (c === '"' || c === "'" || c === "`") {
      for (i++; i < text.length && text[i] !== c; i++) if (text[i] === "\\") i++;
    } else if (depth === 0 && (c === close || c === ",")) {
      pieces.push(text.slice(start, i).trim());
      start = i + 1;
      if (c === close) break;
    } else if ("([{".includes(c)) depth++;
    else if (")]}".includes(c)) depth--;
  }
  return pieces.filter((p) => p !== "");
}

function parameter(text) {
  if (text.startsWith("...")) return undefined;
  if (text.startsWith("{")) {
    const pattern = split(text, 1, "}").map((p) => {
      const [, name, fallback] = /^([\w$]+)\s*(?::[^=]*)?(?:=\s*([\s\S]*))?$/.exec(p) ?? [];
      return name && { name, fallback };
    });
    return { name: "", pattern: pattern.filter(Boolean) };
  }
  const [, name, fallback] = /^([\w$]+)\s*(?:=\s*([\s\S]*))?$/.exec(text) ?? [];
  return name && { name, fallback };
}

function literal(text) {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text.replace(/^'([^']*)'$/, '"$1"'));
  } catch {
    return undefined;
  }
}

function schemaOf(p, typed) {
  const value = literal(p.fallback);
  const guess = Array.isArray(value) ? "array" : value === null || value === undefined ? "string" : typeof value;
  const schema = typed?.schema ?? { type: guess };
  return typed?.description && !schema.description ? { ...schema, description: typed.description } : schema;
}

function objectSchema(names, types) {
  const properties = {};
  const required = [];
  for (const p of names) {
    const typed = types?.find((t) => t.name === p.name);
    properties[p.name] = schemaOf(p, typed);
    if (p.fallback === undefined && !typed?.optional) required.push(p.name);
  }
  return { type: "object", properties, ...(required.length > 0 && { required }) };
}

/** Which members of its single parameter a function uses. */
function membersUsed(fn, name) {
  const text = Function.prototype.toString.call(fn);
  const used = new Set();
  const id = name.replace(/\$/g, "\\$");
  for (const m of text.matchAll(new RegExp(`\\b${id}\\s*(?:\\?\\.|\\.)\\s*([A-Za-z_$][\\w$]*)|\\b${id}\\s*\\[\\s*["']([^"']+)["']\\s*\\]`, "g"))) used.add(m[1] ?? m[2]);
  for (const m of text.matchAll(new RegExp(`\\{([^{}]*)\\}\\s*=\\s*${id}\\b`, "g"))) for (const p of split(`${m[1]}}`, 0, "}")) used.add(p.split(/[:=]/)[0].trim());
  return [...used].filter((n) => /^[\w$]+$/.test(n));
}

/** How a plain function is called as a tool. */
export function bind(fn, declared) {
  const types = signatures.get(fn);
  let params = parametersOf(fn);
  const last = params.at(-1);
  if (last && !last.pattern && (contextName.test(last.name) || types?.params?.find((t) => t.name === last.name)?.context)) params = params.slice(0, -1);
  params = params.filter((p) => p.pattern || !contextName.test(p.name));
  const description = types?.description;
  const positional = (schema) => ({ schema, description, call: (args, ctx) => fn(...params.map((p) => args?.[p.name]), ctx) });
  const asObject = (schema) => ({ schema, description, call: (args, ctx) => fn(args ?? {}, ctx) });

  const [first] = params;
  const typeOf = (p) => types?.params?.find((t) => t.name === p?.name) ?? (p?.pattern ? types?.params?.[0] : undefined);
  if (declared) {
    const schema = lower(declared);
    return first && !first.pattern && Object.hasOwn(schema.properties ?? {}, first.name) ? positional(schema) : asObject(schema);
  }
  if (!first) return asObject({ type: "object", properties: {} });
  const type = typeOf(first);
  const members = type?.schema?.type === "object" && type.schema.properties ? type.schema : undefined;
  if (first.pattern) return asObject(members ?? objectSchema(first.pattern, undefined));
  if (params.length === 1 && (objectName.test(first.name) || members || type?.schema?.type === "object")) {
    if (members) return asObject(members);
    const used = membersUsed(fn, first.name);
    if (used.length > 0) return asObject(objectSchema(used.map((name) => ({ name }))));
    if (type?.schema && type.schema.type !== "object") return positional(objectSchema(params, types?.params));
    return used.length > 0 || type ? asObject({ type: "object", properties: {} }) : positional(objectSchema(params, types?.params));
  }
  return positional(objectSchema(params, types?.params));
}

// Declarations of adk-typescript are JSON Schema, some with types in capitals.
function lower(schema) {
  if (Array.isArray(schema)) return schema.map(lower);
  if (!schema || typeof schema !== "object") return schema;
  return Object.fromEntries(Object.entries(schema).map(([k, v]) => [k, k === "type" && typeof v === "string" ? v.toLowerCase() : k === "enum" ? v : lower(v)]));
}
