import * as core from "../core/index.js";
import { $ZodError } from "../core/index.js";
import * as util from "../core/util.js";
const _installedErrorProtos = /* @__PURE__ */ new WeakSet([Object.prototype, Error.prototype]);
function _lazyMethod(proto, key, make) {
Object.defineProperty(proto, key, {
configurable: !0,
enumerable: !1,
get() {
const value = make(this);
return Object.defineProperty(this, key, { value, configurable: !0, writable: !0 }), value;
},
set(value) {
Object.defineProperty(this, key, { value, configurable: !0, writable: !0 });
}
});
}
const initializer = (inst, issues) => {
$ZodError.init(inst, issues), inst.name = "ZodError";
const proto = Object.getPrototypeOf(inst);
_installedErrorProtos.has(proto) || (_installedErrorProtos.add(proto), _lazyMethod(proto, "format", (self) => (mapper) => core.formatError(self, mapper)), _lazyMethod(proto, "flatten", (self) => (mapper) => core.flattenError(self, mapper)), _lazyMethod(proto, "addIssue", (self) => (issue) => {
self.issues.push(issue), self.message = JSON.stringify(self.issues, util.jsonStringifyReplacer, 2);
}), _lazyMethod(proto, "addIssues", (self) => (issues2) => {
self.issues.push(...issues2), self.message = JSON.stringify(self.issues, util.jsonStringifyReplacer, 2);
}), Object.defineProperty(proto, "isEmpty", {
configurable: !0,
enumerable: !1,
get() {
return this.issues.length === 0;
}
}));
};
export const ZodError = /* @__PURE__ */ core.$constructor("ZodError", initializer), ZodRealError = /* @__PURE__ */ core.$constructor("ZodError", initializer, void 0, {
Parent: Error
});
