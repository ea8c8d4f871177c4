import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';

import type { Part } from '../api/types';
import { Action, Button, Empty } from '../ui/parts';
import { RowView, type LogProps } from './rowview';

/** The log. Only the rows that can be seen are in the document. */
export function LogView(props: LogProps) {
  const { rows, selected } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const stuck = useRef(true); // to the end
  const [away, setAway] = useState(false);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 44,
    getItemKey: (i) => rows[i]!.key,
    overscan: 8,
    paddingStart: 12,
    paddingEnd: 20,
  });
  const total = virtual.getTotalSize();
  useLayoutEffect(() => {
    if (stuck.current && scroller.current) scroller.current.scrollTop = scroller.current.scrollHeight;
  }, [total, rows]);
  const { sent } = props.snapshot;
  useLayoutEffect(() => {
    if (sent === 0 || !scroller.current) return;
    stuck.current = true; // who sends a message wants to see it, and the answer
    scroller.current.scrollTop = scroller.current.scrollHeight;
  }, [sent]);
  useEffect(() => {
    const at = rows.findIndex((r) => r.key === selected);
    if (at >= 0) virtual.scrollToIndex(at, { align: 'auto' });
  }, [selected]);
  if (rows.length === 0) return <Welcome {...props} />;
  const last = props.snapshot.events.at(-1);
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <p role="status" className="sr-only">{!props.snapshot.active && last && last.author !== 'user' && `${last.author} is done, at event ${props.snapshot.events.length}.`}</p>
      <div
        ref={scroller}
        data-log
        tabIndex={0}
        aria-label="Events"
        role="region"
        className="min-h-0 flex-1 overflow-y-auto"
        onScroll={(e) => {
          const el = e.currentTarget;
          stuck.current = el.scrollHeight - el.scrollTop - el.clientHeight < 40;
          setAway(!stuck.current);
        }}
      >
        <ol className="relative" style={{ height: total }}>
          {virtual.getVirtualItems().map((item) => (
            <li
              key={item.key}
              ref={virtual.measureElement}
              data-index={item.index}
              data-row
              aria-setsize={rows.length}
              aria-posinset={item.index + 1}
              className="absolute inset-x-0 top-0"
              style={{ transform: `translateY(${item.start}px)` }}
            >
              <RowView {...props} row={rows[item.index]!} />
            </li>
          ))}
        </ol>
      </div>
      {away && (
        // Below the events, as it would cover what they say.
        <div className="flex shrink-0 justify-end border-t px-4 py-1 md:px-6">
          <Button icon="down" onClick={() => ((stuck.current = true), virtual.scrollToIndex(rows.length - 1, { align: 'end' }))}>Latest</Button>
        </div>
      )}
    </div>
  );
}

function Welcome({ model }: LogProps) {
  const opener = (name: string, text: string) => <Action call={model.startCall([{ text }])} onClick={() => void model.send([{ text } as Part])}>{name}</Action>;
  return (
    <div className="flex min-h-0 flex-1 items-center justify-center overflow-y-auto p-6">
      <div className="w-full max-w-[520px]">
        <Empty title="Start the conversation" action={<>{opener('Say hello', 'Hello')}{opener('Ask what it can do', 'What can you do?')}</>}>
          Write the first message below. Every event of the answer appears here, with its number in the log.
        </Empty>
      </div>
    </div>
  );
}
