import { useState } from 'react';

import { keepFilters, keepSearches, keptFilters, keptSearches } from '../kept';
import { navigate, useQuery } from '../router';
import { Button } from '../ui/parts';

/** The most that the browser keeps of each screen. */
const most = 12;

interface Props {
  /** What they are, such as search. */
  kind: string;
  /** The name of those that belong together. */
  group: string;
  stored: { kept: () => Record<string, string[]>; keep: (all: Record<string, string[]>) => void };
  /** The one that is in effect, or none. */
  now: string;
  label: (one: string) => string;
  pick: (one: string) => void;
}

/** Searches or filters that the browser keeps, and a button that saves the one in effect. */
function Saved({ kind, group, stored, now, label, pick }: Props) {
  const [all, setAll] = useState(stored.kept);
  const saved = all[group] ?? [];
  const keep = (list: string[]) => {
    const next = { ...all, [group]: list };
    stored.keep(next);
    setAll(next);
  };
  if (saved.length === 0 && !now) return null;
  return (
    <div role="group" aria-label={`Saved ${kind}${kind === 'search' ? 'es' : 's'}`} className="flex flex-wrap items-center gap-1.5">
      {saved.map((one) => (
        <button key={one} type="button" aria-pressed={one === now} onClick={() => pick(one === now ? '' : one)} className="max-w-48 truncate rounded-sm bg-tint px-1.5 font-mono text-2xs leading-5 text-accent hover:underline aria-pressed:bg-accent max-md:h-9 aria-pressed:text-sheet">
          {label(one)}
        </button>
      ))}
      {now && (saved.includes(now)
        ? <Button command={`Delete this ${kind}`} tone="quiet" className="max-md:first:-ml-2.5" onClick={() => keep(saved.filter((one) => one !== now))}>Delete this {kind}</Button>
        : <Button command={`Save this ${kind}`} tone="quiet" className="max-md:first:-ml-2.5" onClick={() => keep([...saved, now].slice(-most))}>Save this {kind}</Button>)}
    </div>
  );
}

/** Searches in the sessions of an application. */
export function SavedSearches({ app, search, pick }: { app: string; search: string; pick: (search: string) => void }) {
  return <Saved kind="search" group={app} stored={{ kept: keptSearches, keep: keepSearches }} now={search.trim()} label={(one) => one} pick={pick} />;
}

/** Filters of a screen that has them in the query of its address. */
export function SavedFilters({ screen }: { screen: string }) {
  const query = useQuery();
  query.sort(); // the same filters are the same, in any order
  return (
    <Saved
      kind="filter" group={screen} stored={{ kept: keptFilters, keep: keepFilters }} now={query.toString()}
      label={filterLabel} pick={(one) => navigate(window.location.pathname + (one && `?${one}`), { replace: true })}
    />
  );
}

/** A filter in words, such as kind: login, user: ann. */
export const filterLabel = (query: string) => [...new URLSearchParams(query)].map(([name, value]) => `${name}: ${value}`).join(', ');
