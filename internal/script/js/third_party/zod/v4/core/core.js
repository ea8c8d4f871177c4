var _a;
import { members as installMembers } from "./util.js";
export const NEVER = /* @__PURE__ */ Object.freeze({
status: "aborted"
});
const _zodDesc = { value: void 0, enumerable: !1 };
let _E = "captureStackTrace" in Error ? Error : null;
function newError(Definition) {
const E = _E;
if (E) {
const saved = E.stackTraceLimit;
if (typeof saved == "number") {
try {
E.stackTraceLimit = 0;
} catch {
return _E = null, new Definition();
}
try {
return new Definition();
} finally {
E.stackTraceLimit = saved;
}
}
}
return new Definition();
}
// @__NO_SIDE_EFFECTS__
export function $constructor(name, initializer, proto, params) {
const zodProto = {};
function Internals(def) {
this.def = def, this.constr = _, this.traits = /* @__PURE__ */ new Set();
}
Internals.prototype = zodProto;
const protoMembers = proto, initialized = protoMembers && /* @__PURE__ */ new WeakSet();
function init(inst, def) {
if (inst._zod) {
if (inst._zod.traits.has(name))
return;
} else {
_zodDesc.value = new Internals(def);
try {
Object.defineProperty(inst, "_zod", _zodDesc);
} finally {
_zodDesc.value = void 0;
}
}
if (inst._zod.traits.add(name), initializer(inst, def), initialized) {
const own = Object.getPrototypeOf(inst), ctorProto = inst._zod.constr.prototype;
let up = own;
for (; up && up !== ctorProto; )
up = Object.getPrototypeOf(up);
const target = up ?? own;
initialized.has(target) || (initialized.add(target), installMembers(target, protoMembers));
}
const proto2 = _.prototype;
for (const k in proto2)
Object.prototype.hasOwnProperty.call(proto2, k) && (k in inst || (inst[k] = proto2[k].bind(inst)));
}
const Parent = params?.Parent ?? Object;
class Definition extends Parent {
}
Object.defineProperty(Definition, "name", { value: name });
function _(def) {
const inst = params?.Parent ? newError(Definition) : this;
init(inst, def);
const deferred = inst._zod.deferred;
if (deferred) {
for (const fn of deferred)
fn();
inst._zod.deferred = void 0;
}
const pp = globalThis.__zod_globalConfig?.postProcessor;
return pp && pp(inst), inst;
}
return Object.defineProperty(_, "init", { value: init }), Object.defineProperty(_, Symbol.hasInstance, {
value: (inst) => params?.Parent && inst instanceof params.Parent ? !0 : inst?._zod?.traits?.has(name)
}), Object.defineProperty(_, "name", { value: name }), _;
}
export const $brand = /* @__PURE__ */ Symbol("zod_brand");
export class $ZodAsyncError extends Error {
constructor() {
super("Encountered Promise during synchronous parse. Use .parseAsync() instead.");
}
}
export class $ZodEncodeError extends Error {
constructor(name) {
super(`Encountered unidirectional transform during encode: ${name}`), this.name = "ZodEncodeError";
}
}
(_a = globalThis).__zod_globalConfig ?? (_a.__zod_globalConfig = {});
export const globalConfig = globalThis.__zod_globalConfig;
export function config(newConfig) {
return newConfig && Object.assign(globalConfig, newConfig), globalConfig;
}
