// JSON as lines that can be folded, found and pointed at.
import type { Json } from '../api/types';

export type Path = (string | number)[];

export interface Line {
  /** Of the value that the line shows or begins; the end of a value has that of its beginning, with a mark. */
  id: string;
  path: Path;
  depth: number;
  /** The name of a member of an object. */
  name?: string;
  kind: 'value' | 'begin' | 'end' | 'folded';
  /** A value that is not an object or a list. */
  value?: Json;
  brackets: '{}' | '[]';
  /** How many members are within. */
  count: number;
  /** Nothing follows in the same object or list. */
  last: boolean;
}

const isContainer = (value: Json): value is Json[] | { [key: string]: Json } => typeof value === 'object' && value !== null;
export const idOf = (path: Path) => JSON.stringify(path);

/** The lines of a value; what is folded takes one. */
export function linesOf(value: Json, folded: ReadonlySet<string>): Line[] {
  const out: Line[] = [];
  const add = (value: Json, path: Path, name: string | undefined, last: boolean) => {
    const depth = path.length;
    const common = { path, depth, last, ...(name === undefined ? {} : { name }) };
    const id = idOf(path);
    if (!isContainer(value)) return void out.push({ ...common, id, kind: 'value', value, brackets: '{}', count: 0 });
    const list = Array.isArray(value);
    const brackets = list ? '[]' : '{}';
    const members: [string | number, Json][] = list ? value.map((v, i) => [i, v]) : Object.entries(value);
    if (members.length === 0 || folded.has(id)) return void out.push({ ...common, id, kind: 'folded', brackets, count: members.length });
    out.push({ ...common, id, kind: 'begin', brackets, count: members.length });
    members.forEach(([key, member], i) => add(member, [...path, key], list ? undefined : String(key), i === members.length - 1));
    out.push({ path, depth, last, id: `${id}$`, kind: 'end', brackets, count: members.length });
  };
  add(value, [], undefined, true);
  return out;
}

/** The ids of all that can be folded, from a depth on, and of what has more members than that. */
export function foldable(value: Json, from: number, most = Infinity, path: Path = [], out = new Set<string>()): Set<string> {
  if (!isContainer(value)) return out;
  const members: [string | number, Json][] = Array.isArray(value) ? value.map((v, i) => [i, v]) : Object.entries(value);
  if (path.length >= from || members.length > most) out.add(idOf(path));
  for (const [key, member] of members) foldable(member, from, most, [...path, key], out);
  return out;
}

/** A path as one would write it in code: content.parts[0]["a b"]. */
export function pathText(path: Path): string {
  return path
    .map((step, i) => (typeof step === 'number' ? `[${step}]` : /^[A-Za-z_$][\w$]*$/.test(step) ? (i === 0 ? step : `.${step}`) : `[${JSON.stringify(step)}]`))
    .join('');
}

/** The value at a path. */
export const valueAt = (value: Json, path: Path): Json => path.reduce<Json>((at, step) => (at as never)[step], value);

/** Whether the name or the value of a line has a text in it, which is in lower case. */
export const hasText = (line: Line, text: string) =>
  line.name?.toLowerCase().includes(text) === true || (line.kind === 'value' && String(line.value).toLowerCase().includes(text));
