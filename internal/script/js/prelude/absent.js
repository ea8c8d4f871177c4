// Modules of Node.js that this runtime has not got, or not all of.
import { missing } from "./host.js";

// What programs ask any module for, to find out what kind of thing it is.
const asked = new Set(["then", "default", "__esModule", "toJSON", "module.exports", "$$typeof", "nodeType"]);

/**
 * A module that can be imported, and says on use that it is not there. The
 * names that it has not got come from its prototype, because that survives
 * what bundlers do to modules.
 */
export function absent(name, advice, have = {}) {
  const stubs = new Map();
  const anything = new Proxy(Object.prototype, {
    get(target, key) {
      if (typeof key === "symbol" || key in target || asked.has(key)) return target[key];
      if (!stubs.has(key)) stubs.set(key, missing(name, `${advice} (${key} was used)`));
      return stubs.get(key);
    },
    has: (target, key) => key in target || (typeof key === "string" && !asked.has(key)),
  });
  return Object.assign(Object.create(anything), have);
}

/** A module of which the names in a list are not there. */
export function partial(name, have, names, advice) {
  for (const key of names.split(" ")) {
    if (!(key in have)) have[key] = missing(`${key} of ${name}`, advice);
  }
  return have;
}
