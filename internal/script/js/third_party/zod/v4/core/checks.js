import * as core from "./core.js";
import * as regexes from "./regexes.js";
import * as util from "./util.js";
export const $ZodCheck = /* @__PURE__ */ core.$constructor("$ZodCheck", (inst, def) => {
var _a;
inst._zod ?? (inst._zod = {}), inst._zod.def = def, (_a = inst._zod).onattach ?? (_a.onattach = []);
});
const _whenHasSize = (payload) => {
const val = payload.value;
return !util.nullish(val) && val.size !== void 0;
}, _whenHasLength = (payload) => {
const val = payload.value;
return !util.nullish(val) && val.length !== void 0;
}, numericOriginMap = {
number: "number",
bigint: "bigint",
object: "date"
};
export const $ZodCheckLessThan = /* @__PURE__ */ core.$constructor("$ZodCheckLessThan", (inst, def) => {
$ZodCheck.init(inst, def);
const origin = numericOriginMap[typeof def.value];
inst._zod.check = (payload) => {
(def.inclusive ? payload.value <= def.value : payload.value < def.value) || payload.issues.push({
origin: numericOriginMap[typeof payload.value] ?? origin,
code: "too_big",
maximum: typeof def.value == "object" ? def.value.getTime() : def.value,
input: payload.value,
inclusive: def.inclusive,
inst,
continue: !def.abort
});
};
}), $ZodCheckGreaterThan = /* @__PURE__ */ core.$constructor("$ZodCheckGreaterThan", (inst, def) => {
$ZodCheck.init(inst, def);
const origin = numericOriginMap[typeof def.value];
inst._zod.check = (payload) => {
(def.inclusive ? payload.value >= def.value : payload.value > def.value) || payload.issues.push({
origin: numericOriginMap[typeof payload.value] ?? origin,
code: "too_small",
minimum: typeof def.value == "object" ? def.value.getTime() : def.value,
input: payload.value,
inclusive: def.inclusive,
inst,
continue: !def.abort
});
};
}), $ZodCheckMultipleOf = /* @__PURE__ */ core.$constructor("$ZodCheckMultipleOf", (inst, def) => {
$ZodCheck.init(inst, def), inst._zod.check = (payload) => {
if (typeof payload.value != typeof def.value)
throw new Error("Cannot mix number and bigint in multiple_of check.");
(typeof payload.value == "bigint" ? (
// `value % 0n` throws, and nothing is a multiple of zero — the number branch already fails this way via NaN
def.value !== BigInt(0) && payload.value % def.value === BigInt(0)
) : util.floatSafeRemainder(payload.value, def.value) === 0) || payload.issues.push({
origin: typeof payload.value,
code: "not_multiple_of",
divisor: def.value,
input: payload.value,
inst,
continue: !def.abort
});
};
}), $ZodCheckNumberFormat = /* @__PURE__ */ core.$constructor("$ZodCheckNumberFormat", (inst, def) => {
$ZodCheck.init(inst, def), def.format = def.format || "float64";
const isInt = def.format?.includes("int"), origin = isInt ? "int" : "number", [minimum, maximum] = util.NUMBER_FORMAT_RANGES[def.format];
inst._zod.check = (payload) => {
const input = payload.value;
if (isInt) {
if (!Number.isInteger(input)) {
payload.issues.push({
expected: origin,
format: def.format,
code: "invalid_type",
continue: !1,
input,
inst
});
return;
}
if (!Number.isSafeInteger(input)) {
input > 0 ? payload.issues.push({
input,
code: "too_big",
maximum: Number.MAX_SAFE_INTEGER,
note: "Integers must be within the safe integer range.",
inst,
origin,
inclusive: !0,
continue: !def.abort
}) : payload.issues.push({
input,
code: "too_small",
minimum: Number.MIN_SAFE_INTEGER,
note: "Integers must be within the safe integer range.",
inst,
origin,
inclusive: !0,
continue: !def.abort
});
return;
}
}
input < minimum && payload.issues.push({
origin: "number",
input,
code: "too_small",
minimum,
inclusive: !0,
inst,
continue: !def.abort
}), input > maximum && payload.issues.push({
origin: "number",
input,
code: "too_big",
maximum,
inclusive: !0,
inst,
continue: !def.abort
});
};
}), $ZodCheckBigIntFormat = /* @__PURE__ */ core.$constructor("$ZodCheckBigIntFormat", (inst, def) => {
$ZodCheck.init(inst, def);
const [minimum, maximum] = util.BIGINT_FORMAT_RANGES[def.format];
inst._zod.check = (payload) => {
const input = payload.value;
input < minimum && payload.issues.push({
origin: "bigint",
input,
code: "too_small",
minimum,
inclusive: !0,
inst,
continue: !def.abort
}), input > maximum && payload.issues.push({
origin: "bigint",
input,
code: "too_big",
maximum,
inclusive: !0,
inst,
continue: !def.abort
});
};
}), $ZodCheckMaxSize = /* @__PURE__ */ core.$constructor("$ZodCheckMaxSize", (inst, def) => {
var _a;
$ZodCheck.init(inst, def), (_a = inst._zod.def).when ?? (_a.when = _whenHasSize), inst._zod.check = (payload) => {
const input = payload.value;
input.size <= def.maximum || payload.issues.push({
origin: util.getSizableOrigin(input),
code: "too_big",
maximum: def.maximum,
inclusive: !0,
input,
inst,
continue: !def.abort
});
};
}), $ZodCheckMinSize = /* @__PURE__ */ core.$constructor("$ZodCheckMinSize", (inst, def) => {
var _a;
$ZodCheck.init(inst, def), (_a = inst._zod.def).when ?? (_a.when = _whenHasSize), inst._zod.check = (payload) => {
const input = payload.value;
input.size >= def.minimum || payload.issues.push({
origin: util.getSizableOrigin(input),
code: "too_small",
minimum: def.minimum,
inclusive: !0,
input,
inst,
continue: !def.abort
});
};
}), $ZodCheckSizeEquals = /* @__PURE__ */ core.$constructor("$ZodCheckSizeEquals", (inst, def) => {
var _a;
$ZodCheck.init(inst, def), (_a = inst._zod.def).when ?? (_a.when = _whenHasSize), inst._zod.check = (payload) => {
const input = payload.value, size = input.size;
if (size === def.size)
return;
const tooBig = size > def.size;
payload.issues.push({
origin: util.getSizableOrigin(input),
...tooBig ? { code: "too_big", maximum: def.size } : { code: "too_small", minimum: def.size },
inclusive: !0,
exact: !0,
input: payload.value,
inst,
continue: !def.abort
});
};
}), $ZodCheckMaxLength = /* @__PURE__ */ core.$constructor("$ZodCheckMaxLength", (inst, def) => {
var _a;
$ZodCheck.init(inst, def), (_a = inst._zod.def).when ?? (_a.when = _whenHasLength), inst._zod.check = (payload) => {
const input = payload.value, units = input.length;
if ((typeof input == "string" && units > def.maximum ? util.codePointLength(input) : units) <= def.maximum)
return;
const origin = util.getLengthableOrigin(input);
payload.issues.push({
origin,
code: "too_big",
maximum: def.maximum,
inclusive: !0,
input,
inst,
continue: !def.abort
});
};
}), $ZodCheckMinLength = /* @__PURE__ */ core.$constructor("$ZodCheckMinLength", (inst, def) => {
var _a;
$ZodCheck.init(inst, def), (_a = inst._zod.def).when ?? (_a.when = _whenHasLength), inst._zod.check = (payload) => {
const input = payload.value, units = input.length;
if ((typeof input == "string" && units >= def.minimum && units < def.minimum * 2 ? util.codePointLength(input) : units) >= def.minimum)
return;
const origin = util.getLengthableOrigin(input);
payload.issues.push({
origin,
code: "too_small",
minimum: def.minimum,
inclusive: !0,
input,
inst,
continue: !def.abort
});
};
}), $ZodCheckLengthEquals = /* @__PURE__ */ core.$constructor("$ZodCheckLengthEquals", (inst, def) => {
var _a;
$ZodCheck.init(inst, def), (_a = inst._zod.def).when ?? (_a.when = _whenHasLength), inst._zod.check = (payload) => {
const input = payload.value, units = input.length, length = typeof input == "string" && units >= def.length && units <= def.length * 2 ? util.codePointLength(input) : units;
if (length === def.length)
return;
const origin = util.getLengthableOrigin(input), tooBig = length > def.length;
payload.issues.push({
origin,
...tooBig ? { code: "too_big", maximum: def.length } : { code: "too_small", minimum: def.length },
inclusive: !0,
exact: !0,
input: payload.value,
inst,
continue: !def.abort
});
};
}), $ZodCheckStringFormat = /* @__PURE__ */ core.$constructor("$ZodCheckStringFormat", (inst, def) => {
var _a, _b;
$ZodCheck.init(inst, def), def.pattern ? (_a = inst._zod).check ?? (_a.check = (payload) => {
def.pattern.lastIndex = 0, !def.pattern.test(payload.value) && payload.issues.push({
origin: "string",
code: "invalid_format",
format: def.format,
input: payload.value,
...def.pattern ? { pattern: def.pattern.toString() } : {},
inst,
continue: !def.abort
});
}) : (_b = inst._zod).check ?? (_b.check = () => {
});
}), $ZodCheckRegex = /* @__PURE__ */ core.$constructor("$ZodCheckRegex", (inst, def) => {
$ZodCheckStringFormat.init(inst, def), inst._zod.check = (payload) => {
def.pattern.lastIndex = 0, !def.pattern.test(payload.value) && payload.issues.push({
origin: "string",
code: "invalid_format",
format: "regex",
input: payload.value,
pattern: def.pattern.toString(),
inst,
continue: !def.abort
});
};
}), $ZodCheckLowerCase = /* @__PURE__ */ core.$constructor("$ZodCheckLowerCase", (inst, def) => {
def.pattern ?? (def.pattern = regexes.lowercase), $ZodCheckStringFormat.init(inst, def);
}), $ZodCheckUpperCase = /* @__PURE__ */ core.$constructor("$ZodCheckUpperCase", (inst, def) => {
def.pattern ?? (def.pattern = regexes.uppercase), $ZodCheckStringFormat.init(inst, def);
}), $ZodCheckIncludes = /* @__PURE__ */ core.$constructor("$ZodCheckIncludes", (inst, def) => {
$ZodCheck.init(inst, def);
const escapedRegex = util.escapeRegex(def.includes), pattern = new RegExp(typeof def.position == "number" ? `^.{${def.position},}${escapedRegex}` : escapedRegex);
def.pattern = pattern, inst._zod.check = (payload) => {
payload.value.includes(def.includes, def.position) || payload.issues.push({
origin: "string",
code: "invalid_format",
format: "includes",
includes: def.includes,
input: payload.value,
inst,
continue: !def.abort
});
};
}), $ZodCheckStartsWith = /* @__PURE__ */ core.$constructor("$ZodCheckStartsWith", (inst, def) => {
$ZodCheck.init(inst, def);
const pattern = new RegExp(`^${util.escapeRegex(def.prefix)}.*`);
def.pattern ?? (def.pattern = pattern), inst._zod.check = (payload) => {
payload.value.startsWith(def.prefix) || payload.issues.push({
origin: "string",
code: "invalid_format",
format: "starts_with",
prefix: def.prefix,
input: payload.value,
inst,
continue: !def.abort
});
};
}), $ZodCheckEndsWith = /* @__PURE__ */ core.$constructor("$ZodCheckEndsWith", (inst, def) => {
$ZodCheck.init(inst, def);
const pattern = new RegExp(`.*${util.escapeRegex(def.suffix)}$`);
def.pattern ?? (def.pattern = pattern), inst._zod.check = (payload) => {
payload.value.endsWith(def.suffix) || payload.issues.push({
origin: "string",
code: "invalid_format",
format: "ends_with",
suffix: def.suffix,
input: payload.value,
inst,
continue: !def.abort
});
};
});
function handleCheckPropertyResult(result, payload, property) {
result.issues.length && payload.issues.push(...util.prefixIssues(property, result.issues));
}
export const $ZodCheckProperty = /* @__PURE__ */ core.$constructor("$ZodCheckProperty", (inst, def) => {
$ZodCheck.init(inst, def), inst._zod.check = (payload) => {
const result = def.schema._zod.run({
value: payload.value[def.property],
issues: []
}, {});
if (result instanceof Promise)
return result.then((result2) => handleCheckPropertyResult(result2, payload, def.property));
handleCheckPropertyResult(result, payload, def.property);
};
}), $ZodCheckProperties = /* @__PURE__ */ core.$constructor("$ZodCheckProperties", (inst, def) => {
$ZodCheck.init(inst, def), util.hide(inst, Symbol.iterator, function* () {
yield inst;
});
let entries;
inst._zod.check = (payload) => {
if (payload.value == null) {
payload.issues.push({ expected: "object", code: "invalid_type", input: payload.value, inst });
return;
}
entries ?? (entries = Reflect.ownKeys(def.shape).map((key) => [key, def.shape[key]]));
const input = payload.value;
let proms;
for (const [key, schema] of entries) {
const result = schema._zod.run({ value: input[key], issues: [] }, {});
result instanceof Promise ? (proms ?? (proms = []), proms.push(result.then((result2) => handleCheckPropertyResult(result2, payload, key)))) : handleCheckPropertyResult(result, payload, key);
}
if (proms)
return Promise.all(proms).then(() => {
});
};
}), $ZodCheckMimeType = /* @__PURE__ */ core.$constructor("$ZodCheckMimeType", (inst, def) => {
$ZodCheck.init(inst, def);
const mimeSet = new Set(def.mime);
inst._zod.check = (payload) => {
mimeSet.has(payload.value.type) || payload.issues.push({
code: "invalid_value",
values: def.mime,
input: payload.value.type,
inst,
continue: !def.abort
});
};
}), $ZodCheckOverwrite = /* @__PURE__ */ core.$constructor("$ZodCheckOverwrite", (inst, def) => {
$ZodCheck.init(inst, def), inst._zod.check = (payload) => {
payload.value = def.tx(payload.value);
};
});
