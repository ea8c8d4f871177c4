// Modules of Node.js that this runtime does not have, or has in part. They can be
// imported, because libraries import more than they use, and throw an error where
// they are used.
import { missing } from "./host.js";

/** What to do where nothing else helps. */
export const useNode = 'put "parley": {"engine": "node"} into the package.json of the agent';

/**
 * A module that is not available. names are the exports in Node.js: a library that
 * checks for a newer one must not find it.
 */
export function absent(name, advice, names, have = {}) {
  for (const key of names.split(" ")) have[key] ??= missing(name, `${advice} (${key} was used)`);
  return have;
}

/** A module without the exports in a list. */
export function partial(name, have, names, advice) {
  for (const key of names.split(" ")) have[key] ??= missing(`${key} of ${name}`, advice);
  return have;
}
