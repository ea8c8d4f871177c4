import { globalRegistry } from "../core/registries.js";
import { assignProp, isPlainObject } from "../core/util.js";
import * as _checks from "./checks.js";
import * as _iso from "./iso.js";
import * as _schemas from "./schemas.js";
const z = {
..._schemas,
..._checks,
iso: _iso
}, RECOGNIZED_KEYS = /* @__PURE__ */ new Set([
// Schema identification
"$schema",
"$ref",
"$defs",
"definitions",
// Core schema keywords
"$id",
"id",
"$comment",
"$anchor",
"$vocabulary",
"$dynamicRef",
"$dynamicAnchor",
// Type
"type",
"enum",
"const",
// Composition
"anyOf",
"oneOf",
"allOf",
"not",
// Object
"properties",
"required",
"additionalProperties",
"patternProperties",
"propertyNames",
"minProperties",
"maxProperties",
// Array
"items",
"prefixItems",
"additionalItems",
"minItems",
"maxItems",
"uniqueItems",
"contains",
"minContains",
"maxContains",
// String
"minLength",
"maxLength",
"pattern",
"format",
// Number
"minimum",
"maximum",
"exclusiveMinimum",
"exclusiveMaximum",
"multipleOf",
// Already handled metadata
"description",
"default",
// Content
"contentEncoding",
"contentMediaType",
"contentSchema",
// Unsupported (error-throwing)
"unevaluatedItems",
"unevaluatedProperties",
"if",
"then",
"else",
"dependentSchemas",
"dependentRequired",
// OpenAPI
"nullable",
"readOnly"
]);
function detectVersion(schema, defaultTarget) {
const $schema = schema.$schema;
return $schema === "https://json-schema.org/draft/2020-12/schema" ? "draft-2020-12" : $schema === "http://json-schema.org/draft-07/schema#" ? "draft-7" : $schema === "http://json-schema.org/draft-04/schema#" ? "draft-4" : defaultTarget ?? "draft-2020-12";
}
function applyMinItems(items, minItems) {
return items.map((item, index) => index < minItems ? item : item.optional());
}
function decodeJSONPointerSegment(segment) {
return segment.replace(/~1/g, "/").replace(/~0/g, "~");
}
function resolveRef(ref, ctx) {
if (!ref.startsWith("#"))
throw new Error("External $ref is not supported, only local refs (#/...) are allowed");
const path = ref.slice(1).split("/").filter(Boolean);
if (path.length === 0)
return ctx.rootSchema;
const defsKey = ctx.version === "draft-2020-12" ? "$defs" : "definitions";
if (path[0] === defsKey) {
const key = path[1] === void 0 ? void 0 : decodeJSONPointerSegment(path[1]);
if (!key || !ctx.defs[key])
throw new Error(`Reference not found: ${ref}`);
return ctx.defs[key];
}
throw new Error(`Reference not found: ${ref}`);
}
function checkObjectGuards(objectSchema, guards) {
return z.transform((value) => value).check((payload) => {
const value = payload.value;
if (typeof value != "object" || value === null || Array.isArray(value))
return;
const keys = Object.getOwnPropertyNames(value);
if (guards.minProperties !== void 0 && keys.length < guards.minProperties && payload.issues.push({
origin: "object",
code: "too_small",
minimum: guards.minProperties,
inclusive: !0,
message: `Too small: expected object to have >=${guards.minProperties} properties`,
input: value,
inst: objectSchema,
continue: !0
}), guards.maxProperties !== void 0 && keys.length > guards.maxProperties && payload.issues.push({
origin: "object",
code: "too_big",
maximum: guards.maxProperties,
inclusive: !0,
message: `Too big: expected object to have <=${guards.maxProperties} properties`,
input: value,
inst: objectSchema,
continue: !0
}), guards.keySchema)
for (const key of keys) {
const result = guards.keySchema.safeParse(key);
result.success || payload.issues.push({
code: "invalid_key",
origin: "record",
issues: result.error.issues,
input: key,
path: [key],
continue: !0
});
}
}).pipe(objectSchema);
}
function canonicalKey(value, seen) {
if (value === null)
return "z";
const type = typeof value;
if (type !== "object") {
if (type === "number" && Number.isNaN(value))
return null;
const raw = String(value);
return `${type[0]}${raw.length}:${raw}`;
}
if (seen.has(value))
return null;
seen.add(value);
try {
if (Array.isArray(value)) {
const parts2 = [];
for (const item of value) {
const key = canonicalKey(item, seen);
if (key === null)
return null;
parts2.push(key);
}
return `a${parts2.length}:[${parts2.join(",")}]`;
}
const keys = Object.keys(value).sort(), parts = [];
for (const k of keys) {
const key = canonicalKey(value[k], seen);
if (key === null)
return null;
parts.push(`${k.length}:${k}=${key}`);
}
return `o${parts.length}:{${parts.join(",")}}`;
} finally {
seen.delete(value);
}
}
const SCHEMA_KEYWORDS = /* @__PURE__ */ new Set([
"items",
"prefixItems",
"additionalItems",
"additionalProperties",
"contains",
"propertyNames",
"not",
"if",
"then",
"else",
"allOf",
"anyOf",
"oneOf",
"unevaluatedItems",
"unevaluatedProperties",
"contentSchema"
]), SCHEMA_MAP_KEYWORDS = /* @__PURE__ */ new Set([
"properties",
"patternProperties",
"dependentSchemas",
"dependencies",
"$defs",
"definitions"
]);
function containsRef(value) {
return typeof value != "object" || value === null ? !1 : Array.isArray(value) ? value.some(containsRef) : typeof value.$ref == "string" ? !0 : Object.entries(value).some(([key, sub]) => SCHEMA_KEYWORDS.has(key) ? containsRef(sub) : !SCHEMA_MAP_KEYWORDS.has(key) || typeof sub != "object" || sub === null ? !1 : Object.values(sub).some(containsRef));
}
function plural(n) {
return n === 1 ? "element" : "elements";
}
function checkArrayGuards(arraySchema, guards) {
return z.transform((value) => value).check((payload) => {
const items = payload.value;
if (Array.isArray(items)) {
if (guards.uniqueItems === !0) {
const firstSeen = /* @__PURE__ */ new Map();
for (let i = 0; i < items.length; i++) {
const key = canonicalKey(items[i], /* @__PURE__ */ new Set());
if (key === null)
continue;
const first = firstSeen.get(key);
if (first === void 0) {
firstSeen.set(key, i);
continue;
}
payload.issues.push({
code: "custom",
message: `Array items must be unique: element at index ${i} duplicates the one at index ${first}`,
input: items,
path: [i],
continue: !0
});
}
}
if (guards.containsSchema) {
const minContains = guards.minContains ?? 1, ceiling = guards.maxContains !== void 0 ? guards.maxContains + 1 : Number.POSITIVE_INFINITY;
let matches = 0;
for (const item of items)
if (guards.containsSchema.safeParse(item).success && ++matches >= ceiling)
break;
matches < minContains && payload.issues.push({
code: "custom",
message: `Array must contain at least ${minContains} matching ${plural(minContains)}; found ${matches}`,
input: items,
continue: !0
}), guards.maxContains !== void 0 && matches > guards.maxContains && payload.issues.push({
code: "custom",
message: `Array must contain at most ${guards.maxContains} matching ${plural(guards.maxContains)}`,
input: items,
continue: !0
});
}
}
}).pipe(arraySchema);
}
function getTupleRest(restSchema, ctx) {
if (restSchema !== !1)
return restSchema === void 0 || restSchema === !0 ? z.any() : convertSchema(restSchema, ctx);
}
const fullTime = /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
function convertBaseSchema(schema, ctx) {
if (schema.not !== void 0) {
if (typeof schema.not == "object" && Object.keys(schema.not).length === 0)
return z.never();
throw new Error("not is not supported in Zod (except { not: {} } for never)");
}
if (schema.unevaluatedItems !== void 0)
throw new Error("unevaluatedItems is not supported");
if (schema.unevaluatedProperties !== void 0)
throw new Error("unevaluatedProperties is not supported");
if (schema.if !== void 0 || schema.then !== void 0 || schema.else !== void 0)
throw new Error("Conditional schemas (if/then/else) are not supported");
if (schema.dependentSchemas !== void 0 || schema.dependentRequired !== void 0)
throw new Error("dependentSchemas and dependentRequired are not supported");
if (schema.$ref) {
const refPath = schema.$ref;
if (ctx.refs.has(refPath))
return ctx.refs.get(refPath);
if (ctx.processing.has(refPath))
return z.lazy(() => {
if (!ctx.refs.has(refPath))
throw new Error(`Circular reference not resolved: ${refPath}`);
return ctx.refs.get(refPath);
});
ctx.processing.add(refPath);
const resolved = resolveRef(refPath, ctx), zodSchema2 = convertSchema(resolved, ctx);
return ctx.refs.set(refPath, zodSchema2), ctx.processing.delete(refPath), zodSchema2;
}
if (schema.enum !== void 0) {
const enumValues = schema.enum;
if (ctx.version === "openapi-3.0" && schema.nullable === !0 && enumValues.length === 1 && enumValues[0] === null)
return z.null();
if (enumValues.length === 0)
return z.never();
if (enumValues.length === 1)
return z.literal(enumValues[0]);
if (enumValues.every((v) => typeof v == "string"))
return z.enum(enumValues);
const literalSchemas = enumValues.map((v) => z.literal(v));
return literalSchemas.length < 2 ? literalSchemas[0] : z.union([literalSchemas[0], literalSchemas[1], ...literalSchemas.slice(2)]);
}
if (schema.const !== void 0)
return z.literal(schema.const);
const type = schema.type;
if (Array.isArray(type)) {
const typeSchemas = type.map((t) => {
const typeSchema = { ...schema, type: t };
return convertBaseSchema(typeSchema, ctx);
});
return typeSchemas.length === 0 ? z.never() : typeSchemas.length === 1 ? typeSchemas[0] : z.union(typeSchemas);
}
if (!type)
return z.any();
let zodSchema;
switch (type) {
case "string": {
let stringSchema = z.string();
if (schema.format) {
const format = schema.format;
format === "email" ? stringSchema = stringSchema.check(z.email()) : format === "uri" || format === "uri-reference" ? stringSchema = stringSchema.check(z.url()) : format === "uuid" || format === "guid" ? stringSchema = stringSchema.check(z.uuid()) : format === "date-time" ? stringSchema = stringSchema.check(z.iso.datetime({ offset: !0 })) : format === "date" ? stringSchema = stringSchema.check(z.iso.date()) : format === "time" ? stringSchema = stringSchema.check(z.regex(fullTime)) : format === "duration" ? stringSchema = stringSchema.check(z.iso.duration()) : format === "hostname" ? stringSchema = stringSchema.check(z.hostname()) : format === "ipv4" ? stringSchema = stringSchema.check(z.ipv4()) : format === "ipv6" ? stringSchema = stringSchema.check(z.ipv6()) : format === "mac" ? stringSchema = stringSchema.check(z.mac()) : format === "cidr" ? stringSchema = stringSchema.check(z.cidrv4()) : format === "cidr-v6" ? stringSchema = stringSchema.check(z.cidrv6()) : format === "base64" ? stringSchema = stringSchema.check(z.base64()) : format === "base64url" ? stringSchema = stringSchema.check(z.base64url()) : format === "e164" ? stringSchema = stringSchema.check(z.e164()) : format === "credit_card" ? stringSchema = stringSchema.check(z.creditCard()) : format === "iban" ? stringSchema = stringSchema.check(z.iban()) : format === "jwt" ? stringSchema = stringSchema.check(z.jwt()) : format === "emoji" ? stringSchema = stringSchema.check(z.emoji()) : format === "nanoid" ? stringSchema = stringSchema.check(z.nanoid()) : format === "cuid" ? stringSchema = stringSchema.check(z.cuid()) : format === "cuid2" ? stringSchema = stringSchema.check(z.cuid2()) : format === "ulid" ? stringSchema = stringSchema.check(z.ulid()) : format === "xid" ? stringSchema = stringSchema.check(z.xid()) : format === "ksuid" && (stringSchema = stringSchema.check(z.ksuid()));
}
typeof schema.minLength == "number" && (stringSchema = stringSchema.min(schema.minLength)), typeof schema.maxLength == "number" && (stringSchema = stringSchema.max(schema.maxLength)), schema.pattern && (stringSchema = stringSchema.regex(new RegExp(schema.pattern))), zodSchema = stringSchema;
break;
}
case "number":
case "integer": {
let numberSchema = type === "integer" ? z.number().int() : z.number();
typeof schema.minimum == "number" && schema.exclusiveMinimum !== !0 && (numberSchema = numberSchema.min(schema.minimum)), typeof schema.maximum == "number" && schema.exclusiveMaximum !== !0 && (numberSchema = numberSchema.max(schema.maximum)), typeof schema.exclusiveMinimum == "number" ? numberSchema = numberSchema.gt(schema.exclusiveMinimum) : schema.exclusiveMinimum === !0 && typeof schema.minimum == "number" && (numberSchema = numberSchema.gt(schema.minimum)), typeof schema.exclusiveMaximum == "number" ? numberSchema = numberSchema.lt(schema.exclusiveMaximum) : schema.exclusiveMaximum === !0 && typeof schema.maximum == "number" && (numberSchema = numberSchema.lt(schema.maximum)), typeof schema.multipleOf == "number" && (numberSchema = numberSchema.multipleOf(schema.multipleOf)), zodSchema = numberSchema;
break;
}
case "boolean": {
zodSchema = z.boolean();
break;
}
case "null": {
zodSchema = z.null();
break;
}
case "object": {
const shape = {}, properties = schema.properties || {}, requiredSet = new Set(schema.required || []), additionalSchema = typeof schema.additionalProperties == "object" ? convertSchema(schema.additionalProperties, ctx) : void 0;
for (const [key, propSchema] of Object.entries(properties)) {
const propZodSchema = convertSchema(propSchema, ctx);
assignProp(shape, key, requiredSet.has(key) ? propZodSchema : propZodSchema.optional());
}
if (schema.patternProperties) {
const patternProps = schema.patternProperties, patternKeys = Object.keys(patternProps), looseRecords = [];
for (const pattern of patternKeys) {
const patternValue = convertSchema(patternProps[pattern], ctx), keySchema = z.string().regex(new RegExp(pattern));
looseRecords.push(z.looseRecord(keySchema, patternValue));
}
const schemasToIntersect = [];
if (Object.keys(shape).length > 0 && schemasToIntersect.push(z.object(shape).passthrough()), schemasToIntersect.push(...looseRecords), schemasToIntersect.length === 0)
zodSchema = z.object({}).passthrough();
else if (schemasToIntersect.length === 1)
zodSchema = schemasToIntersect[0];
else {
let result = z.intersection(schemasToIntersect[0], schemasToIntersect[1]);
for (let i = 2; i < schemasToIntersect.length; i++)
result = z.intersection(result, schemasToIntersect[i]);
zodSchema = result;
}
if (schema.additionalProperties === !1) {
const propertyKeys = Object.keys(shape), patterns = patternKeys.map((p) => new RegExp(p)), basePatternSchema = zodSchema;
zodSchema = zodSchema.check((payload) => {
if (!isPlainObject(payload.value))
return;
const unrecognized = [];
for (const key of Object.keys(payload.value))
propertyKeys.includes(key) || patterns.some((regex) => regex.test(key)) || unrecognized.push(key);
unrecognized.length && payload.issues.push({
code: "unrecognized_keys",
keys: unrecognized,
input: payload.value,
inst: basePatternSchema
});
});
}
} else {
const objectSchema = z.object(shape);
schema.additionalProperties === !1 ? zodSchema = objectSchema.strict() : additionalSchema ? zodSchema = objectSchema.catchall(additionalSchema) : zodSchema = objectSchema.passthrough();
}
const hasKeyGuard = schema.propertyNames !== void 0 && schema.propertyNames !== !0, minProperties = typeof schema.minProperties == "number" ? schema.minProperties : void 0, maxProperties = typeof schema.maxProperties == "number" ? schema.maxProperties : void 0;
if (hasKeyGuard || minProperties !== void 0 || maxProperties !== void 0) {
let keySchema;
if (hasKeyGuard) {
const keyJSONSchema = typeof schema.propertyNames == "object" && schema.propertyNames.type === void 0 ? { type: "string", ...schema.propertyNames } : schema.propertyNames;
keySchema = convertSchema(keyJSONSchema, ctx);
}
zodSchema = checkObjectGuards(zodSchema, { keySchema, minProperties, maxProperties });
}
break;
}
case "array": {
const prefixItems = schema.prefixItems, items = schema.items;
if (prefixItems && Array.isArray(prefixItems)) {
const minItems = typeof schema.minItems == "number" ? schema.minItems : 0, tupleItems = prefixItems.map((item) => convertSchema(item, ctx)), positionalItems = applyMinItems(tupleItems, minItems), rest = Array.isArray(items) ? void 0 : getTupleRest(items, ctx), tupleSchema = z.tuple(positionalItems);
zodSchema = rest ? tupleSchema.rest(rest) : tupleSchema, typeof schema.minItems == "number" && (zodSchema = zodSchema.check(z.minLength(schema.minItems))), typeof schema.maxItems == "number" && (zodSchema = zodSchema.check(z.maxLength(schema.maxItems)));
} else if (Array.isArray(items)) {
const minItems = typeof schema.minItems == "number" ? schema.minItems : 0, tupleItems = items.map((item) => convertSchema(item, ctx)), positionalItems = applyMinItems(tupleItems, minItems), rest = getTupleRest(schema.additionalItems, ctx), tupleSchema = z.tuple(positionalItems);
zodSchema = rest ? tupleSchema.rest(rest) : tupleSchema, typeof schema.minItems == "number" && (zodSchema = zodSchema.check(z.minLength(schema.minItems))), typeof schema.maxItems == "number" && (zodSchema = zodSchema.check(z.maxLength(schema.maxItems)));
} else if (items !== void 0) {
const element = convertSchema(items, ctx);
let arraySchema = z.array(element);
typeof schema.minItems == "number" && (arraySchema = arraySchema.min(schema.minItems)), typeof schema.maxItems == "number" && (arraySchema = arraySchema.max(schema.maxItems)), zodSchema = arraySchema;
} else
zodSchema = z.array(z.any());
(schema.uniqueItems === !0 || schema.contains !== void 0) && (zodSchema = checkArrayGuards(zodSchema, {
uniqueItems: schema.uniqueItems === !0,
containsSchema: schema.contains !== void 0 ? convertSchema(schema.contains, ctx) : void 0,
minContains: typeof schema.minContains == "number" ? schema.minContains : void 0,
maxContains: typeof schema.maxContains == "number" ? schema.maxContains : void 0
}));
break;
}
default:
throw new Error(`Unsupported type: ${type}`);
}
return zodSchema;
}
function convertSchema(schema, ctx) {
if (typeof schema == "boolean")
return schema ? z.any() : z.never();
let baseSchema = convertBaseSchema(schema, ctx);
const hasExplicitType = schema.type || schema.enum !== void 0 || schema.const !== void 0;
if (schema.anyOf && Array.isArray(schema.anyOf)) {
const options = schema.anyOf.map((s) => convertSchema(s, ctx)), anyOfUnion = z.union(options);
baseSchema = hasExplicitType ? z.intersection(baseSchema, anyOfUnion) : anyOfUnion;
}
if (schema.oneOf && Array.isArray(schema.oneOf)) {
const options = schema.oneOf.map((s) => convertSchema(s, ctx)), oneOfUnion = z.xor(options);
baseSchema = hasExplicitType ? z.intersection(baseSchema, oneOfUnion) : oneOfUnion;
}
if (schema.allOf && Array.isArray(schema.allOf))
if (schema.allOf.length === 0)
baseSchema = hasExplicitType ? baseSchema : z.any();
else {
let result = hasExplicitType ? baseSchema : convertSchema(schema.allOf[0], ctx);
const startIdx = hasExplicitType ? 0 : 1;
for (let i = startIdx; i < schema.allOf.length; i++)
result = z.intersection(result, convertSchema(schema.allOf[i], ctx));
baseSchema = result;
}
schema.nullable === !0 && ctx.version === "openapi-3.0" && (baseSchema = z.nullable(baseSchema)), schema.readOnly === !0 && (baseSchema = z.readonly(baseSchema)), schema.default !== void 0 && (baseSchema = baseSchema.default(schema.default));
const extraMeta = {}, coreMetadataKeys = ["$id", "id", "$comment", "$anchor", "$vocabulary", "$dynamicRef", "$dynamicAnchor"];
for (const key of coreMetadataKeys)
key in schema && (extraMeta[key] = schema[key]);
const contentMetadataKeys = ["contentEncoding", "contentMediaType", "contentSchema"];
for (const key of contentMetadataKeys)
key in schema && (extraMeta[key] = schema[key]);
if (schema.type === "object" && schema.$ref === void 0) {
schema.propertyNames !== void 0 && !containsRef(schema.propertyNames) && (extraMeta.propertyNames = schema.propertyNames);
for (const key of ["minProperties", "maxProperties"])
schema[key] !== void 0 && (extraMeta[key] = schema[key]);
}
if (schema.type === "array" && schema.$ref === void 0) {
schema.contains !== void 0 && !containsRef(schema.contains) && (extraMeta.contains = schema.contains);
for (const key of ["uniqueItems", "minContains", "maxContains"])
schema[key] !== void 0 && (extraMeta[key] = schema[key]);
}
for (const key of Object.keys(schema))
RECOGNIZED_KEYS.has(key) || assignProp(extraMeta, key, schema[key]);
return Object.keys(extraMeta).length > 0 && ctx.registry.add(baseSchema, extraMeta), schema.description && (baseSchema = baseSchema.describe(schema.description)), baseSchema;
}
export function fromJSONSchema(schema, params) {
if (typeof schema == "boolean")
return schema ? z.any() : z.never();
let normalized;
try {
normalized = JSON.parse(JSON.stringify(schema));
} catch {
throw new Error("fromJSONSchema input is not valid JSON (possibly cyclic); use $defs/$ref for recursive schemas");
}
const version = detectVersion(normalized, params?.defaultTarget), defs = normalized.$defs || normalized.definitions || {}, ctx = {
version,
defs,
refs: /* @__PURE__ */ new Map(),
processing: /* @__PURE__ */ new Set(),
rootSchema: normalized,
registry: params?.registry ?? globalRegistry
};
return convertSchema(normalized, ctx);
}
