// A workflow as a drawing, and as a list.
import { useEffect, useMemo, useRef, useState } from 'react';

import { innerCorner, layoutOf, nodeHeight, type Layout, type Placed } from '../log/layout';
import { describe, type Flow, type NodeState, type NodeStatus } from '../log/workflow';

const looks: { [status in NodeStatus]: { box: string; mark: string; note: string } } = {
  idle: { box: 'border-rule bg-sheet', mark: '', note: '' },
  active: { box: 'border-busy bg-sheet ring-1 ring-busy', mark: 'text-busy', note: 'active' },
  waiting: { box: 'border-wait bg-waittint', mark: 'text-wait', note: 'waiting' },
  answered: { box: 'border-wait bg-sheet', mark: 'text-wait', note: 'answered' },
  done: { box: 'border-good bg-sheet', mark: 'text-good', note: 'done' },
  failed: { box: 'border-bad bg-badtint', mark: 'text-bad', note: 'failed' },
  stopped: { box: 'border-dashed border-rule bg-sheet', mark: 'text-faint', note: 'unfinished' },
  skipped: { box: 'border-dashed border-line bg-transparent', mark: 'text-faint', note: 'skipped' },
};

const marks: Partial<{ [status in NodeStatus]: string }> = {
  done: 'M2 5.5 4.5 8 8.5 2.5', failed: 'M2 2l6 6M8 2 2 8', waiting: 'M3 2v6M7 2v6', answered: 'M2 5.5 4.5 8 8.5 2.5', stopped: 'M2.5 2.5h5v5h-5z', skipped: 'M2 5h6',
};

function Mark({ status }: { status: NodeStatus }) {
  if (status === 'active') return <span className={`pulse size-2 shrink-0 rounded-full bg-current ${looks.active.mark}`} aria-hidden="true" />;
  if (!marks[status]) return null;
  return <svg width="10" height="10" viewBox="0 0 10 10" fill="none" stroke="currentColor" strokeWidth="1.6" aria-hidden="true" className={`shrink-0 ${looks[status].mark}`}><path d={marks[status]} /></svg>;
}

interface Props {
  flow: Flow;
  /** Shows an event of a node. */
  select?: (event: string) => void;
}

/** The drawing. It shrinks to the width that there is, as far as it can be read. */
export function FlowDrawing({ flow, select }: Props) {
  const layout = useMemo(() => layoutOf(flow), [flow]);
  const frame = useRef<HTMLDivElement>(null);
  const [room, setRoom] = useState(0);
  useEffect(() => {
    const watch = new ResizeObserver(([entry]) => setRoom(entry!.contentRect.width));
    if (frame.current) watch.observe(frame.current);
    return () => watch.disconnect();
  }, []);
  const scale = room > 0 ? Math.max(0.72, Math.min(1, room / (layout.width + 4))) : 1;
  return (
    <div ref={frame} className="w-full">
      <div role="group" aria-label={`The nodes of ${flow.name}`} className="relative mx-auto" style={{ width: layout.width + 4, height: layout.height + 4, zoom: scale }} data-flow={flow.scope}>
        <div className="absolute top-0.5 left-0.5"><Boxes layout={layout} select={select} /></div>
      </div>
    </div>
  );
}

function Boxes({ layout, select }: { layout: Layout; select: Props['select'] }) {
  return (
    <>
      <svg aria-hidden="true" className="pointer-events-none absolute top-0 left-0 overflow-visible" width={layout.width} height={layout.height}>
        {[...layout.paths].sort((a, b) => a.edge.taken - b.edge.taken).map((path) => {
          const taken = path.edge.taken > 0;
          return (
            <g key={path.key} data-edge={`${path.edge.from}>${path.edge.to}`} data-taken={path.edge.taken}>
              <path d={path.d} fill="none" stroke={taken ? 'var(--good)' : 'var(--rule)'} strokeWidth={taken ? 1.8 : 1.1} />
              <path d={arrowAt(path.d)} fill={taken ? 'var(--good)' : 'var(--rule)'} />
            </g>
          );
        })}
      </svg>
      {layout.paths.map((path) => path.label && (
        <span key={path.key} aria-hidden="true" title={path.label} className={`absolute z-10 max-w-[110px] -translate-x-1/2 -translate-y-1/2 truncate rounded-sm bg-sheet px-1 font-mono text-[10px] leading-[14px] ${path.edge.taken > 0 ? 'font-semibold text-good' : 'text-faint'}`} style={{ left: path.labelX, top: path.labelY }}>
          {path.label}{path.edge.taken > 1 && ` ×${path.edge.taken}`}
        </span>
      ))}
      {layout.places.map((place) => (place.node ? <NodeBox key={place.key} place={place} node={place.node} select={select} /> : <Start key="start" place={place} />))}
    </>
  );
}

/** The head of an arrow at the end of a path, which comes from above, or from the right. */
function arrowAt(d: string): string {
  const across = /H(-?[\d.]+)$/.exec(d);
  if (across) {
    const y = Number(/(-?[\d.]+)H-?[\d.]+$/.exec(d)![1]);
    return `M${across[1]} ${y}l6 -3.5v7z`;
  }
  const [x, y] = d.split(/[ CVM]/).slice(-2).map(Number);
  return `M${x} ${y}l-3.5 -6h7z`;
}

function Start({ place }: { place: Placed }) {
  return <span aria-hidden="true" title="start" className="absolute rounded-full border-2 border-rule bg-paper" style={{ left: place.x, top: place.y, width: place.width, height: place.height }} />;
}

function NodeBox({ place, node, select }: { place: Placed; node: NodeState; select: Props['select'] }) {
  const look = looks[node.status];
  const corner = place.inner && innerCorner(place);
  const count = node.attempt > 1 ? `attempt ${node.attempt}${node.maxAttempts ? `/${node.maxAttempts}` : ''}` : node.children.length > 0 ? `${node.children.length} ${node.kind.endsWith('item') ? 'item' : 'node'}${node.children.length > 1 ? 's' : ''}` : node.runs > 1 ? `${node.runs} runs` : node.arrived ? `${node.arrived.done}/${node.arrived.of}` : '';
  const stacked = node.kind.endsWith('for each item');
  const note = count || look.note || (stacked ? 'for each item' : node.kind);
  return (
    <div className="absolute" style={{ left: place.x, top: place.y, width: place.width, height: place.height }}>
      {stacked && <span aria-hidden="true" className="absolute -right-1 -bottom-1 h-full w-full rounded-md border border-rule bg-paper" />}
      {place.inner && <span aria-hidden="true" className={`absolute inset-0 rounded-lg border bg-paper/60 ${node.status === 'skipped' ? 'border-dashed border-line' : 'border-rule'}`} />}
      <button
        type="button"
        disabled={!select || !node.event}
        onClick={() => node.event && select?.(node.event)}
        title={`${node.kind} ${node.name}: ${describe(node)}`}
        data-node={node.name}
        data-status={node.status}
        data-attempt={node.attempt}
        className={`relative flex w-full flex-col justify-center border px-2.5 text-left enabled:hover:border-ink ${node.kind === 'join' ? 'rounded-full px-4' : place.inner ? 'rounded-t-lg' : 'rounded-md'} ${look.box}`}
        style={{ height: place.inner ? nodeHeight - 4 : place.height }}
      >
        <span className="flex items-center gap-1.5">
          <span className={`min-w-0 truncate font-mono text-[11.5px] leading-4 font-semibold ${node.status === 'skipped' ? 'text-faint' : 'text-ink'}`}>{node.name}</span>
          <span className="sr-only">{node.kind}: {describe(node)}</span>
          <span className="ml-auto flex"><Mark status={node.status} /></span>
        </span>
        <span aria-hidden="true" className={`truncate font-mono text-[10px] leading-[13px] ${look.mark || 'text-faint'}`}>{note}</span>
      </button>
      {place.inner && <div className="absolute" style={{ left: corner!.x, top: corner!.y }}><Boxes layout={place.inner} select={select} /></div>}
    </div>
  );
}

/** The same in words. */
export function FlowList({ flow, select }: Props) {
  return (
    <ol className="border-l border-line pl-3">
      {flow.nodes.map((node) => (
        <li key={node.name} className="py-0.5" data-listed={node.name}>
          <p className="flex flex-wrap items-baseline gap-x-2">
            {select && node.event ? (
              <button type="button" onClick={() => select(node.event!)} className="font-mono text-2xs font-semibold hover:underline">{node.name}</button>
            ) : (
              <span className="font-mono text-2xs font-semibold">{node.name}</span>
            )}
            <span className="label">{node.kind}</span>
            <span className={`text-xs [overflow-wrap:anywhere] ${looks[node.status].mark || 'text-soft'}`}>{describe(node)}</span>
          </p>
          {node.children.length > 0 && <p className="label">{node.children.map((c) => `${c.name} ${c.status}`).join(', ')}</p>}
          {node.inner && <FlowList flow={node.inner} {...(select ? { select } : {})} />}
        </li>
      ))}
    </ol>
  );
}
