import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';

import { calls } from '../api/calls';
import { send } from '../api/client';
import { partsOf, type Event, type Json, type JsonObject, type Key, type Run } from '../api/types';
import { costOf, count, sumCosts } from '../log/cost';
import { dayNamed, exactMoment } from '../log/dates';
import { diff, type Change } from '../log/diff';
import { stateAt } from '../log/history';
import type { Span } from '../log/spans';
import { JsonView } from '../ui/json';
import { CostText, usePrices } from '../ui/cost';
import { Long } from '../ui/more';
import { Action, Author, CopyText, Kbd, Loading, Problem } from '../ui/parts';
import { Tabs } from '../ui/tabs';
import { SavedFile } from './files';
import { ModelRequest } from './modelrequest';

interface Props {
  id: Key;
  events: Event[];
  index: number;
  state: JsonObject;
  run: Run | undefined;
  spans: Span[];
  fork: () => void;
  select: (event: string) => void;
}

export function Inspector({ id, events, index, state, run, spans, fork, select }: Props) {
  const [tab, setTab] = useState('content');
  const event = events[index];
  if (!event) return <p className="px-4 py-4 text-soft">Choose an event of the conversation<span className="max-lg:hidden">, also with <Kbd>j</Kbd> and <Kbd>k</Kbd></span>, to see what is in it.</p>;
  const usage = event.usageMetadata;
  return (
    <>
      <div className="flex shrink-0 items-center gap-3 px-4 pt-2">
        <span className="font-mono text-lg font-semibold">{index + 1}</span>
        <div className="min-w-0 flex-1">
          <p className="truncate"><Author name={event.author} /> {event.branch && <span className="label">{event.branch}</span>}</p>
          <p className="truncate font-mono text-[10.5px] text-faint">{event.id}</p>
        </div>
        <CopyText text={JSON.stringify(event, null, 2)} label="Copy the event" />
        <Action icon="fork" call={calls.fork(id, event.id)} onClick={fork}>Fork</Action>
      </div>
      <Tabs
        label="The event"
        value={tab}
        onChange={setTab}
        tabs={[
          { id: 'content', label: 'Content', content: <Content id={id} event={event} run={run} /> },
          { id: 'state', label: 'State', content: tab === 'state' ? <StateDiff id={id} events={events} index={index} now={state} /> : null },
          { id: 'request', label: 'Model request', content: tab === 'request' ? <ModelRequest id={id} events={events} event={event} spans={spans} select={select} /> : null },
          { id: 'actions', label: 'Actions', content: <JsonView key={event.id} value={event.actions} label="the actions" /> },
          { id: 'tokens', label: usage?.totalTokenCount ? `Tokens ${count(usage.totalTokenCount)}` : 'Tokens', content: <Tokens event={event} run={run} /> },
          { id: 'raw', label: 'Raw', content: tab === 'raw' ? <JsonView key={event.id} value={event} label="the event" /> : null },
        ]}
      />
    </>
  );
}

function Content({ id, event, run }: { id: Key; event: Event; run: Run | undefined }) {
  const facts: [string, string | undefined][] = [
    ['time', exactMoment(event.timestamp)],
    ['role', event.content?.role],
    ['run', event.invocationId],
    ['resumes', run?.resumes],
    ['finish', event.finishReason],
    ['model', event.modelVersion],
    ['error', event.errorCode ? `${event.errorCode} ${event.errorMessage ?? ''}` : undefined],
  ];
  const parts = partsOf(event);
  return (
    <>
      <dl className="mb-3 grid grid-cols-[64px_minmax(0,1fr)] gap-y-0.5">
        {facts.filter(([, v]) => v).map(([name, value]) => (
          <div key={name} className="contents"><dt className="label leading-5">{name}</dt><dd className={`font-mono text-2xs leading-5 [overflow-wrap:anywhere] ${name === 'error' ? 'text-bad' : ''}`}>{value}</dd></div>
        ))}
      </dl>
      {parts.length === 0 && <p className="text-soft">The event has no content.</p>}
      {parts.map((part, i) => (
        <div key={`${event.id}${i}`} className="mb-2 rounded-md bg-sunk px-2 py-2">
          <JsonView value={part} label={parts.length > 1 ? `part ${i + 1}` : 'the content'} />
        </div>
      ))}
      {Object.entries(event.actions?.artifactDelta ?? {}).map(([name, version]) => (
        <SavedFile key={name} id={id} name={name} version={Number(version)} />
      ))}
    </>
  );
}

function Tokens({ event, run }: { event: Event; run: Run | undefined }) {
  const rows = (title: string, usage: Record<string, unknown> | undefined) =>
    usage && (
      <section className="mb-4">
        <h2 className="label mb-1">{title}</h2>
        <dl className="grid grid-cols-[1fr_auto] gap-y-0.5">
          {Object.entries(usage).filter(([, v]) => typeof v === 'number').map(([name, value]) => (
            <div key={name} className="contents"><dt className="text-soft">{name.replace(/TokenCount$/, '').replace(/([A-Z])/g, ' $1').toLowerCase()}</dt><dd className="text-right font-mono text-xs">{count(value as number)}</dd></div>
          ))}
        </dl>
      </section>
    );
  const prices = usePrices();
  const own = event.usageMetadata as Record<string, unknown> | undefined;
  return (
    <>
      {rows('this event', own) ?? <p className="mb-4 text-soft">No model call ends with this event.</p>}
      {own && <p className="-mt-3 mb-4 flex justify-between gap-3"><span className="text-soft">cost with the prices of {prices ? dayNamed(prices.date) : 'now'}</span><CostText cost={costOf(prices, event.modelVersion, event.usageMetadata)} className="text-right font-mono text-xs" /></p>}
      {rows('the whole run', run?.usageMetadata as Record<string, unknown> | undefined)}
      {run?.usageMetadata && <p className="-mt-3 flex justify-between gap-3"><span className="text-soft">cost</span><CostText cost={sumCosts([run])} className="text-right font-mono text-xs" /></p>}
    </>
  );
}

function StateDiff({ id, events, index, now }: { id: Key; events: Event[]; index: number; now: JsonObject }) {
  const initial = useQuery({ queryKey: ['initial', id], staleTime: Infinity, queryFn: ({ signal }) => initialState(id, signal) });
  if (initial.isPending) return <Loading what="the state" />;
  if (initial.error) return <Problem error={initial.error} what="The state could not be read" retry={() => void initial.refetch()} />;
  const { before, after } = stateAt(initial.data, events, index, now);
  const changes = diff(before, after);
  return (
    <>
      <h2 className="label mb-1">changes by this event</h2>
      {changes.length === 0 ? <p className="mb-4 text-soft">None.</p> : <ul className="mb-4 space-y-1.5">{changes.map((c) => <ChangeView key={c.path.join('.')} change={c} />)}</ul>}
      <h2 className="label mb-1">state after this event</h2>
      <JsonView key={index} value={after} label="the state after it" />
      <details className="mt-4">
        <summary className="label">state before this event</summary>
        <JsonView key={index} value={before} label="the state before it" />
      </details>
    </>
  );
}

function ChangeView({ change }: { change: Change }) {
  const show = (value: Json | undefined) => <Long text={JSON.stringify(value) ?? ''} most={300} />;
  return (
    <li className="json">
      <p className="font-semibold">{change.path.join(' › ')}</p>
      {change.kind !== 'added' && <p className="bg-badtint px-2"><span aria-hidden="true">− </span><span className="sr-only">before: </span>{show(change.before)}</p>}
      {change.kind !== 'removed' && <p className="bg-tint px-2"><span aria-hidden="true">+ </span><span className="sr-only">after: </span>{show(change.after)}</p>}
    </li>
  );
}

/** The state that a session was made with: it is in the first line of its export, and the rest is not read. */
async function initialState(id: Key, signal: AbortSignal): Promise<JsonObject> {
  const response = await send(calls.export(id), signal);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes('\n')) {
    const { done, value } = await reader.read();
    if (done) break;
    text += value;
  }
  void reader.cancel();
  return (JSON.parse(text.split('\n')[0]!) as { state: JsonObject }).state;
}
