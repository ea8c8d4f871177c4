import { $constructor } from "./core.js";
import * as util from "./util.js";
function _getMessage() {
const internals = this._zod;
return internals.message ?? (internals.message = JSON.stringify(internals.def, util.jsonStringifyReplacer, 2)), internals.message;
}
function _setMessage(value) {
this._zod.message = value;
}
const _messageDesc = {
get: _getMessage,
set: _setMessage,
enumerable: !0,
configurable: !0
}, _issuesDesc = { value: void 0, enumerable: !1 }, _installedToString = /* @__PURE__ */ new WeakSet([Object.prototype, Error.prototype]), initializer = (inst, def) => {
inst.name = "$ZodError", _issuesDesc.value = def, Object.defineProperty(inst, "issues", _issuesDesc), _issuesDesc.value = void 0, Object.defineProperty(inst, "message", _messageDesc);
const proto = Object.getPrototypeOf(inst);
_installedToString.has(proto) || (_installedToString.add(proto), Object.defineProperty(proto, "toString", {
configurable: !0,
enumerable: !1,
get() {
const value = () => this.message;
return Object.defineProperty(this, "toString", { value, configurable: !0, writable: !0 }), value;
},
set(value) {
Object.defineProperty(this, "toString", { value, configurable: !0, writable: !0 });
}
}));
};
export const $ZodError = $constructor("$ZodError", initializer), $ZodRealError = $constructor("$ZodError", initializer, void 0, {
Parent: Error
});
function node(obj, key, make) {
return Object.prototype.hasOwnProperty.call(obj, key) || (key === "__proto__" ? Object.defineProperty(obj, key, { value: make(), writable: !0, enumerable: !0, configurable: !0 }) : obj[key] = make()), obj[key];
}
export function flattenError(error, mapper = (issue) => issue.message) {
const fieldErrors = {}, formErrors = [];
for (const sub of error.issues)
sub.path.length > 0 ? node(fieldErrors, sub.path[0], () => []).push(mapper(sub)) : formErrors.push(mapper(sub));
return { formErrors, fieldErrors };
}
export function formatError(error, mapper = (issue) => issue.message) {
const fieldErrors = { _errors: [] }, processError = (error2, path = []) => {
for (const issue of error2.issues)
if (issue.code === "invalid_union" && issue.errors.length)
issue.errors.map((issues) => processError({ issues }, [...path, ...issue.path]));
else if (issue.code === "invalid_key")
processError({ issues: issue.issues }, [...path, ...issue.path]);
else if (issue.code === "invalid_element")
processError({ issues: issue.issues }, [...path, ...issue.path]);
else {
const fullpath = [...path, ...issue.path];
if (fullpath.length === 0)
fieldErrors._errors.push(mapper(issue));
else {
let curr = fieldErrors, i = 0;
for (; i < fullpath.length; ) {
const el = fullpath[i], terminal = i === fullpath.length - 1;
if (el === "_errors") {
terminal && curr._errors.push(mapper(issue)), i++;
continue;
}
Object.prototype.hasOwnProperty.call(curr, el) || Object.defineProperty(curr, el, {
value: { _errors: [] },
enumerable: !0,
writable: !0,
configurable: !0
});
const node2 = curr[el];
terminal && node2._errors.push(mapper(issue)), curr = node2, i++;
}
}
}
};
return processError(error), fieldErrors;
}
export function treeifyError(error, mapper = (issue) => issue.message) {
const result = { errors: [] }, processError = (error2, path = []) => {
var _a;
for (const issue of error2.issues)
if (issue.code === "invalid_union" && issue.errors.length)
issue.errors.map((issues) => processError({ issues }, [...path, ...issue.path]));
else if (issue.code === "invalid_key")
processError({ issues: issue.issues }, [...path, ...issue.path]);
else if (issue.code === "invalid_element")
processError({ issues: issue.issues }, [...path, ...issue.path]);
else {
const fullpath = [...path, ...issue.path];
if (fullpath.length === 0) {
result.errors.push(mapper(issue));
continue;
}
let curr = result, i = 0;
for (; i < fullpath.length; ) {
const el = fullpath[i], terminal = i === fullpath.length - 1;
typeof el == "string" ? (curr.properties ?? (curr.properties = {}), Object.prototype.hasOwnProperty.call(curr.properties, el) || Object.defineProperty(curr.properties, el, {
value: { errors: [] },
enumerable: !0,
writable: !0,
configurable: !0
}), curr = curr.properties[el]) : (curr.items ?? (curr.items = []), (_a = curr.items)[el] ?? (_a[el] = { errors: [] }), curr = curr.items[el]), terminal && curr.errors.push(mapper(issue)), i++;
}
}
};
return processError(error), result;
}
export function toDotPath(_path) {
const segs = [], path = _path.map((seg) => typeof seg == "object" ? seg.key : seg);
for (const seg of path)
typeof seg == "number" ? segs.push(`[${seg}]`) : typeof seg == "symbol" ? segs.push(`[${JSON.stringify(String(seg))}]`) : /[^\w$]/.test(seg) ? segs.push(`[${JSON.stringify(seg)}]`) : (segs.length && segs.push("."), segs.push(seg));
return segs.join("");
}
export function prettifyError(error) {
const lines = [], issues = [...error.issues].sort((a, b) => (a.path ?? []).length - (b.path ?? []).length);
for (const issue of issues)
lines.push(`✖ ${issue.message}`), issue.path?.length && lines.push(`  → at ${toDotPath(issue.path)}`);
return lines.join(`
`);
}
