// Differences of two texts, by word.

export interface Piece {
  kind: 'same' | 'removed' | 'added';
  text: string;
}

/** How many pairs of words are compared at most. Longer texts are compared by line, and then as a whole. */
const most = 4_000_000;

/** What has to be removed from one text, and added, to get the other. */
export function wordDiff(before: string, after: string): Piece[] {
  if (before === after) return before ? [{ kind: 'same', text: before }] : [];
  return between(split(before, /\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu), split(after, /\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu)) ?? between(split(before, /[^\n]*\n|[^\n]+$/g), split(after, /[^\n]*\n|[^\n]+$/g)) ?? join([['removed', before], ['added', after]]);
}

const split = (text: string, by: RegExp): string[] => text.match(by) ?? [];

function between(a: string[], b: string[]): Piece[] | undefined {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const left = a.slice(start, a.length - end);
  const right = b.slice(start, b.length - end);
  if (left.length * right.length > most) return undefined;
  const pairs: [Piece['kind'], string][] = a.slice(0, start).map((w) => ['same', w]);
  let i = 0;
  let j = 0;
  for (const [x, y] of commonOf(left, right, (l, r) => l === r)) {
    while (i < x) pairs.push(['removed', left[i++]!]);
    while (j < y) pairs.push(['added', right[j++]!]);
    pairs.push(['same', left[i]!]);
    i++;
    j++;
  }
  while (i < left.length) pairs.push(['removed', left[i++]!]);
  while (j < right.length) pairs.push(['added', right[j++]!]);
  return join([...pairs, ...a.slice(a.length - end).map((w): [Piece['kind'], string] => ['same', w])]);
}

/** The pairs of places at which the longest common sequence of two lists is. */
export function commonOf<A, B>(a: A[], b: B[], equal: (x: A, y: B) => boolean): [number, number][] {
  const width = b.length + 1;
  const lengths = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] = equal(a[i]!, b[j]!) ? lengths[(i + 1) * width + j + 1]! + 1 : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
    }
  }
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (equal(a[i]!, b[j]!)) pairs.push([i++, j++]);
    else if (lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!) i++;
    else j++;
  }
  return pairs;
}

/** Joins neighbours. Between two changes, a space alone is a part of the change: whole phrases are read more easily. */
function join(pairs: [Piece['kind'], string][]): Piece[] {
  const out: Piece[] = [];
  let removed = '';
  let added = '';
  const flush = () => {
    if (removed) out.push({ kind: 'removed', text: removed });
    if (added) out.push({ kind: 'added', text: added });
    removed = added = '';
  };
  pairs.forEach(([kind, text], i) => {
    const next = pairs[i + 1]?.[0];
    if (kind === 'removed') removed += text;
    else if (kind === 'added') added += text;
    else if (removed && added && next !== undefined && next !== 'same' && text.trim() === '') {
      removed += text;
      added += text;
    } else {
      flush();
      const last = out.at(-1);
      if (last?.kind === 'same') last.text += text;
      else out.push({ kind: 'same', text });
    }
  });
  flush();
  return out;
}
