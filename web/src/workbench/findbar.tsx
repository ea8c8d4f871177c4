import { useEffect, useMemo, useRef, useState } from 'react';

import type { Event } from '../api/types';
import { eventsWith } from '../log/find';
import { placeBeside } from '../log/rows';
import { Button } from '../ui/parts';

interface Props {
  events: Event[];
  /** The places of those that have a row. */
  shown: number[];
  /** The place of the event that is chosen, or -1. */
  selected: number;
  select: (event: Event) => void;
  close: () => void;
}

/** Finds a text in the conversation, and goes from one event with it to the next. */
export function FindBar({ events, shown, selected, select, close }: Props) {
  const [text, setText] = useState('');
  const found = useMemo(() => {
    const all = eventsWith(events, text);
    const rows = new Set(all.length > 0 ? shown : []);
    return all.filter((i) => rows.has(i));
  }, [events, shown, text]);
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => box.current?.focus(), []);
  const at = found.indexOf(selected);
  const go = (step: 1 | -1) => {
    const next = step > 0 ? (placeBeside(found, selected, 1) ?? found[0]) : ((selected < 0 ? undefined : placeBeside(found, selected, -1)) ?? found.at(-1));
    if (next !== undefined) select(events[next]!);
  };
  return (
    <form role="search" className="flex shrink-0 items-center gap-1 border-b bg-sheet px-4 py-1.5 md:px-6" onSubmit={(e) => (e.preventDefault(), go(1))}>
      <input
        ref={box}
        type="search"
        aria-label="Find in the conversation"
        placeholder="Find in the conversation"
        value={text}
        onChange={(e) => setText(e.target.value)}
        onKeyDown={(e) => {
          if (e.key === 'Enter' && e.shiftKey) e.preventDefault(), go(-1);
          if (e.key === 'Escape') e.preventDefault(), close();
        }}
        className="field min-w-0 flex-1"
      />
      <span role="status" className="min-w-14 text-center font-mono text-2xs text-faint">{text.trim() && (at < 0 ? `${found.length} found` : `${at + 1} of ${found.length}`)}</span>
      <Button tone="quiet" icon="before" bare disabled={found.length === 0} onClick={() => go(-1)}>Previous match</Button>
      <Button tone="quiet" icon="after" bare disabled={found.length === 0} onClick={() => go(1)}>Next match</Button>
      <Button tone="quiet" icon="close" bare onClick={close}>Close the search</Button>
    </form>
  );
}
