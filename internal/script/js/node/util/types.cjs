const tag = (value) => Object.prototype.toString.call(value).slice(8, -1);
const typedTag = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get;
const sourceKind = (kind) => (value) => typeof value === "function" && value.constructor?.name === kind;
const boxed = (value) =>
  value !== null &&
  typeof value === "object" &&
  ["Number", "String", "Boolean", "Symbol", "BigInt"].includes(tag(value)) &&
  typeof value.valueOf() !== "object";

const types = {
  isDate: (v) => v instanceof Date,
  isRegExp: (v) => v instanceof RegExp,
  isMap: (v) => v instanceof Map,
  isSet: (v) => v instanceof Set,
  isWeakMap: (v) => v instanceof WeakMap,
  isWeakSet: (v) => v instanceof WeakSet,
  isPromise: (v) => v instanceof Promise,
  isNativeError: (v) => v instanceof Error,
  isArrayBuffer: (v) => v instanceof ArrayBuffer,
  isSharedArrayBuffer: (v) => v instanceof SharedArrayBuffer,
  isAnyArrayBuffer: (v) => v instanceof ArrayBuffer || v instanceof SharedArrayBuffer,
  isArrayBufferView: (v) => ArrayBuffer.isView(v),
  isDataView: (v) => v instanceof DataView,
  isTypedArray: (v) => typedTag.call(v) !== undefined,
  isAsyncFunction: sourceKind("AsyncFunction"),
  isGeneratorFunction: (v) => typeof v === "function" && /^(Async)?GeneratorFunction$/.test(v.constructor?.name),
  isGeneratorObject: (v) => /Generator$/.test(tag(v)),
  isMapIterator: (v) => tag(v) === "Map Iterator",
  isSetIterator: (v) => tag(v) === "Set Iterator",
  isArgumentsObject: (v) => tag(v) === "Arguments",
  isBoxedPrimitive: boxed,
  isNumberObject: (v) => boxed(v) && typeof v.valueOf() === "number",
  isStringObject: (v) => boxed(v) && typeof v.valueOf() === "string",
  isBooleanObject: (v) => boxed(v) && typeof v.valueOf() === "boolean",
  isSymbolObject: (v) => boxed(v) && typeof v.valueOf() === "symbol",
  isBigIntObject: (v) => boxed(v) && typeof v.valueOf() === "bigint",
  isModuleNamespaceObject: (v) => tag(v) === "Module",
  isProxy: () => false, // the language does not tell
  isExternal: () => false,
  isKeyObject: () => false,
  isCryptoKey: () => false,
};
for (const name of [
  "Int8Array",
  "Uint8Array",
  "Uint8ClampedArray",
  "Int16Array",
  "Uint16Array",
  "Int32Array",
  "Uint32Array",
  "Float32Array",
  "Float64Array",
  "BigInt64Array",
  "BigUint64Array",
]) {
  types[`is${name}`] = (v) => typedTag.call(v) === name;
}
module.exports = types;
