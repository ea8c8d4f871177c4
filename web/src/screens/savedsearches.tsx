import { useState } from 'react';

import { keepSearches, keptSearches } from '../kept';
import { Button } from '../ui/parts';

/** Searches that the browser keeps for an application. */
export function SavedSearches({ app, search, pick }: { app: string; search: string; pick: (search: string) => void }) {
  const [all, setAll] = useState(keptSearches);
  const saved = all[app] ?? [];
  const keep = (list: string[]) => {
    const next = { ...all, [app]: list };
    keepSearches(next);
    setAll(next);
  };
  const now = search.trim();
  const known = saved.includes(now);
  if (saved.length === 0 && !now) return null;
  return (
    <div role="group" aria-label="Saved searches" className="flex flex-wrap items-center gap-1.5">
      {saved.map((one) => (
        <button key={one} type="button" aria-pressed={one === now} onClick={() => pick(one === now ? '' : one)} className="max-w-48 truncate rounded-sm bg-tint px-1.5 font-mono text-2xs leading-5 text-accent hover:underline aria-pressed:bg-accent aria-pressed:text-sheet">
          {one}
        </button>
      ))}
      {now && (known
        ? <Button tone="quiet" onClick={() => keep(saved.filter((one) => one !== now))}>Forget this search</Button>
        : <Button tone="quiet" onClick={() => keep([...saved, now].slice(-12))}>Save this search</Button>)}
    </div>
  );
}
