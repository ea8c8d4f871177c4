import { useMemo } from 'react';

import type { Json } from '../api/types';
import { sortedJson } from '../log/turn';
import { wordDiff, type Piece } from '../log/words';

/** A text with what was removed and added, by word. Without before, the text as it is. The names of the texts are for screen readers. */
export function DiffText({ before, after, names = ['removed', 'added'], className = '' }: { before?: string; after: string; names?: [string, string]; className?: string }) {
  const pieces = useMemo(() => wordDiff(before ?? after, after), [before, after]);
  return (
    <span className={`whitespace-pre-wrap [overflow-wrap:anywhere] ${className}`}>
      {pieces.map(({ kind, text }, i) =>
        kind === 'same' ? text
        : kind === 'removed' ? <del key={i} className="rounded-xs bg-badtint text-bad"><span className="sr-only"> {names[0]}: </span>{text}</del>
        : <ins key={i} className={`rounded-xs bg-tint text-accent no-underline ${apart(pieces[i - 1]) ? 'ml-[3px]' : ''}`}><span className="sr-only"> {names[1]}: </span>{text}</ins>)}
    </span>
  );
}

/** Whether what is added needs a gap, so that words do not run together: it follows what was removed, on the same line. */
const apart = (before: Piece | undefined) => before?.kind === 'removed' && !before.text.endsWith('\n');

/** Two values: texts by word, and others as JSON. */
export function DiffValue({ before, after }: { before: Json | undefined; after: Json | undefined }) {
  if (typeof before === 'string' && typeof after === 'string') return <DiffText before={before} after={after} />;
  return <DiffText before={sortedJson(before)} after={sortedJson(after)} className="json" />;
}
