// Modules of Node.js that this runtime has not got, or not all of. They can be
// imported, because libraries import more than they use, and say where they are
// used that they are not there.
import { missing } from "./host.js";

/**
 * A module that is not there. names are what Node.js has in it: a library that
 * looks for something newer must not find it.
 */
export function absent(name, advice, names, have = {}) {
  for (const key of names.split(" ")) have[key] ??= missing(name, `${advice} (${key} was used)`);
  return have;
}

/** A module of which the names in a list are not there. */
export function partial(name, have, names, advice) {
  for (const key of names.split(" ")) have[key] ??= missing(`${key} of ${name}`, advice);
  return have;
}
