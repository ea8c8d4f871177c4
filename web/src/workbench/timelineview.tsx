import { useEffect, useMemo, useState, type ReactNode } from 'react';

import { serverNow } from '../api/clock';
import type { Event, Run } from '../api/types';
import { count, sumCosts } from '../log/cost';
import { measured, paceWords, type Span } from '../log/spans';
import { summary } from '../log/rows';
import { seconds, timelineOf, type Bar } from '../log/timeline';
import { CostText } from '../ui/cost';
import { Status, authorColour } from '../ui/parts';
import { Virtual } from '../ui/virtual';

const colours: Record<Bar['kind'], string> = { agent: 'var(--rule)', model: 'var(--busy)', tool: 'var(--accent)', wait: 'var(--wait)' };

interface Props {
  events: Event[];
  spans: Span[];
  runs: Run[];
  active: Run | undefined;
  run: string | undefined;
  select: (event: string) => void;
  chooseRun: (run: string) => void;
  /** What can be done with the run. */
  menu?: ReactNode;
  /** The workflow of the run, which can be shown in place of the timeline. */
  workflow?: ReactNode;
}

/** What a run did when. */
export function TimelineView({ events, spans, runs, active, run: id, select, chooseRun, menu, workflow }: Props) {
  const [view, setView] = useState<'workflow' | 'timeline'>('workflow');
  const run = active?.id === id ? active : runs.find((r) => r.id === id);
  const running = run !== undefined && (run.status === 'running' || run.status === 'queued');
  const now = useNow(running);
  const exact = useMemo(() => (id ? measured(spans, events, run, id) : undefined), [spans, events, run, id]);
  const line = useMemo(() => exact ?? (id ? timelineOf(events, run, id) : undefined), [exact, events, run, id]);
  if (!id || !line) {
    if (workflow) return workflow;
    return (
      <div className="px-4 py-3">
        <h2 className="label">run</h2>
        <p className="mt-1 text-soft">{events.length > 0 ? 'The next message starts a run' : 'The first message starts a run'}, and its agents, model calls, tools and waits are drawn here.</p>
      </div>
    );
  }
  const end = line.end ?? Math.max(now, ...line.bars.map((b) => b.end ?? b.start));
  const span = Math.max(end - line.start, 0.001);
  const at = (t: number) => Math.max(0, Math.min(100, ((t - line.start) / span) * 100));
  const usage = run?.usageMetadata;
  return (
    <>
      <div className="shrink-0 px-4 pt-2.5 pb-1.5">
        <div className="flex items-center gap-x-3">
          <label className="flex min-w-0 flex-1 items-center gap-2">
            <span className="label">run</span>
            <select value={id} onChange={(e) => chooseRun(e.target.value)} className="min-w-0 flex-1 truncate bg-transparent font-mono text-2xs max-md:h-9">
              {!runs.some((r) => r.id === id) && <option value={id}>{nameOfRun(id, events)}</option>}
              {runs.map((r) => (
                <option key={r.id} value={r.id}>{nameOfRun(r.id, events)}{r.id !== id && ` · ${r.status}`}</option>
              ))}
            </select>
          </label>
          {run && <Status value={run.status} />}
          <span className="font-mono text-2xs whitespace-nowrap text-soft" data-measured={exact !== undefined} title={exact ? 'As the server has measured it' : 'From the times of the events: nothing else is known of this run'}>{exact ? '' : '≈ '}{seconds(span)}</span>
          {menu}
        </div>
        {(workflow || usage?.totalTokenCount !== undefined) && (
          <div className="flex flex-wrap items-center gap-x-3">
            {workflow && (
              <span role="group" aria-label="Show the run as" className="flex rounded-md bg-sunk p-0.5">
                {(['workflow', 'timeline'] as const).map((v) => (
                  <button key={v} type="button" aria-pressed={view === v} onClick={() => setView(v)} className="rounded-sm px-2 font-mono text-2xs leading-5 text-soft hover:text-ink aria-pressed:bg-sheet aria-pressed:font-semibold aria-pressed:text-ink max-md:leading-9">{v}</button>
                ))}
              </span>
            )}
            {usage?.totalTokenCount !== undefined && <span className="font-mono text-2xs text-faint">{count(usage.totalTokenCount)} tokens{run && <> · <CostText cost={sumCosts([run])} /></>}</span>}
          </div>
        )}
      </div>
      {workflow && view === 'workflow' ? workflow : <ol aria-label="Timeline" tabIndex={0} data-scrolls className="min-h-0 flex-1 overflow-y-auto pb-2.5">
        <Virtual as="li" items={line.bars} keyOf={(bar) => bar.key} height={24} draw={(bar, measured) => {
          const to = bar.end ?? end;
          const open = bar.end === undefined;
          // A wait that is open has no end to be drawn to: it only has to be seen.
          const left = open && bar.kind === 'wait' ? Math.min(at(bar.start), 84) : at(bar.start);
          const width = Math.max(at(to) - left, 0.8);
          return (
            <li {...measured}>
              <button
                type="button"
                disabled={!bar.event}
                onClick={() => bar.event && select(bar.event)}
                title={[`${bar.kind} ${bar.label}`, seconds(to - bar.start), ...paceWords(bar)].join(', ')}
                data-bar={bar.kind}
                className="grid h-6 w-full grid-cols-[minmax(132px,32%)_minmax(0,1fr)_62px] items-center px-4 text-left enabled:hover:bg-sunk max-md:h-9"
              >
                <span className="flex gap-1.5 pr-2 font-mono text-2xs" style={{ paddingLeft: bar.depth * 10, ...(bar.kind === 'agent' ? { color: authorColour(bar.label), fontWeight: 600 } : {}) }}><span className="truncate">{bar.label}</span>{bar.retries ? <span className="shrink-0 text-wait">↻{bar.retries}</span> : null}</span>
                <span className="relative h-full" aria-hidden="true">
                  <span
                    className={`absolute top-1/2 -translate-y-1/2 ${bar.kind === 'agent' ? 'h-[3px]' : 'h-2.5 rounded-[2px]'} ${open ? 'stripes pulse' : ''}`}
                    style={{ left: `${Math.min(left, 99.2)}%`, width: `${Math.min(width, 100 - Math.min(left, 99.2))}%`, backgroundColor: bar.failed ? 'var(--bad)' : bar.kind === 'agent' ? authorColour(bar.label) : colours[bar.kind] }}
                  >
                    {bar.first !== undefined && <span data-first className="block h-full rounded-l-[2px] bg-sheet opacity-60" style={{ width: `${Math.min(100, ((bar.first - bar.start) / Math.max(to - bar.start, 0.001)) * 100)}%` }} />}
                  </span>
                </span>
                <span className={`text-right font-mono text-2xs ${bar.failed ? 'text-bad' : 'text-faint'}`}>{bar.kind === 'wait' && open ? 'open' : seconds(to - bar.start)}</span>
              </button>
            </li>
          );
        }} />
      </ol>}
    </>
  );
}

/** What a run is known by: what was said, or its id. */
function nameOfRun(id: string, events: Event[]): string {
  const message = events.find((e) => e.invocationId === id && e.author === 'user');
  return (message && summary(message).slice(0, 60)) || id;
}

function useNow(running: boolean): number {
  const [now, setNow] = useState(serverNow);
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => setNow(serverNow()), 200);
    return () => clearInterval(timer);
  }, [running]);
  return now;
}
