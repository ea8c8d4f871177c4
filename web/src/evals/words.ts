// Differences of two texts, by word.
export interface Piece {
  text: string;
  kind: 'same' | 'removed' | 'added';
}

/** The most words that are compared; longer texts are shown as a whole. */
const most = 2000;

/** What of a text is expected and not there, and what is there and not expected, in order. */
export function compareWords(expected: string, actual: string): Piece[] {
  const a = expected.match(/\s+|[^\s]+/g) ?? [];
  const b = actual.match(/\s+|[^\s]+/g) ?? [];
  if (a.length > most || b.length > most) return expected === actual ? [{ text: expected, kind: 'same' }] : joined([{ text: expected, kind: 'removed' }, { text: actual, kind: 'added' }]);
  // The longest common subsequence, from the end.
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] = a[i] === b[j] ? lengths[(i + 1) * width + j + 1]! + 1 : Math.max(lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!);
    }
  }
  const pieces: Piece[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      pieces.push({ text: a[i]!, kind: 'same' });
      i++;
      j++;
    } else if (i < a.length && (j >= b.length || lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!)) {
      pieces.push({ text: a[i++]!, kind: 'removed' });
    } else {
      pieces.push({ text: b[j++]!, kind: 'added' });
    }
  }
  return joined(pieces);
}

/** Neighbours of the same kind as one. */
function joined(pieces: Piece[]): Piece[] {
  const out: Piece[] = [];
  for (const piece of pieces) {
    const last = out.at(-1);
    if (last?.kind === piece.kind) last.text += piece.text;
    else if (piece.text) out.push({ ...piece });
  }
  return out;
}
