import { globalConfig } from "./core.js";
export function assertEqual(val) {
return val;
}
export function assertNotEqual(val) {
return val;
}
export function toZod() {
return (schema) => schema;
}
export function assertIs(_arg) {
}
export function assertNever(_x) {
throw new Error("Unexpected value in exhaustive check");
}
export function assert(_) {
}
export function getEnumValues(entries) {
const numericValues = Object.values(entries).filter((v) => typeof v == "number");
return Object.entries(entries).filter(([k, _]) => numericValues.indexOf(+k) === -1).map(([_, v]) => v);
}
export function joinValues(array, separator = "|") {
return array.map((val) => stringifyPrimitive(val)).join(separator);
}
export function jsonStringifyReplacer(_, value) {
return typeof value == "bigint" ? value.toString() : value;
}
class Cached {
constructor(getter) {
this._getter = getter, this._value = void 0;
}
get value() {
const getter = this._getter;
return getter !== void 0 && (this._value = getter(), this._getter = void 0), this._value;
}
}
export function cached(getter) {
return new Cached(getter);
}
export function nullish(input) {
return input == null;
}
export function cleanRegex(source) {
const start = source.startsWith("^") ? 1 : 0, end = source.endsWith("$") ? source.length - 1 : source.length;
return source.slice(start, end);
}
export function floatSafeRemainder(val, step) {
const ratio = val / step, roundedRatio = Math.round(ratio), tolerance = 4 * Number.EPSILON * Math.max(Math.abs(ratio), 1);
return Math.abs(ratio - roundedRatio) < tolerance ? 0 : ratio - roundedRatio;
}
const EVALUATING = /* @__PURE__ */ Symbol("evaluating");
export function defineLazy(object, key, getter) {
let value;
Object.defineProperty(object, key, {
get() {
if (value !== EVALUATING)
return value === void 0 && (value = EVALUATING, value = getter()), value;
},
set(v) {
Object.defineProperty(object, key, {
value: v
// configurable: true,
});
},
configurable: !0
});
}
export function objectClone(obj) {
return Object.create(Object.getPrototypeOf(obj), Object.getOwnPropertyDescriptors(obj));
}
export function assignProp(target, prop, value) {
Object.defineProperty(target, prop, {
value,
writable: !0,
enumerable: !0,
configurable: !0
});
}
export function rawShape(def) {
const desc = Object.getOwnPropertyDescriptor(def, "shape");
return desc?.get ? desc.get.raw : desc?.value;
}
function sourceShape(schema) {
return rawShape(schema._zod.def) ?? schema._zod.def.shape;
}
function deferProp(target, key, getter) {
Object.defineProperty(target, key, {
get() {
const value = getter();
return assignProp(this, key, value), value;
},
enumerable: !0,
configurable: !0
});
}
function putProp(target, key, value) {
key in target ? assignProp(target, key, value) : target[key] = value;
}
function mirrorShape(target, source, keys, wrap) {
const raw = sourceShape(source);
for (const key of keys) {
const desc = Object.getOwnPropertyDescriptor(raw, key);
desc.enumerable && (desc.get ? deferProp(target, key, () => {
const value = source._zod.def.shape[key];
return wrap ? wrap(value, key) : value;
}) : putProp(target, key, wrap ? wrap(desc.value, key) : desc.value));
}
}
function mirrorProps(target, source) {
for (const key of Reflect.ownKeys(source)) {
const desc = Object.getOwnPropertyDescriptor(source, key);
desc.enumerable && (desc.get ? deferProp(target, key, () => source[key]) : putProp(target, key, desc.value));
}
}
export function mergeDefs(...defs) {
const mergedDescriptors = {};
for (const def of defs) {
const descriptors = Object.getOwnPropertyDescriptors(def);
Object.assign(mergedDescriptors, descriptors);
}
return Object.defineProperties({}, mergedDescriptors);
}
export function cloneDef(schema) {
return mergeDefs(schema._zod.def);
}
export function getElementAtPath(obj, path) {
return path ? path.reduce((acc, key) => acc?.[key], obj) : obj;
}
export function promiseAllObject(promisesObj) {
const keys = Object.keys(promisesObj), promises = keys.map((key) => promisesObj[key]);
return Promise.all(promises).then((results) => {
const resolvedObj = {};
for (let i = 0; i < keys.length; i++)
resolvedObj[keys[i]] = results[i];
return resolvedObj;
});
}
export function randomString(length = 10) {
const chars = "abcdefghijklmnopqrstuvwxyz";
let str = "";
for (let i = 0; i < length; i++)
str += chars[Math.floor(Math.random() * chars.length)];
return str;
}
export function esc(str) {
return JSON.stringify(str);
}
export function slugify(input) {
return input.toLowerCase().trim().replace(/[^\w\s-]/g, "").replace(/[\s_-]+/g, "-").replace(/^-+|-+$/g, "");
}
export const captureStackTrace = "captureStackTrace" in Error ? Error.captureStackTrace : (..._args) => {
};
export function isObject(data) {
return typeof data == "object" && data !== null && !Array.isArray(data);
}
export const allowsEval = /* @__PURE__ */ cached(() => {
if (globalConfig.jitless || typeof navigator < "u" && navigator?.userAgent?.includes("Cloudflare"))
return !1;
try {
const F = Function;
return new F(""), !0;
} catch {
return !1;
}
});
export function isPlainObject(o) {
if (isObject(o) === !1)
return !1;
const ctor = o.constructor;
if (ctor === void 0 || typeof ctor != "function")
return !0;
const prot = ctor.prototype;
return !(isObject(prot) === !1 || Object.prototype.hasOwnProperty.call(prot, "isPrototypeOf") === !1);
}
export function shallowClone(o) {
return isPlainObject(o) ? { ...o } : Array.isArray(o) ? [...o] : o instanceof Map ? new Map(o) : o instanceof Set ? new Set(o) : o;
}
export function numKeys(data) {
let keyCount = 0;
for (const key in data)
Object.prototype.hasOwnProperty.call(data, key) && keyCount++;
return keyCount;
}
export const getParsedType = (data) => {
const t = typeof data;
switch (t) {
case "undefined":
return "undefined";
case "string":
return "string";
case "number":
return Number.isNaN(data) ? "nan" : "number";
case "boolean":
return "boolean";
case "function":
return "function";
case "bigint":
return "bigint";
case "symbol":
return "symbol";
case "object":
return Array.isArray(data) ? "array" : data === null ? "null" : data.then && typeof data.then == "function" && data.catch && typeof data.catch == "function" ? "promise" : typeof Map < "u" && data instanceof Map ? "map" : typeof Set < "u" && data instanceof Set ? "set" : typeof Date < "u" && data instanceof Date ? "date" : typeof File < "u" && data instanceof File ? "file" : "object";
default:
throw new Error(`Unknown data type: ${t}`);
}
}, propertyKeyTypes = /* @__PURE__ */ new Set(["string", "number", "symbol"]), primitiveTypes = /* @__PURE__ */ new Set([
"string",
"number",
"bigint",
"boolean",
"symbol",
"undefined"
]);
export function escapeRegex(str) {
return str.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
export function clone(inst, def, params) {
const cl = new inst._zod.constr(def ?? inst._zod.def);
return (!def || params?.parent) && (cl._zod.parent = inst), cl;
}
export function normalizeParams(_params) {
const params = _params;
if (!params)
return {};
if (typeof params == "string")
return { error: () => params };
if (params?.message !== void 0) {
if (params?.error !== void 0)
throw new Error("Cannot specify both `message` and `error` params");
params.error = params.message;
}
return delete params.message, typeof params.error == "string" ? { ...params, error: () => params.error } : params;
}
export function createTransparentProxy(getter) {
let target;
return new Proxy({}, {
get(_, prop, receiver) {
return target ?? (target = getter()), Reflect.get(target, prop, receiver);
},
set(_, prop, value, receiver) {
return target ?? (target = getter()), Reflect.set(target, prop, value, receiver);
},
has(_, prop) {
return target ?? (target = getter()), Reflect.has(target, prop);
},
deleteProperty(_, prop) {
return target ?? (target = getter()), Reflect.deleteProperty(target, prop);
},
ownKeys(_) {
return target ?? (target = getter()), Reflect.ownKeys(target);
},
getOwnPropertyDescriptor(_, prop) {
return target ?? (target = getter()), Reflect.getOwnPropertyDescriptor(target, prop);
},
defineProperty(_, prop, descriptor) {
return target ?? (target = getter()), Reflect.defineProperty(target, prop, descriptor);
}
});
}
export function stringifyPrimitive(value) {
return typeof value == "bigint" ? value.toString() + "n" : typeof value == "string" ? `"${value}"` : `${value}`;
}
export function optionalKeys(shape) {
return Object.keys(shape).filter((k) => shape[k]._zod.optin !== void 0 && shape[k]._zod.optout === "optional");
}
export const NUMBER_FORMAT_RANGES = {
safeint: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
int32: [-2147483648, 2147483647],
uint32: [0, 4294967295],
float32: [-34028234663852886e22, 34028234663852886e22],
float64: [-Number.MAX_VALUE, Number.MAX_VALUE]
}, BIGINT_FORMAT_RANGES = {
int64: [/* @__PURE__ */ BigInt("-9223372036854775808"), /* @__PURE__ */ BigInt("9223372036854775807")],
uint64: [/* @__PURE__ */ BigInt(0), /* @__PURE__ */ BigInt("18446744073709551615")]
};
export function pick(schema, mask) {
const currDef = schema._zod.def, checks = currDef.checks;
if (checks && checks.length > 0)
throw new Error(".pick() cannot be used on object schemas containing refinements");
const newShape = {};
return mirrorShape(newShape, schema, maskedKeys(schema, mask)), clone(schema, mergeDefs(currDef, { shape: newShape, checks: [] }));
}
function maskedKeys(schema, mask) {
const raw = sourceShape(schema), keys = [];
for (const key of Reflect.ownKeys(mask)) {
if (!Object.getOwnPropertyDescriptor(raw, key)?.enumerable)
throw new Error(`Unrecognized key: "${String(key)}"`);
mask[key] && keys.push(key);
}
return keys;
}
export function omit(schema, mask) {
const currDef = schema._zod.def, checks = currDef.checks;
if (checks && checks.length > 0)
throw new Error(".omit() cannot be used on object schemas containing refinements");
const omitted = new Set(maskedKeys(schema, mask)), newShape = {};
return mirrorShape(newShape, schema, Reflect.ownKeys(sourceShape(schema)).filter((key) => !omitted.has(key))), clone(schema, mergeDefs(currDef, { shape: newShape, checks: [] }));
}
export function extend(schema, shape) {
if (!isPlainObject(shape))
throw new Error("Invalid input to extend: expected a plain object");
const checks = schema._zod.def.checks;
if (checks && checks.length > 0) {
const existingShape = sourceShape(schema);
for (const key of Reflect.ownKeys(shape))
if (Object.getOwnPropertyDescriptor(existingShape, key) !== void 0)
throw new Error("Cannot overwrite keys on object schemas containing refinements. Use `.safeExtend()` instead.");
}
return clone(schema, mergeDefs(schema._zod.def, { shape: extended(schema, shape) }));
}
function extended(schema, shape) {
const newShape = {};
return mirrorShape(newShape, schema, Reflect.ownKeys(sourceShape(schema))), mirrorProps(newShape, shape), newShape;
}
export function safeExtend(schema, shape) {
if (!isPlainObject(shape))
throw new Error("Invalid input to safeExtend: expected a plain object");
return clone(schema, mergeDefs(schema._zod.def, { shape: extended(schema, shape) }));
}
export function merge(a, b) {
if (!b?._zod?.def)
throw new Error("Invalid input to merge: expected an object schema. To merge a plain shape, use `.extend()`.");
if (a._zod.def.checks?.length)
throw new Error(".merge() cannot be used on object schemas containing refinements. Use .safeExtend() instead.");
const newShape = {};
mirrorShape(newShape, a, Reflect.ownKeys(sourceShape(a))), mirrorShape(newShape, b, Reflect.ownKeys(sourceShape(b)));
const def = mergeDefs(a._zod.def, {
shape: newShape,
get catchall() {
return b._zod.def.catchall;
},
checks: b._zod.def.checks ?? []
});
return clone(a, def);
}
export function partial(Class2, schema, mask, name = "partial") {
const checks = schema._zod.def.checks;
if (checks && checks.length > 0)
throw new Error(`.${name}() cannot be used on object schemas containing refinements`);
const selected = mask ? new Set(maskedKeys(schema, mask)) : void 0, newShape = {};
return mirrorShape(newShape, schema, Reflect.ownKeys(sourceShape(schema)), Class2 && ((value, key) => selected && !selected.has(key) ? value : new Class2({ type: "optional", innerType: value }))), clone(schema, mergeDefs(schema._zod.def, { shape: newShape, checks: [] }));
}
export function required(Class2, schema, mask) {
const selected = mask ? new Set(maskedKeys(schema, mask)) : void 0, newShape = {};
return mirrorShape(newShape, schema, Reflect.ownKeys(sourceShape(schema)), (value, key) => (
// overwrite with non-optional
selected && !selected.has(key) ? value : new Class2({ type: "nonoptional", innerType: value })
)), clone(schema, mergeDefs(schema._zod.def, { shape: newShape }));
}
export function aborted(x, startIndex = 0) {
if (x.aborted === !0)
return !0;
for (let i = startIndex; i < x.issues.length; i++)
if (x.issues[i]?.continue !== !0)
return !0;
return !1;
}
export function explicitlyAborted(x, startIndex = 0) {
if (x.aborted === !0)
return !0;
for (let i = startIndex; i < x.issues.length; i++)
if (x.issues[i]?.continue === !1)
return !0;
return !1;
}
export function prefixIssues(path, issues) {
return issues.map((iss) => {
var _a;
return (_a = iss).path ?? (_a.path = []), iss.path.unshift(path), iss;
});
}
export function unwrapMessage(message) {
return typeof message == "string" ? message : message?.message;
}
export function sizeCaps(defChecks) {
const caps = [];
for (const ch of defChecks ?? []) {
const d = ch._zod.def;
if (!/_(length|size)$|_equals$/.test(d.check))
break;
const max = d.maximum ?? d.length ?? d.size;
max >= 0 && caps.push([max, ch]);
}
return caps;
}
export function attachSchema(issues, start, inst) {
var _a;
for (let i = start; i < issues.length; i++)
(_a = issues[i]).schema ?? (_a.schema = inst);
}
export function finalizeIssue(iss, ctx, config) {
var _a;
const traits = iss.inst?._zod?.traits;
traits?.has("$ZodType") && (traits.has("$ZodCheck") ? (_a = iss).schema ?? (_a.schema = iss.inst) : iss.schema = iss.inst);
const schemaError = iss.schema !== iss.inst ? iss.schema?._zod.def?.error : void 0, message = iss.message ? iss.message : unwrapMessage(iss.inst?._zod.def?.error?.(iss)) ?? unwrapMessage(schemaError?.(iss)) ?? unwrapMessage(ctx?.error?.(iss)) ?? unwrapMessage(config.customError?.(iss)) ?? unwrapMessage(config.localeError?.(iss)) ?? "Invalid input", full = {};
for (const k of Object.keys(iss))
k === "inst" || k === "schema" || k === "continue" || k === "input" || k === "__proto__" || (full[k] = iss[k]);
return full.path ?? (full.path = []), full.message = message, ctx?.reportInput && (full.input = iss.input), full;
}
export function getSizableOrigin(input) {
return input instanceof Set ? "set" : input instanceof Map ? "map" : input instanceof File ? "file" : "unknown";
}
const highSurrogate = /[\uD800-\uDBFF]/;
export function codePointLength(str) {
const units = str.length;
if (!highSurrogate.test(str))
return units;
let count = units;
for (let i = 0; i < units - 1; i++)
(str.charCodeAt(i) & 64512) === 55296 && (str.charCodeAt(i + 1) & 64512) === 56320 && (count--, i++);
return count;
}
export function getLengthableOrigin(input) {
return Array.isArray(input) ? "array" : typeof input == "string" ? "string" : "unknown";
}
export function parsedType(data) {
const t = typeof data;
switch (t) {
case "number":
return Number.isNaN(data) ? "nan" : "number";
case "object": {
if (data === null)
return "null";
if (Array.isArray(data))
return "array";
const obj = data;
if (obj && Object.getPrototypeOf(obj) !== Object.prototype && "constructor" in obj && obj.constructor)
return obj.constructor.name;
}
}
return t;
}
export function issue(...args) {
const [iss, input, inst] = args;
return typeof iss == "string" ? {
message: iss,
code: "custom",
input,
inst
} : { ...iss };
}
export function cleanEnum(obj) {
return Object.entries(obj).filter(([k, _]) => Number.isNaN(Number.parseInt(k, 10))).map((el) => el[1]);
}
export function base64ToUint8Array(base64) {
const binaryString = atob(base64), bytes = new Uint8Array(binaryString.length);
for (let i = 0; i < binaryString.length; i++)
bytes[i] = binaryString.charCodeAt(i);
return bytes;
}
export function uint8ArrayToBase64(bytes) {
let binaryString = "";
for (let i = 0; i < bytes.length; i++)
binaryString += String.fromCharCode(bytes[i]);
return btoa(binaryString);
}
export function base64urlToUint8Array(base64url) {
const base64 = base64url.replace(/-/g, "+").replace(/_/g, "/"), padding = "=".repeat((4 - base64.length % 4) % 4);
return base64ToUint8Array(base64 + padding);
}
export function uint8ArrayToBase64url(bytes) {
return uint8ArrayToBase64(bytes).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
}
export function hexToUint8Array(hex) {
const cleanHex = hex.replace(/^0x/, "");
if (cleanHex.length % 2 !== 0)
throw new Error("Invalid hex string length");
const bytes = new Uint8Array(cleanHex.length / 2);
for (let i = 0; i < cleanHex.length; i += 2)
bytes[i / 2] = Number.parseInt(cleanHex.slice(i, i + 2), 16);
return bytes;
}
export function uint8ArrayToHex(bytes) {
return Array.from(bytes).map((b) => b.toString(16).padStart(2, "0")).join("");
}
export class Class {
constructor(..._args) {
}
}
export function members(proto, table) {
for (const key in table) {
const desc = Object.getOwnPropertyDescriptor(table, key);
desc.get ? Object.defineProperty(proto, key, { ...desc, enumerable: !1 }) : defineBound(proto, key, desc.value);
}
}
export function own(inst, key, value, enumerable = !0) {
return Object.defineProperty(inst, key, { configurable: !0, writable: !0, enumerable, value }), value;
}
export function hide(inst, key, value) {
return own(inst, key, value, !1);
}
// @__NO_SIDE_EFFECTS__
export function derived(computes, table) {
for (const key in computes) {
const compute = computes[key];
Object.defineProperty(table, key, {
configurable: !0,
enumerable: !0,
get() {
return own(this, key, compute(this));
},
set(value) {
own(this, key, value);
}
});
}
return table;
}
function defineBound(proto, key, fn) {
Object.defineProperty(proto, key, {
configurable: !0,
get() {
return this == null ? fn : own(this, key, fn.bind(this));
},
set(value) {
own(this, key, value);
}
});
}
function claim(inst, sentinel) {
const proto = Object.getPrototypeOf(inst);
return sentinel in proto ? void 0 : proto;
}
let installing, broke = !1;
const breaker = {
configurable: !0,
get() {
broke = !0;
}
};
export function defineLazyInternal(inst, key, compute) {
const proto = Object.getPrototypeOf(inst._zod);
if (key in proto && installing !== inst._zod) {
installing = void 0;
return;
}
installing = inst._zod, Object.defineProperty(proto, key, {
configurable: !0,
get() {
Object.defineProperty(this, key, breaker);
const outer = broke;
broke = !1;
try {
const value = compute(this);
return broke ? delete this[key] : Object.defineProperty(this, key, { configurable: !0, writable: !0, value }), broke = broke || outer, value;
} catch (err) {
throw delete this[key], broke = broke || outer, err;
}
},
set(value) {
Object.defineProperty(this, key, { configurable: !0, writable: !0, value });
}
});
}
export function installLazyProp(inst, key, make, enumerable) {
const proto = claim(inst, key);
proto && Object.defineProperty(proto, key, {
configurable: !0,
get() {
const desc = { configurable: !0, writable: !0, enumerable, value: void 0 };
return Object.defineProperty(this, key, desc), desc.value = make(this), Object.defineProperty(this, key, desc), desc.value;
},
set(value) {
Object.defineProperty(this, key, { configurable: !0, writable: !0, enumerable, value });
}
});
}
export const CONSTANT_CATCH = "~constantCatch";
export function constantCatch(value) {
const fn = () => value;
return fn[CONSTANT_CATCH] = !0, fn;
}
