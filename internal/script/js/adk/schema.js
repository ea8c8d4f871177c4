// Parameters of tools, however they are written down, as JSON Schema.
import { INVALID, compileFn, toJSONSchema, version } from "zod/v4/core";

let describeZod = toJSONSchema;

/** Takes the toJSONSchema of the application's own zod. */
export function useZod(own) {
  describeZod = own;
}

const isZod4 = (s) => s && typeof s === "object" && "_zod" in s;
const isZod3 = (s) => s && typeof s === "object" && !("_zod" in s) && typeof s._def?.typeName === "string" && typeof s.parse === "function";

export const isZod = (s) => isZod4(s) || isZod3(s);

const parsers = new WeakMap();
const notCompiled = () => INVALID;

/** What a schema makes of a value; INVALID if only the schema itself can tell. A schema
 * without functions of the author's, of the zod that is carried, is compiled for the first
 * value: zod is much of the cost of a tool otherwise. It is then asked only what is wrong
 * with a value. */
export const parse = (schema, value) => (parsers.get(schema) ?? compile(schema))(value);

function compile(schema) {
  if (!isZod(schema)) return notCompiled; // it may be nothing that a map can have as a key
  let parser = notCompiled;
  if (schema._zod?.version === version) {
    try {
      const compiled = compileFn(schema);
      if (compiled.definite) parser = compiled;
    } catch {} // zod does not compile all
  }
  parsers.set(schema, parser);
  return parser;
}

export { INVALID };

/** Whether a schema is compiled, for tests. */
export const isCompiled = (schema) => (parsers.get(schema) ?? compile(schema)) !== notCompiled;

export const emptyObject = () => ({ type: "object", properties: {} });

/** The JSON Schema of a zod object, a genai Schema, or a JSON Schema. */
export function toSchema(schema) {
  if (schema === undefined || schema === null) return undefined;
  if (isZod4(schema)) {
    const out = describeZod(schema, { io: "input", unrepresentable: "any" });
    delete out.$schema;
    return loosen(out);
  }
  if (isZod3(schema)) return loosen(zod3Document(schema));
  return fromGenai(schema);
}

const unsendable = { date: "z.string()", bigint: "z.number() or z.string()" };

/** The JSON Schema of a tool's parameters. What JSON has no form for would be
 * refused by zod whatever the model sends. */
export function toParameters(schema, tool) {
  const seen = new Set();
  const look = (one, path) => {
    const def = one?._zod?.def ?? one?._def;
    if (!def || seen.has(one)) return;
    seen.add(one);
    const type = String(def.typeName ?? def.type)
      .replace("Zod", "")
      .toLowerCase();
    if (unsendable[type] && !def.coerce) {
      throw new Error(`The tool "${tool}" has z.${type}() for ${path.join(".") || "its parameters"}, which models cannot give: use ${unsendable[type]}`);
    }
    if (type === "object") for (const [name, inner] of Object.entries(typeof def.shape === "function" ? def.shape() : def.shape)) look(inner, [...path, name]);
    look(def.innerType ?? def.element ?? (type === "array" ? def.type : undefined), path);
  };
  look(isZod(schema) ? schema : undefined, []);
  return toSchema(schema);
}

// Models invent arguments: unknown ones are for zod to judge, not for us.
function loosen(schema) {
  if (Array.isArray(schema)) return schema.map(loosen);
  if (!schema || typeof schema !== "object") return schema;
  const out = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === "additionalProperties" && value === false) continue;
    out[key] = key === "enum" || key === "const" || key === "default" ? value : loosen(value);
  }
  return out;
}

// What z.lazy refers to may contain itself, so it has a definition with a name.
let recursion;

function zod3Document(schema) {
  const before = recursion;
  const definitions = {};
  recursion = { names: new Map([[schema, "#"]]), used: new Set(), definitions, count: 0 };
  try {
    const out = fromZod3(schema);
    return Object.keys(definitions).length > 0 ? { ...out, $defs: definitions } : out;
  } finally {
    recursion = before;
  }
}

const maxLazy = 100; // getters that never give the same schema twice have no end

function fromLazy({ getter }) {
  const { names, used, definitions } = recursion;
  const schema = getter();
  const identity = getter() === schema ? schema : getter;
  if (names.has(identity)) {
    used.add(identity);
    return { $ref: names.get(identity) };
  }
  if (++recursion.count > maxLazy) return {};
  const name = `schema${recursion.count}`;
  names.set(identity, `#/$defs/${name}`);
  const out = fromZod3(schema);
  if (!used.has(identity)) {
    names.delete(identity);
    return out;
  }
  definitions[name] = out;
  return { $ref: names.get(identity) };
}

function fromZod3(schema) {
  const def = schema._def;
  const out = zod3Types[def.typeName]?.(def, schema) ?? {};
  if (schema.description && !out.description) out.description = schema.description;
  return out;
}

function checks(def, out, names) {
  for (const c of def.checks ?? []) {
    const name = names[c.kind];
    if (typeof name === "string") out[name] = c.value;
    else if (name) name(out, c);
  }
  return out;
}

const zod3Types = {
  ZodString: (def) =>
    checks(def, { type: "string" }, {
      min: "minLength",
      max: "maxLength",
      email: (o) => (o.format = "email"),
      url: (o) => (o.format = "uri"),
      uuid: (o) => (o.format = "uuid"),
      datetime: (o) => (o.format = "date-time"),
      regex: (o, c) => (o.pattern = c.regex.source),
    }),
  ZodNumber: (def) => checks(def, { type: "number" }, { min: "minimum", max: "maximum", int: (o) => (o.type = "integer") }),
  ZodBigInt: () => ({ type: "integer" }),
  ZodBoolean: () => ({ type: "boolean" }),
  ZodDate: () => ({ type: "string", format: "date-time" }),
  ZodNull: () => ({ type: "null" }),
  ZodAny: () => ({}),
  ZodUnknown: () => ({}),
  ZodLiteral: (def) => ({ const: def.value }),
  ZodEnum: (def) => ({ type: "string", enum: [...def.values] }),
  ZodNativeEnum: (def) => {
    // An enum of numbers has its names among its values, too.
    const names = Object.keys(def.values).filter((name) => typeof def.values[def.values[name]] !== "number");
    const values = names.map((name) => def.values[name]);
    return { ...(values.every((v) => typeof v === "string") && { type: "string" }), enum: values };
  },
  ZodArray: (def) => ({
    type: "array",
    items: fromZod3(def.type),
    ...(def.minLength && { minItems: def.minLength.value }),
    ...(def.maxLength && { maxItems: def.maxLength.value }),
  }),
  ZodTuple: (def) => ({ type: "array", prefixItems: def.items.map(fromZod3) }),
  ZodSet: (def) => ({ type: "array", uniqueItems: true, items: fromZod3(def.valueType) }),
  ZodRecord: (def) => ({ type: "object", additionalProperties: fromZod3(def.valueType) }),
  ZodMap: () => ({ type: "object" }),
  ZodUnion: (def) => ({ anyOf: def.options.map(fromZod3) }),
  ZodDiscriminatedUnion: (def) => ({ anyOf: [...def.options.values()].map(fromZod3) }),
  ZodIntersection: (def) => ({ allOf: [fromZod3(def.left), fromZod3(def.right)] }),
  ZodOptional: (def) => fromZod3(def.innerType),
  ZodNullable: (def) => ({ anyOf: [fromZod3(def.innerType), { type: "null" }] }),
  ZodDefault: (def) => ({ ...fromZod3(def.innerType), default: def.defaultValue() }),
  ZodCatch: (def) => fromZod3(def.innerType),
  ZodBranded: (def) => fromZod3(def.type),
  ZodReadonly: (def) => fromZod3(def.innerType),
  ZodEffects: (def) => fromZod3(def.schema),
  ZodPipeline: (def) => fromZod3(def.in),
  ZodLazy: fromLazy,
  ZodObject: (def) => {
    const out = { type: "object", properties: {}, required: [] };
    for (const [key, value] of Object.entries(def.shape())) {
      out.properties[key] = fromZod3(value);
      if (!value.isOptional()) out.required.push(key);
    }
    if (out.required.length === 0) delete out.required;
    return out;
  },
};

/** A genai Schema (types in capitals, counts as strings) as JSON Schema. JSON
 * Schema passes as it is. */
export function fromGenai(schema) {
  if (Array.isArray(schema)) return schema.map(fromGenai);
  if (!schema || typeof schema !== "object") return schema;
  const out = {};
  for (const [key, value] of Object.entries(schema)) {
    switch (key) {
      case "type":
        out.type = Array.isArray(value) ? value.map((v) => String(v).toLowerCase()) : String(value).toLowerCase();
        break;
      case "properties":
        out.properties = Object.fromEntries(Object.entries(value ?? {}).map(([k, v]) => [k, fromGenai(v)]));
        break;
      case "minItems":
      case "maxItems":
      case "minLength":
      case "maxLength":
      case "minProperties":
      case "maxProperties":
        out[key] = Number(value);
        break;
      case "nullable":
      case "propertyOrdering":
        break;
      case "items":
      case "anyOf":
      case "oneOf":
      case "allOf":
      case "not":
      case "prefixItems":
      case "additionalProperties":
      case "$defs":
        out[key] = key === "$defs" ? Object.fromEntries(Object.entries(value).map(([k, v]) => [k, fromGenai(v)])) : fromGenai(value);
        break;
      default:
        out[key] = value;
    }
  }
  if (schema.nullable && typeof out.type === "string") out.type = [out.type, "null"];
  return out;
}

const counts = ["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"];

/** A JSON Schema in Gemini's dialect: types in capitals, counts as strings. */
export function toGenai(schema) {
  if (Array.isArray(schema)) return schema.map(toGenai);
  if (!schema || typeof schema !== "object") return schema;
  const out = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === "additionalProperties") continue;
    if (key === "type" && Array.isArray(value)) out.anyOf = value.map((type) => ({ type: type.toUpperCase() }));
    else if (key === "type") out.type = value.toUpperCase();
    else if (key === "properties") out.properties = Object.fromEntries(Object.entries(value).map(([k, v]) => [k, toGenai(v)]));
    else if (counts.includes(key)) out[key] = String(value);
    else out[key] = ["items", "anyOf", "oneOf", "allOf"].includes(key) ? toGenai(value) : value;
  }
  return nullable(out);
}

// What may be null says so, instead of naming null among its types.
function nullable({ anyOf, ...rest }) {
  if (!anyOf) return rest;
  const others = anyOf.filter((s) => s.type !== "NULL");
  const flag = others.length < anyOf.length ? { nullable: true } : {};
  return others.length === 1 ? { ...others[0], ...rest, ...flag } : { ...rest, anyOf: others, ...flag };
}

/** The schema of a zod object as the official package gives it. */
export function zodObjectToSchema(schema) {
  if (!isZod(schema)) throw new Error("zodObjectToSchema needs a zod object");
  return toGenai(toSchema(schema));
}
