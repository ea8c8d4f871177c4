import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef } from 'react';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import type { AppInfo, Event } from '../api/types';
import { useCaller } from '../caller';
import { confirmation, inputRequest, type Pending } from '../log/pending';
import { flowsOf, questionsOf, type Flow } from '../log/workflow';
import { FlowDrawing, FlowList } from '../ui/flow';
import { Button } from '../ui/parts';
import { barsOf, tallOf, useMore } from '../ui/scroll';
import type { Snapshot } from './session';

/** The workflows of a run, with their states; none if the application has no workflow, or the user may not see it. */
export function useFlows(app: string, snapshot: Snapshot, run: string | undefined): Flow[] {
  const developer = useCaller()?.developer ?? false;
  const info = useQuery({ queryKey: ['app-info', app], enabled: developer, retry: false, queryFn: ({ signal }) => ask<AppInfo>(calls.appInfo(app), signal) });
  const { events, runs, active, attempts } = snapshot;
  const live = active !== undefined && active.id === run;
  const all = useMemo(() => (active && !runs.some((r) => r.id === active.id) ? [active, ...runs] : runs), [active, runs]);
  return useMemo(() => (info.data ? flowsOf({ info: info.data, events, runs: all, run, live, attempts }) : []), [info.data, events, all, run, live, attempts]);
}

interface Props {
  flows: Flow[];
  pending: Pending[];
  select: (event: string) => void;
  /** Leads to the place where a question is answered. */
  answer: (event: Event) => void;
}

/** The workflows of a run: drawn, what they wait for, and as a list. */
export function WorkflowView({ flows, pending, select, answer }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const [more, tall] = [useMore(frame, flows), useMore(frame, flows, tallOf)];
  const shown = flows.flatMap(shownOf).join(' ');
  useEffect(() => {
    const of = (status: string) => frame.current?.querySelector(`[data-status=${status}]:not(:has(~ * [data-status=${status}]))`);
    const node = shown && (of('active') ?? of('failed'));
    if (node) node.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [shown]);
  return (
    <div className="more flex min-h-0 flex-1 flex-col" data-more={more} data-tall={tall} style={barsOf(frame.current)}>
      <div ref={frame} role="region" aria-label="Workflow" tabIndex={0} className="min-h-0 flex-1 scroll-p-7 overflow-auto px-4 pt-1 pb-3">
        {flows.map((flow) => (
          <section key={flow.scope} aria-label={flow.scope}>
            {flows.length > 1 && <h2 className="label">{flow.scope}</h2>}
            {questionsOf(flow, pending).map(({ node, pending: one }) => (
              <div key={one.call.id} className="mb-2 flex items-center gap-3 rounded-md border border-wait/50 bg-waittint/60 py-1.5 pr-1.5 pl-3" data-question={node}>
                <p className="min-w-0 flex-1"><b className="font-mono text-2xs">{node}</b> {question(one)}</p>
                <Button onClick={() => answer(one.event)}>Answer it</Button>
              </div>
            ))}
            {flow.dynamic && <p className="mb-2 text-soft">{flow.nodes.length === 0 ? 'A function runs the nodes of this workflow. None has run yet.' : 'A function runs these nodes, in the order in which they are drawn.'}</p>}
            <FlowDrawing flow={flow} select={select} />
            <details className="mt-3" onToggle={(e) => e.currentTarget.open && e.currentTarget.scrollIntoView({ block: 'nearest' })}>
              <summary className="label">nodes as a list</summary>
              <FlowList flow={flow} select={select} />
            </details>
          </section>
        ))}
      </div>
    </div>
  );
}

/** The names of the nodes that run now, and of those that have failed: one of them has to be seen. */
const shownOf = (flow: Flow): string[] => flow.nodes.flatMap((n) => [...(n.status === 'active' || n.status === 'failed' ? [`${flow.scope}.${n.name} ${n.status}`] : []), ...(n.inner ? shownOf(n.inner) : [])]);

function question({ kind, call }: Pending): string {
  if (kind === 'input') return `asks: ${inputRequest(call).message || 'an answer is needed'}`;
  if (kind === 'confirmation') return `asks: ${confirmation(call).hint || `May ${confirmation(call).tool || 'this call'} be made?`}`;
  if (kind === 'choice') return 'asks for a choice.';
  return kind === 'credential' ? 'needs a login.' : `waits for the response of ${call.name}.`;
}
