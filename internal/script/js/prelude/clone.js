import { Blob, File } from "./blob.js";
import { DOMException } from "./exception.js";

const errors = [Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError];
const refuse = (what) => {
  throw new DOMException(`${what} could not be cloned.`, "DataCloneError");
};

/** A deep copy of what is data. */
export function structuredClone(value, { transfer = [] } = {}) {
  if (arguments.length === 0) throw new TypeError("structuredClone takes a value");
  const seen = new Map();
  for (const buffer of transfer) {
    if (!(buffer instanceof ArrayBuffer)) refuse("A value in the transfer list");
    seen.set(buffer, buffer.transfer());
  }
  return copy(value, seen);
}

function copy(value, seen) {
  if (typeof value === "symbol" || typeof value === "function")
    refuse(typeof value === "symbol" ? String(value) : String(value.name || "A function"));
  if (typeof value !== "object" || value === null) return value;
  if (seen.has(value)) return seen.get(value);
  const keep = (made) => {
    seen.set(value, made);
    return made;
  };

  if (value instanceof Date) return keep(new Date(value.getTime()));
  if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
  if (value instanceof ArrayBuffer) return keep(value.slice(0));
  if (value instanceof SharedArrayBuffer) return keep(value);
  if (ArrayBuffer.isView(value)) {
    const buffer = copy(value.buffer, seen);
    // A Buffer becomes a Uint8Array, as in Node.js.
    const type = Object.getPrototypeOf(Uint8Array.prototype);
    const tag = value instanceof DataView ? "DataView" : Reflect.get(type, Symbol.toStringTag, value);
    return keep(
      new globalThis[tag](buffer, value.byteOffset, value instanceof DataView ? value.byteLength : value.length),
    );
  }
  if (value instanceof Map) {
    const made = keep(new Map());
    for (const [k, v] of [...value]) made.set(copy(k, seen), copy(v, seen));
    return made;
  }
  if (value instanceof Set) {
    const made = keep(new Set());
    for (const item of [...value]) made.add(copy(item, seen));
    return made;
  }
  if (value instanceof DOMException) return keep(new DOMException(value.message, value.name));
  if (value instanceof Error) {
    const type = errors.find((e) => e.name === value.name) ?? Error;
    const made = keep(Object.create(type.prototype));
    const set = (name, v) => Object.defineProperty(made, name, { value: v, writable: true, configurable: true });
    set("stack", String(value.stack ?? ""));
    if (value.message !== undefined) set("message", String(value.message));
    if (Object.hasOwn(value, "cause")) set("cause", copy(value.cause, seen));
    return made;
  }
  if (value instanceof File) return keep(new File([value], value.name, value));
  if (value instanceof Blob) return keep(new Blob([value], { type: value.type }));
  const wrapped = value.valueOf?.();
  if (
    wrapped !== null &&
    typeof wrapped !== "object" &&
    [Number, String, Boolean, BigInt].some((type) => value instanceof type)
  )
    return keep(Object(wrapped));
  if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef)
    refuse(`#<${value.constructor.name}>`);

  const made = keep(Array.isArray(value) ? new Array(value.length) : {});
  for (const key of Object.keys(value)) {
    Object.defineProperty(made, key, {
      value: copy(value[key], seen),
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }
  return made;
}
