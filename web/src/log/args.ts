// Arguments of a tool, as a form that follows their JSON Schema. What a form cannot
// show is a field for JSON.
import type { Json, JsonObject } from '../api/types';

/** What was typed in and is not a value of its kind. */
export class Unreadable {
  constructor(readonly text: string, readonly kind: string) {}
}

/** A value while it is edited; undefined if it is not given. */
export type Draft = undefined | null | boolean | number | string | Unreadable | Draft[] | { [name: string]: Draft };

export type Shape =
  | { kind: 'text' | 'long' | 'number' | 'integer' | 'boolean' | 'json'; schema: JsonObject }
  | { kind: 'choice'; schema: JsonObject; choices: Json[] }
  | { kind: 'object'; schema: JsonObject; members: { name: string; schema: JsonObject; required: boolean }[] }
  | { kind: 'list'; schema: JsonObject; item: JsonObject }
  | { kind: 'variants'; schema: JsonObject; variants: { label: string; schema: JsonObject }[] };

/** Deeper than this, parts are JSON: schemas may contain themselves. */
const deepest = 6;

const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);
const list = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** A schema without references to other parts of the whole, and without the type null. */
export function resolve(schema: JsonObject, root: JsonObject): JsonObject {
  let now = schema;
  for (let i = 0; i < 10; i++) {
    const ref = now['$ref'];
    const either = [...list(now['anyOf']), ...list(now['oneOf'])].filter((s) => typeOf(s) !== 'null');
    const { $ref: _ref, anyOf: _anyOf, oneOf: _oneOf, allOf, ...rest } = now;
    if (typeof ref === 'string' && ref.startsWith('#/')) {
      const found = ref.slice(2).split('/').reduce<Json | undefined>((at, name) => (isObject(at) ? at[decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~')] : undefined), root);
      now = { ...(isObject(found) ? found : {}), ...rest };
    } else if (either.length === 1) now = { ...either[0], ...rest };
    else if (list(allOf).length > 0) now = { ...list(allOf).reduce<JsonObject>((sum, s) => merge(sum, resolve(s, root)), {}), ...rest };
    else break;
  }
  return now;
}

function merge(a: JsonObject, b: JsonObject): JsonObject {
  const properties = { ...(isObject(a['properties']) ? a['properties'] : {}), ...(isObject(b['properties']) ? b['properties'] : {}) };
  const required = [a['required'], b['required']].flatMap((r) => (Array.isArray(r) ? r : []));
  return { ...a, ...b, ...(Object.keys(properties).length > 0 ? { properties } : {}), ...(required.length > 0 ? { required } : {}) };
}

function typeOf(schema: JsonObject): string {
  const type = schema['type'];
  const one = Array.isArray(type) ? (type.filter((t) => t !== 'null').length === 1 ? type.find((t) => t !== 'null') : '') : type;
  return typeof one === 'string' ? one.toLowerCase() : '';
}

/** The field for values of a schema. */
export function shapeOf(given: JsonObject, root: JsonObject, depth = 0): Shape {
  const schema = resolve(given, root);
  if ('const' in schema) return { kind: 'choice', schema, choices: [schema['const']!] };
  const choices = schema['enum'];
  if (Array.isArray(choices) && choices.length > 0) return { kind: 'choice', schema, choices: choices.filter((c) => c !== null) };
  const either = [...list(schema['anyOf']), ...list(schema['oneOf'])].filter((s) => typeOf(s) !== 'null').map((s) => resolve(s, root));
  if (either.length > 1) {
    if (either.every((s) => 'const' in s)) return { kind: 'choice', schema, choices: either.map((s) => s['const']!) };
    if (depth < deepest) return { kind: 'variants', schema, variants: either.map((s, i) => ({ label: variantName(s, i), schema: s })) };
  }
  const properties = schema['properties'];
  const type = typeOf(schema) || (isObject(properties) ? 'object' : isObject(schema['items']) ? 'array' : '');
  switch (type) {
    case 'string':
      return { kind: Number(schema['maxLength'] ?? 0) > 200 || schema['format'] === 'textarea' ? 'long' : 'text', schema };
    case 'number':
    case 'integer':
    case 'boolean':
      return { kind: type, schema };
    case 'object':
      if (!isObject(properties) || depth >= deepest) break;
      return { kind: 'object', schema, members: Object.entries(properties).map(([name, s]) => ({ name, schema: isObject(s) ? s : {}, required: isRequired(schema, name) })) };
    case 'array':
      if (!isObject(schema['items']) || depth >= deepest) break;
      return { kind: 'list', schema, item: schema['items'] };
  }
  return { kind: 'json', schema };
}

const isRequired = (schema: JsonObject, name: string) => Array.isArray(schema['required']) && schema['required'].includes(name);

/** What a person calls one of several schemas. */
function variantName(schema: JsonObject, i: number): string {
  if (typeof schema['title'] === 'string') return schema['title'];
  for (const member of Object.values(isObject(schema['properties']) ? schema['properties'] : {})) {
    const tag = isObject(member) ? (member['const'] ?? (Array.isArray(member['enum']) && member['enum'].length === 1 ? member['enum'][0] : undefined)) : undefined;
    if (typeof tag === 'string') return tag;
  }
  return typeOf(schema) || `variant ${i + 1}`;
}

/** Whether there is nothing to choose. */
export const isFixed = (shape: Shape): shape is Shape & { kind: 'choice' } => shape.kind === 'choice' && shape.choices.length === 1;

/** What a form begins with: defaults, the only choice, and empty objects that are required. */
export function initialOf(given: JsonObject, root: JsonObject, required: boolean, depth = 0): Draft {
  const shape = shapeOf(given, root, depth);
  const preset = shape.schema['default'];
  if (preset !== undefined && preset !== null) return preset;
  if (isFixed(shape) && required) return shape.choices[0];
  if (shape.kind === 'object' && required) {
    return Object.fromEntries(shape.members.map((m) => [m.name, initialOf(m.schema, root, m.required, depth + 1)]).filter(([, value]) => value !== undefined)) as Draft;
  }
  if (shape.kind === 'variants' && required) return initialOf(shape.variants[0]!.schema, root, true, depth + 1);
  if (shape.kind === 'list' && required) return [];
  if (shape.kind === 'boolean' && required) return false;
  return undefined;
}

/** Which of several schemas a value is of, as far as a form has to know. */
export function variantOf(shape: Shape & { kind: 'variants' }, root: JsonObject, value: Draft): number {
  const scored = shape.variants.map(({ schema }) => fits(schema, root, value));
  return Math.max(0, scored.indexOf(Math.max(...scored)));
}

function fits(schema: JsonObject, root: JsonObject, value: Draft): number {
  const shape = shapeOf(schema, root);
  if (isDraftObject(value)) {
    if (shape.kind !== 'object') return 0;
    let score = 1;
    for (const m of shape.members) {
      const one = shapeOf(m.schema, root);
      if (isFixed(one)) score += value[m.name] === one.choices[0] ? 10 : -10;
      else if (value[m.name] !== undefined) score++;
    }
    return score;
  }
  const kind = Array.isArray(value) ? 'list' : typeof value === 'number' ? 'number' : typeof value === 'boolean' ? 'boolean' : 'text';
  return shape.kind === kind || (kind === 'number' && shape.kind === 'integer') || (kind === 'text' && shape.kind === 'long') ? 1 : 0;
}

export const isDraftObject = (value: Draft): value is { [name: string]: Draft } => typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Unreadable);

/** A draft without what is not given, or what is wrong with it. */
export function read(schema: JsonObject, root: JsonObject, draft: Draft, required = true, path = '', depth = 0): { value?: Json; problems: string[] } {
  const name = path || 'The arguments';
  if (draft instanceof Unreadable) return { problems: [`${name} is not ${draft.kind}.`] };
  const shape = shapeOf(schema, root, depth);
  if (draft === undefined && required && isFixed(shape)) return { value: shape.choices[0]!, problems: [] };
  if (draft === undefined) return { problems: required ? [`${name} is required.`] : [] };
  if (shape.kind === 'variants') return read(shape.variants[variantOf(shape, root, draft)]!.schema, root, draft, required, path, depth + 1);
  const at = (member: string) => (path ? `${path}.${member}` : member);
  if (Array.isArray(draft)) {
    const item = shape.kind === 'list' ? shape.item : {};
    const all = draft.map((one, i) => read(item, root, one, true, `${path}[${i}]`, depth + 1));
    return { value: all.map((a) => a.value ?? null), problems: all.flatMap((a) => a.problems) };
  }
  if (!isDraftObject(draft)) return { value: draft, problems: [] };
  const members = new Map(shape.kind === 'object' ? shape.members.map((m) => [m.name, m]) : []);
  const value: JsonObject = {};
  const problems: string[] = [];
  for (const one of new Set([...members.keys(), ...Object.keys(draft)])) {
    const got = read(members.get(one)?.schema ?? {}, root, draft[one], members.get(one)?.required ?? false, at(one), depth + 1);
    problems.push(...got.problems);
    if (got.value !== undefined) value[one] = got.value;
  }
  return { value, problems };
}
