import type { Json, JsonObject } from '../api/types';

export interface Change {
  /** Where it is: the keys from the top. */
  path: string[];
  kind: 'added' | 'removed' | 'changed';
  before?: Json;
  after?: Json;
}

const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

export function equal(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => equal(item, b[i]));
  if (isObject(a) && isObject(b)) {
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && keys.every((k) => k in b && equal(a[k], b[k]));
  }
  return false;
}

/** What is different, down to the members of objects; lists are compared as a whole. */
export function diff(before: JsonObject, after: JsonObject, path: string[] = []): Change[] {
  const changes: Change[] = [];
  for (const key of [...new Set([...Object.keys(before), ...Object.keys(after)])].sort()) {
    const here = [...path, key];
    const a = before[key];
    const b = after[key];
    if (!(key in before)) changes.push({ path: here, kind: 'added', after: b! });
    else if (!(key in after)) changes.push({ path: here, kind: 'removed', before: a! });
    else if (isObject(a) && isObject(b)) changes.push(...diff(a, b, here));
    else if (!equal(a, b)) changes.push({ path: here, kind: 'changed', before: a!, after: b! });
  }
  return changes;
}
