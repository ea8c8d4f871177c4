import * as core from "../core/index.js";
import * as regexes from "../core/regexes.js";
import * as util from "../core/util.js";
import * as parse from "./parse.js";
export const ZodMiniType = /* @__PURE__ */ core.$constructor("ZodMiniType", (inst, def) => {
if (!inst._zod)
throw new Error("Uninitialized schema in ZodMiniType.");
core.$ZodType.init(inst, def), inst.def = def, inst.type = def.type;
}, {
// `with` is an alias for `check`: the same function object, not a wrapper.
get with() {
return this.check;
},
set with(value) {
util.own(this, "with", value);
},
parse(data, params) {
return parse.parse(this, data, params, { callee: this.parse });
},
parseAsync(data, params) {
return parse.parseAsync(this, data, params, { callee: this.parseAsync });
},
safeParse(data, params) {
return parse.safeParse(this, data, params);
},
safeParseAsync(data, params) {
return parse.safeParseAsync(this, data, params);
},
check(...checks) {
const def = this.def;
return this.clone({
...def,
checks: [
...def.checks ?? [],
...checks.map((ch) => typeof ch == "function" ? { _zod: { check: ch, def: { check: "custom" }, onattach: [] } } : ch)
]
}, { parent: !0 });
},
clone(_def, params) {
return core.clone(this, _def, params);
},
brand() {
return this;
},
register(reg, meta2) {
return reg.add(this, meta2), this;
},
apply(fn, ...args) {
return args.length === 0 ? fn(this) : fn(this, ...args);
}
}), ZodMiniString = /* @__PURE__ */ core.$constructor("ZodMiniString", (inst, def) => {
core.$ZodString.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function string(params) {
return core._string(ZodMiniString, params);
}
export const ZodMiniStringFormat = /* @__PURE__ */ core.$constructor("ZodMiniStringFormat", (inst, def) => {
core.$ZodStringFormat.init(inst, def), ZodMiniString.init(inst, def);
}), ZodMiniEmail = /* @__PURE__ */ core.$constructor("ZodMiniEmail", (inst, def) => {
core.$ZodEmail.init(inst, def), ZodMiniStringFormat.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function email(params) {
return core._email(ZodMiniEmail, params);
}
export const ZodMiniGUID = /* @__PURE__ */ core.$constructor("ZodMiniGUID", (inst, def) => {
core.$ZodGUID.init(inst, def), ZodMiniStringFormat.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function guid(params) {
return core._guid(ZodMiniGUID, params);
}
export const ZodMiniUUID = /* @__PURE__ */ core.$constructor("ZodMiniUUID", (inst, def) => {
core.$ZodUUID.init(inst, def), ZodMiniStringFormat.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function uuid(params) {
return core._uuid(ZodMiniUUID, params);
}
// @__NO_SIDE_EFFECTS__
export function uuidv4(params) {
return core._uuidv4(ZodMiniUUID, params);
}
// @__NO_SIDE_EFFECTS__
export function uuidv6(params) {
return core._uuidv6(ZodMiniUUID, params);
}
// @__NO_SIDE_EFFECTS__
export function uuidv7(params) {
return core._uuidv7(ZodMiniUUID, params);
}
export const ZodMiniURL = /* @__PURE__ */ core.$constructor("ZodMiniURL", (inst, def) => {
core.$ZodURL.init(inst, def), ZodMiniStringFormat.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function url(params) {
return core._url(ZodMiniURL, params);
}
// @__NO_SIDE_EFFECTS__
export function httpUrl(params) {
return core._url(ZodMiniURL, {
protocol: regexes.httpProtocol,
hostname: regexes.domain,
...util.normalizeParams(params)
});
}
export const ZodMiniEmoji = /* @__PURE__ */ core.$constructor("ZodMiniEmoji", (inst, def) => {
core.$ZodEmoji.init(inst, def), ZodMiniStringFormat.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function emoji(params) {
return core._emoji(ZodMiniEmoji, params);
}
export const ZodMiniNanoID = /* @__PURE__ */ core.$constructor("ZodMiniNanoID", (inst, def) => {
core.$ZodNanoID.init(inst, def), ZodMiniStringFormat.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function nanoid(params) {
return core._nanoid(ZodMiniNanoID, params);
}
export const ZodMiniCUID = /* @__PURE__ */ core.$constructor("ZodMiniCUID", (inst, def) => {
core.$ZodCUID.init(inst, def), ZodMiniStringFormat.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function cuid(params) {
return core._cuid(ZodMiniCUID, params);
}
export const ZodMiniCUID2 = /* @__PURE__ */ core.$constructor("ZodMiniCUID2", (inst, def) => {
core.$ZodCUID2.init(inst, def), ZodMiniStringFormat.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function cuid2(params) {
return core._cuid2(ZodMiniCUID2, params);
}
export const ZodMiniULID = /* @__PURE__ */ core.$constructor("ZodMiniULID", (inst, def) => {
core.$ZodULID.init(inst, def), ZodMiniStringFormat.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function ulid(params) {
return core._ulid(ZodMiniULID, params);
}
export const ZodMiniXID = /* @__PURE__ */ core.$constructor("ZodMiniXID", (inst, def) => {
core.$ZodXID.init(inst, def), ZodMiniStringFormat.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function xid(params) {
return core._xid(ZodMiniXID, params);
}
export const ZodMiniKSUID = /* @__PURE__ */ core.$constructor("ZodMiniKSUID", (inst, def) => {
core.$ZodKSUID.init(inst, def), ZodMiniStringFormat.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function ksuid(params) {
return core._ksuid(ZodMiniKSUID, params);
}
export const ZodMiniIPv4 = /* @__PURE__ */ core.$constructor("ZodMiniIPv4", (inst, def) => {
core.$ZodIPv4.init(inst, def), ZodMiniStringFormat.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function ipv4(params) {
return core._ipv4(ZodMiniIPv4, params);
}
export const ZodMiniIPv6 = /* @__PURE__ */ core.$constructor("ZodMiniIPv6", (inst, def) => {
core.$ZodIPv6.init(inst, def), ZodMiniStringFormat.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function ipv6(params) {
return core._ipv6(ZodMiniIPv6, params);
}
export const ZodMiniCIDRv4 = /* @__PURE__ */ core.$constructor("ZodMiniCIDRv4", (inst, def) => {
core.$ZodCIDRv4.init(inst, def), ZodMiniStringFormat.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function cidrv4(params) {
return core._cidrv4(ZodMiniCIDRv4, params);
}
export const ZodMiniCIDRv6 = /* @__PURE__ */ core.$constructor("ZodMiniCIDRv6", (inst, def) => {
core.$ZodCIDRv6.init(inst, def), ZodMiniStringFormat.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function cidrv6(params) {
return core._cidrv6(ZodMiniCIDRv6, params);
}
export const ZodMiniMAC = /* @__PURE__ */ core.$constructor("ZodMiniMAC", (inst, def) => {
core.$ZodMAC.init(inst, def), ZodMiniStringFormat.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function mac(params) {
return core._mac(ZodMiniMAC, params);
}
export const ZodMiniBase64 = /* @__PURE__ */ core.$constructor("ZodMiniBase64", (inst, def) => {
core.$ZodBase64.init(inst, def), ZodMiniStringFormat.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function base64(params) {
return core._base64(ZodMiniBase64, params);
}
export const ZodMiniBase64URL = /* @__PURE__ */ core.$constructor("ZodMiniBase64URL", (inst, def) => {
core.$ZodBase64URL.init(inst, def), ZodMiniStringFormat.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function base64url(params) {
return core._base64url(ZodMiniBase64URL, params);
}
export const ZodMiniE164 = /* @__PURE__ */ core.$constructor("ZodMiniE164", (inst, def) => {
core.$ZodE164.init(inst, def), ZodMiniStringFormat.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function e164(params) {
return core._e164(ZodMiniE164, params);
}
export const ZodMiniCreditCard = /* @__PURE__ */ core.$constructor("ZodMiniCreditCard", (inst, def) => {
core.$ZodCreditCard.init(inst, def), ZodMiniStringFormat.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function creditCard(params) {
return core._creditCard(ZodMiniCreditCard, params);
}
export const ZodMiniIBAN = /* @__PURE__ */ core.$constructor("ZodMiniIBAN", (inst, def) => {
core.$ZodIBAN.init(inst, def), ZodMiniStringFormat.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function iban(params) {
return core._iban(ZodMiniIBAN, params);
}
export const ZodMiniJWT = /* @__PURE__ */ core.$constructor("ZodMiniJWT", (inst, def) => {
core.$ZodJWT.init(inst, def), ZodMiniStringFormat.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function jwt(params) {
return core._jwt(ZodMiniJWT, params);
}
export const ZodMiniCustomStringFormat = /* @__PURE__ */ core.$constructor("ZodMiniCustomStringFormat", (inst, def) => {
core.$ZodCustomStringFormat.init(inst, def), ZodMiniStringFormat.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function stringFormat(format, fnOrRegex, _params = {}) {
return core._stringFormat(ZodMiniCustomStringFormat, format, fnOrRegex, _params);
}
// @__NO_SIDE_EFFECTS__
export function hostname(_params) {
return core._stringFormat(ZodMiniCustomStringFormat, "hostname", regexes.hostname, _params);
}
// @__NO_SIDE_EFFECTS__
export function hex(_params) {
return core._stringFormat(ZodMiniCustomStringFormat, "hex", regexes.hex, _params);
}
// @__NO_SIDE_EFFECTS__
export function currencyCode(_params) {
return core._stringFormat(ZodMiniCustomStringFormat, "currency_code", regexes.currencyCode, _params);
}
// @__NO_SIDE_EFFECTS__
export function hash(alg, params) {
const enc = params?.enc ?? "hex", format = `${alg}_${enc}`, regex = core.regexes[format];
if (!regex)
throw new Error(`Unrecognized hash format: ${format}`);
return core._stringFormat(ZodMiniCustomStringFormat, format, regex, params);
}
export const ZodMiniNumber = /* @__PURE__ */ core.$constructor("ZodMiniNumber", (inst, def) => {
core.$ZodNumber.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function number(params) {
return core._number(ZodMiniNumber, params);
}
export const ZodMiniNumberFormat = /* @__PURE__ */ core.$constructor("ZodMiniNumberFormat", (inst, def) => {
core.$ZodNumberFormat.init(inst, def), ZodMiniNumber.init(inst, def);
});
export function int(params) {
return core._int(ZodMiniNumberFormat, params);
}
export function float32(params) {
return core._float32(ZodMiniNumberFormat, params);
}
export function float64(params) {
return core._float64(ZodMiniNumberFormat, params);
}
export function int32(params) {
return core._int32(ZodMiniNumberFormat, params);
}
export function uint32(params) {
return core._uint32(ZodMiniNumberFormat, params);
}
export const ZodMiniBoolean = /* @__PURE__ */ core.$constructor("ZodMiniBoolean", (inst, def) => {
core.$ZodBoolean.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function boolean(params) {
return core._boolean(ZodMiniBoolean, params);
}
export const ZodMiniBigInt = /* @__PURE__ */ core.$constructor("ZodMiniBigInt", (inst, def) => {
core.$ZodBigInt.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function bigint(params) {
return core._bigint(ZodMiniBigInt, params);
}
export const ZodMiniBigIntFormat = /* @__PURE__ */ core.$constructor("ZodMiniBigIntFormat", (inst, def) => {
core.$ZodBigIntFormat.init(inst, def), ZodMiniBigInt.init(inst, def);
});
export function int64(params) {
return core._int64(ZodMiniBigIntFormat, params);
}
export function uint64(params) {
return core._uint64(ZodMiniBigIntFormat, params);
}
export const ZodMiniSymbol = /* @__PURE__ */ core.$constructor("ZodMiniSymbol", (inst, def) => {
core.$ZodSymbol.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function symbol(params) {
return core._symbol(ZodMiniSymbol, params);
}
export const ZodMiniUndefined = /* @__PURE__ */ core.$constructor("ZodMiniUndefined", (inst, def) => {
core.$ZodUndefined.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
function _undefined(params) {
return core._undefined(ZodMiniUndefined, params);
}
export { _undefined as undefined };
export const ZodMiniNull = /* @__PURE__ */ core.$constructor("ZodMiniNull", (inst, def) => {
core.$ZodNull.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
function _null(params) {
return core._null(ZodMiniNull, params);
}
export { _null as null };
export const ZodMiniAny = /* @__PURE__ */ core.$constructor("ZodMiniAny", (inst, def) => {
core.$ZodAny.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function any() {
return core._any(ZodMiniAny);
}
export const ZodMiniUnknown = /* @__PURE__ */ core.$constructor("ZodMiniUnknown", (inst, def) => {
core.$ZodUnknown.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function unknown() {
return core._unknown(ZodMiniUnknown);
}
export const ZodMiniNever = /* @__PURE__ */ core.$constructor("ZodMiniNever", (inst, def) => {
core.$ZodNever.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function never(params) {
return core._never(ZodMiniNever, params);
}
export const ZodMiniVoid = /* @__PURE__ */ core.$constructor("ZodMiniVoid", (inst, def) => {
core.$ZodVoid.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
function _void(params) {
return core._void(ZodMiniVoid, params);
}
export { _void as void };
export const ZodMiniDate = /* @__PURE__ */ core.$constructor("ZodMiniDate", (inst, def) => {
core.$ZodDate.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function date(params) {
return core._date(ZodMiniDate, params);
}
export const ZodMiniArray = /* @__PURE__ */ core.$constructor("ZodMiniArray", (inst, def) => {
core.$ZodArray.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function array(element, params) {
return new ZodMiniArray({
type: "array",
element,
...util.normalizeParams(params)
});
}
// @__NO_SIDE_EFFECTS__
export function keyof(schema) {
const shape = schema._zod.def.shape;
return /* @__PURE__ */ _enum(Object.keys(shape));
}
export const ZodMiniObject = /* @__PURE__ */ core.$constructor("ZodMiniObject", (inst, def) => {
core.$ZodObject.init(inst, def), ZodMiniType.init(inst, def), util.installLazyProp(inst, "shape", (self) => self._zod.def.shape, !1);
});
// @__NO_SIDE_EFFECTS__
export function object(shape, params) {
const def = {
type: "object",
shape: shape ?? {},
...util.normalizeParams(params)
};
return new ZodMiniObject(def);
}
// @__NO_SIDE_EFFECTS__
export function strictObject(shape, params) {
return new ZodMiniObject({
type: "object",
shape,
catchall: /* @__PURE__ */ never(),
...util.normalizeParams(params)
});
}
// @__NO_SIDE_EFFECTS__
export function looseObject(shape, params) {
return new ZodMiniObject({
type: "object",
shape,
catchall: /* @__PURE__ */ unknown(),
...util.normalizeParams(params)
});
}
// @__NO_SIDE_EFFECTS__
export function extend(schema, shape) {
return util.extend(schema, shape);
}
// @__NO_SIDE_EFFECTS__
export function safeExtend(schema, shape) {
return util.safeExtend(schema, shape);
}
// @__NO_SIDE_EFFECTS__
export function merge(a, b) {
return util.merge(a, b);
}
// @__NO_SIDE_EFFECTS__
export function pick(schema, mask) {
return util.pick(schema, mask);
}
// @__NO_SIDE_EFFECTS__
export function omit(schema, mask) {
return util.omit(schema, mask);
}
// @__NO_SIDE_EFFECTS__
export function partial(schema, mask) {
const def = schema._zod.def;
if (def.type !== "tuple")
return util.partial(ZodMiniOptional, schema, mask);
if (def.checks?.length)
throw new Error(".partial() cannot be used on tuple schemas containing refinements");
return util.clone(schema, {
...def,
items: def.items.map((item) => new ZodMiniOptional({ type: "optional", innerType: item }))
});
}
// @__NO_SIDE_EFFECTS__
export function exactPartial(schema, mask) {
return util.partial(ZodMiniExactOptional, schema, mask, "exactPartial");
}
// @__NO_SIDE_EFFECTS__
export function required(schema, mask) {
return util.required(ZodMiniNonOptional, schema, mask);
}
// @__NO_SIDE_EFFECTS__
export function catchall(inst, catchall2) {
return inst.clone(util.mergeDefs(inst._zod.def, { catchall: catchall2 }));
}
export const ZodMiniUnion = /* @__PURE__ */ core.$constructor("ZodMiniUnion", (inst, def) => {
core.$ZodUnion.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function union(options, params) {
return new ZodMiniUnion({
type: "union",
options,
...util.normalizeParams(params)
});
}
export const ZodMiniXor = /* @__PURE__ */ core.$constructor("ZodMiniXor", (inst, def) => {
ZodMiniUnion.init(inst, def), core.$ZodXor.init(inst, def);
});
export function xor(options, params) {
return new ZodMiniXor({
type: "union",
options,
inclusive: !1,
...util.normalizeParams(params)
});
}
export const ZodMiniDiscriminatedUnion = /* @__PURE__ */ core.$constructor("ZodMiniDiscriminatedUnion", (inst, def) => {
core.$ZodDiscriminatedUnion.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function discriminatedUnion(discriminator, options, params) {
return new ZodMiniDiscriminatedUnion({
type: "union",
options,
discriminator,
...util.normalizeParams(params)
});
}
export const ZodMiniIntersection = /* @__PURE__ */ core.$constructor("ZodMiniIntersection", (inst, def) => {
core.$ZodIntersection.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function intersection(left, right) {
return new ZodMiniIntersection({
type: "intersection",
left,
right
});
}
export const ZodMiniTuple = /* @__PURE__ */ core.$constructor("ZodMiniTuple", (inst, def) => {
core.$ZodTuple.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function tuple(items, _paramsOrRest, _params) {
const hasRest = _paramsOrRest instanceof core.$ZodType, params = hasRest ? _params : _paramsOrRest, rest = hasRest ? _paramsOrRest : null;
return new ZodMiniTuple({
type: "tuple",
items,
rest,
...util.normalizeParams(params)
});
}
export const ZodMiniRecord = /* @__PURE__ */ core.$constructor("ZodMiniRecord", (inst, def) => {
core.$ZodRecord.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function record(keyType, valueType, params) {
return !valueType || !valueType._zod ? new ZodMiniRecord({
type: "record",
keyType: /* @__PURE__ */ string(),
valueType: keyType,
...util.normalizeParams(valueType)
}) : new ZodMiniRecord({
type: "record",
keyType,
valueType,
...util.normalizeParams(params)
});
}
// @__NO_SIDE_EFFECTS__
export function partialRecord(keyType, valueType, params) {
return new ZodMiniRecord({
type: "record",
keyType,
valueType,
...util.normalizeParams(params),
partial: !0
});
}
export function looseRecord(keyType, valueType, params) {
return new ZodMiniRecord({
type: "record",
keyType,
valueType,
mode: "loose",
...util.normalizeParams(params)
});
}
export const ZodMiniMap = /* @__PURE__ */ core.$constructor("ZodMiniMap", (inst, def) => {
core.$ZodMap.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function map(keyType, valueType, params) {
return new ZodMiniMap({
type: "map",
keyType,
valueType,
...util.normalizeParams(params)
});
}
export const ZodMiniSet = /* @__PURE__ */ core.$constructor("ZodMiniSet", (inst, def) => {
core.$ZodSet.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function set(valueType, params) {
return new ZodMiniSet({
type: "set",
valueType,
...util.normalizeParams(params)
});
}
export const ZodMiniEnum = /* @__PURE__ */ core.$constructor("ZodMiniEnum", (inst, def) => {
core.$ZodEnum.init(inst, def), ZodMiniType.init(inst, def), inst.options = [...inst._zod.values];
});
// @__NO_SIDE_EFFECTS__
function _enum(values, params) {
const entries = Array.isArray(values) ? Object.fromEntries(values.map((v) => [v, v])) : values;
return new ZodMiniEnum({
type: "enum",
entries,
...util.normalizeParams(params)
});
}
export { _enum as enum };
// @__NO_SIDE_EFFECTS__
export function nativeEnum(entries, params) {
return new ZodMiniEnum({
type: "enum",
entries,
...util.normalizeParams(params)
});
}
export const ZodMiniLiteral = /* @__PURE__ */ core.$constructor("ZodMiniLiteral", (inst, def) => {
core.$ZodLiteral.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function literal(value, params) {
return new ZodMiniLiteral({
type: "literal",
values: Array.isArray(value) ? value : [value],
...util.normalizeParams(params)
});
}
export const ZodMiniFile = /* @__PURE__ */ core.$constructor("ZodMiniFile", (inst, def) => {
core.$ZodFile.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function file(params) {
return core._file(ZodMiniFile, params);
}
export const ZodMiniTransform = /* @__PURE__ */ core.$constructor("ZodMiniTransform", (inst, def) => {
core.$ZodTransform.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function transform(fn) {
return new ZodMiniTransform({
type: "transform",
transform: fn
});
}
export const ZodMiniOptional = /* @__PURE__ */ core.$constructor("ZodMiniOptional", (inst, def) => {
core.$ZodOptional.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function optional(innerType) {
return new ZodMiniOptional({
type: "optional",
innerType
});
}
export const ZodMiniExactOptional = /* @__PURE__ */ core.$constructor("ZodMiniExactOptional", (inst, def) => {
core.$ZodExactOptional.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function exactOptional(innerType) {
return new ZodMiniExactOptional({
type: "optional",
innerType
});
}
export const ZodMiniNullable = /* @__PURE__ */ core.$constructor("ZodMiniNullable", (inst, def) => {
core.$ZodNullable.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function nullable(innerType) {
return new ZodMiniNullable({
type: "nullable",
innerType
});
}
// @__NO_SIDE_EFFECTS__
export function nullish(innerType) {
return /* @__PURE__ */ optional(/* @__PURE__ */ nullable(innerType));
}
export const ZodMiniDefault = /* @__PURE__ */ core.$constructor("ZodMiniDefault", (inst, def) => {
core.$ZodDefault.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function _default(innerType, defaultValue) {
return new ZodMiniDefault({
type: "default",
innerType,
get defaultValue() {
return typeof defaultValue == "function" ? defaultValue() : util.shallowClone(defaultValue);
}
});
}
export const ZodMiniPrefault = /* @__PURE__ */ core.$constructor("ZodMiniPrefault", (inst, def) => {
core.$ZodPrefault.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function prefault(innerType, defaultValue) {
return new ZodMiniPrefault({
type: "prefault",
innerType,
get defaultValue() {
return typeof defaultValue == "function" ? defaultValue() : util.shallowClone(defaultValue);
}
});
}
export const ZodMiniNonOptional = /* @__PURE__ */ core.$constructor("ZodMiniNonOptional", (inst, def) => {
core.$ZodNonOptional.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function nonoptional(innerType, params) {
return new ZodMiniNonOptional({
type: "nonoptional",
innerType,
...util.normalizeParams(params)
});
}
export const ZodMiniSuccess = /* @__PURE__ */ core.$constructor("ZodMiniSuccess", (inst, def) => {
core.$ZodSuccess.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function success(innerType) {
return new ZodMiniSuccess({
type: "success",
innerType
});
}
export const ZodMiniCatch = /* @__PURE__ */ core.$constructor("ZodMiniCatch", (inst, def) => {
core.$ZodCatch.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
function _catch(innerType, catchValue) {
return new ZodMiniCatch({
type: "catch",
innerType,
catchValue: typeof catchValue == "function" ? catchValue : core.util.constantCatch(catchValue)
});
}
export { _catch as catch };
export const ZodMiniNaN = /* @__PURE__ */ core.$constructor("ZodMiniNaN", (inst, def) => {
core.$ZodNaN.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function nan(params) {
return core._nan(ZodMiniNaN, params);
}
export const ZodMiniPipe = /* @__PURE__ */ core.$constructor("ZodMiniPipe", (inst, def) => {
core.$ZodPipe.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function pipe(in_, out) {
return new ZodMiniPipe({
type: "pipe",
in: in_,
out
});
}
export const ZodMiniCodec = /* @__PURE__ */ core.$constructor("ZodMiniCodec", (inst, def) => {
ZodMiniPipe.init(inst, def), core.$ZodCodec.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function codec(in_, out, params) {
return new ZodMiniCodec({
type: "pipe",
in: in_,
out,
transform: params.decode,
reverseTransform: params.encode
});
}
// @__NO_SIDE_EFFECTS__
export function invertCodec(codec2) {
const def = codec2._zod.def;
return new ZodMiniCodec({
type: "pipe",
in: def.out,
out: def.in,
transform: def.reverseTransform,
reverseTransform: def.transform
});
}
export const ZodMiniReadonly = /* @__PURE__ */ core.$constructor("ZodMiniReadonly", (inst, def) => {
core.$ZodReadonly.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function readonly(innerType) {
return new ZodMiniReadonly({
type: "readonly",
innerType
});
}
export const ZodMiniTemplateLiteral = /* @__PURE__ */ core.$constructor("ZodMiniTemplateLiteral", (inst, def) => {
core.$ZodTemplateLiteral.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function templateLiteral(parts, params) {
return new ZodMiniTemplateLiteral({
type: "template_literal",
parts,
...util.normalizeParams(params)
});
}
export const ZodMiniLazy = /* @__PURE__ */ core.$constructor("ZodMiniLazy", (inst, def) => {
core.$ZodLazy.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
function _lazy(getter) {
return new ZodMiniLazy({
type: "lazy",
getter
});
}
export { _lazy as lazy };
export const ZodMiniPromise = /* @__PURE__ */ core.$constructor("ZodMiniPromise", (inst, def) => {
core.$ZodPromise.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function promise(innerType) {
return new ZodMiniPromise({
type: "promise",
innerType
});
}
export const ZodMiniCustom = /* @__PURE__ */ core.$constructor("ZodMiniCustom", (inst, def) => {
core.$ZodCustom.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function check(fn, params) {
const ch = new core.$ZodCheck({
check: "custom",
...util.normalizeParams(params)
});
return ch._zod.check = fn, ch;
}
// @__NO_SIDE_EFFECTS__
export function custom(fn, _params) {
return core._custom(ZodMiniCustom, fn ?? (() => !0), _params);
}
// @__NO_SIDE_EFFECTS__
export function refine(fn, _params = {}) {
return core._refine(ZodMiniCustom, fn, _params);
}
// @__NO_SIDE_EFFECTS__
export function superRefine(fn, params) {
return core._superRefine(fn, params);
}
export const describe = core.describe, meta = core.meta;
class Class {
constructor(..._args) {
}
}
// @__NO_SIDE_EFFECTS__
function _instanceof(cls, params = {}) {
const inst = /* @__PURE__ */ custom((data) => data instanceof cls, params);
return inst._zod.bag.Class = cls, inst._zod.check = (payload) => {
payload.value instanceof cls || payload.issues.push({
code: "invalid_type",
expected: cls.name,
input: payload.value,
inst,
path: [...inst._zod.def.path ?? []]
});
}, inst;
}
export { _instanceof as instanceof };
export const stringbool = (...args) => core._stringbool({
Codec: ZodMiniCodec,
Boolean: ZodMiniBoolean,
String: ZodMiniString
}, ...args);
// @__NO_SIDE_EFFECTS__
export function json() {
const jsonSchema = /* @__PURE__ */ _lazy(() => /* @__PURE__ */ union([/* @__PURE__ */ string(), /* @__PURE__ */ number(), /* @__PURE__ */ boolean(), /* @__PURE__ */ _null(), /* @__PURE__ */ array(jsonSchema), /* @__PURE__ */ record(/* @__PURE__ */ string(), jsonSchema)]));
return jsonSchema;
}
export const ZodMiniFunction = /* @__PURE__ */ core.$constructor("ZodMiniFunction", (inst, def) => {
core.$ZodFunction.init(inst, def), ZodMiniType.init(inst, def);
});
// @__NO_SIDE_EFFECTS__
export function _function(params) {
return new ZodMiniFunction({
type: "function",
input: Array.isArray(params?.input) ? /* @__PURE__ */ tuple(params?.input) : params?.input ?? /* @__PURE__ */ array(/* @__PURE__ */ unknown()),
output: params?.output ?? /* @__PURE__ */ unknown()
});
}
export { _function as function };
