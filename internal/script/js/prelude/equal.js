/** Whether two values are the same all the way down; strictly, or as == sees it. */
export function equal(a, b, strict = true, seen = new Map()) {
  if (strict ? Object.is(a, b) : a == b || (a !== a && b !== b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (seen.get(a) === b) return true; // it was met on the way here
  seen.set(a, b);
  if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (Array.isArray(a) !== Array.isArray(b) || Object.prototype.toString.call(a) !== Object.prototype.toString.call(b))
    return false;
  if (a instanceof Date) {
    if (a.getTime() !== b.getTime()) return false;
  } else if (a instanceof RegExp) {
    if (String(a) !== String(b) || a.lastIndex !== b.lastIndex) return false;
  } else if (a instanceof Error) {
    if (a.message !== b.message || a.name !== b.name) return false;
  } else if (a instanceof Number || a instanceof String || a instanceof Boolean) {
    if (!Object.is(a.valueOf(), b.valueOf())) return false;
  } else if (a instanceof Map) {
    if (a.size !== b.size || ![...a].every(([k, v]) => hasEntry(b, k, v, strict, seen))) return false;
  } else if (a instanceof Set) {
    if (
      a.size !== b.size ||
      ![...a].every((v) => b.has(v) || (typeof v === "object" && [...b].some((w) => equal(v, w, strict, seen))))
    )
      return false;
  } else if (a instanceof ArrayBuffer) {
    return equal(new Uint8Array(a), new Uint8Array(b), strict, seen);
  } else if (a instanceof Promise || a instanceof WeakMap || a instanceof WeakSet) {
    return false;
  }
  const keys = Reflect.ownKeys(a).filter((k) => Object.prototype.propertyIsEnumerable.call(a, k));
  const others = Reflect.ownKeys(b).filter((k) => Object.prototype.propertyIsEnumerable.call(b, k));
  if (keys.length !== others.length) return false;
  return keys.every((k) => Object.hasOwn(b, k) && equal(a[k], b[k], strict, seen));
}

function hasEntry(map, key, value, strict, seen) {
  if (map.has(key)) return equal(value, map.get(key), strict, seen);
  return (
    typeof key === "object" && [...map].some(([k, v]) => equal(key, k, strict, seen) && equal(value, v, strict, seen))
  );
}
