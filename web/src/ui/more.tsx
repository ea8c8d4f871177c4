import { useState } from 'react';

import type { Pages } from '../api/usepages';
import { Button } from './parts';

/** A text of which the first characters are shown, and all of it when it is asked for. */
export function Long({ text, most }: { text: string; most: number }) {
  const [whole, setWhole] = useState<string>();
  if (text === whole || text.length <= most) return text;
  return (
    <>
      {text.slice(0, most)}
      <button type="button" onClick={(e) => (e.stopPropagation(), setWhole(text))} className="ml-1 rounded-sm bg-sunk px-1 text-faint hover:text-ink">… {(text.length - most).toLocaleString()} more characters</button>
    </>
  );
}

/** Shows the next page of a list, if there is one. */
export function More({ of, label = 'Show more' }: { of: Pages; label?: string }) {
  if (!of.hasNextPage) return null;
  return (
    <div className="mt-3 flex justify-center">
      <Button onClick={() => void of.fetchNextPage()} disabled={of.isFetchingNextPage}>{of.isFetchingNextPage ? 'Loading…' : label}</Button>
    </div>
  );
}
