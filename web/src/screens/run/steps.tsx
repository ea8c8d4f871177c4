import { useEffect, useMemo, useState, useSyncExternalStore } from 'react';

import { serverNow } from '../../api/clock';
import type { Event, Key } from '../../api/types';
import { nameOf } from '../../log/labels';
import { pendingOf } from '../../log/pending';
import { textOf } from '../../log/rows';
import { measured } from '../../log/spans';
import { seconds, timelineOf } from '../../log/timeline';
import { costOf, linesOfTurn, tokensOf, type Line, type Step } from '../../log/turn';
import { deltaOf } from '../../log/history';
import { navigate, to } from '../../router';
import { CostText, usePrices } from '../../ui/cost';
import { JsonView, argsText, brief } from '../../ui/json';
import { Markdown } from '../../ui/markdown';
import { Author, Button, Empty, Loading, Problem } from '../../ui/parts';
import { Virtual } from '../../ui/virtual';
import { SessionModel, type Snapshot } from '../../workbench/session';
import { useSpans } from '../../workbench/spans';
import { useFlows, WorkflowView } from '../../workbench/workflowview';
import { messageOf, RunFrame } from './frame';
import { Replays } from './replays';
import { useReplays } from './turns';

/** A turn in a few lines: who did what, how long it took, how many tokens it needed. */
export default function StepsScreen({ id, run }: { id: Key; run: string }) {
  const [model] = useState(() => new SessionModel(id));
  useEffect(model.open, [model]);
  const snapshot = useSyncExternalStore(model.subscribe, model.get);
  const events = useMemo(() => snapshot.events.filter((e) => e.invocationId === run), [snapshot.events, run]);
  const record = snapshot.active?.id === run ? snapshot.active : snapshot.runs.find((r) => r.id === run);
  const message = messageOf(textOf(events.find((e) => e.author === 'user') ?? ({} as Event)));
  return (
    <RunFrame id={id} run={run} tab="" session={nameOf(id.session, snapshot.state, snapshot.events)} message={message} {...(record ? { status: record.status } : {})}>
      {snapshot.phase === 'loading' && <Loading what="the run" />}
      {snapshot.phase === 'failed' && <Problem error={snapshot.error!} what="The run could not be read" retry={() => void model.load('open')} />}
      {snapshot.phase === 'ready' && events.length === 0 && (
        <Empty title="There is no such run in this session" action={<Button onClick={() => navigate(to.session(id))}>Show the conversation</Button>}><code className="font-mono text-xs [overflow-wrap:anywhere]">{run}</code></Empty>
      )}
      {snapshot.phase === 'ready' && events.length > 0 && <Turn id={id} run={run} snapshot={snapshot} events={events} />}
    </RunFrame>
  );
}

/** How many lines are shown at once; of a longer turn, the first and the last ones. */
const few = 12;

function Turn({ id, run, snapshot, events }: { id: Key; run: string; snapshot: Snapshot; events: Event[] }) {
  const { active, runs } = snapshot;
  const prices = usePrices();
  const spans = useSpans(id, active?.id);
  const record = active?.id === run ? active : runs.find((r) => r.id === run);
  const exact = useMemo(() => measured(spans, snapshot.events, record, run), [spans, snapshot.events, record, run]);
  const timeline = useMemo(() => exact ?? timelineOf(snapshot.events, record, run), [exact, snapshot.events, record, run]);
  const lines = useMemo(() => linesOfTurn(events, timeline, prices), [events, timeline, prices]);
  const flows = useFlows(id.app, snapshot, run);
  const pending = useMemo(() => pendingOf(snapshot.events), [snapshot.events]);
  const replays = useReplays(id, run, snapshot.origin?.rootId ?? id.session);
  const [all, setAll] = useState(false);
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const toggle = (key: string) => setOpen(open.has(key) ? new Set([...open].filter((one) => one !== key)) : new Set([...open, key]));
  const short = !all && lines.length > few;
  const shown = short ? [...lines.slice(0, few / 2), ...lines.slice(-few / 2)] : lines;
  const inConversation = (event: string) => navigate(`${to.session(id)}?event=${encodeURIComponent(event)}`);
  const tokens = tokensOf(events).total;
  const end = timeline.end ?? Math.max(timeline.start, serverNow());
  const longest = Math.max(0.001, ...lines.map((l) => l.took ?? 0));
  const cost = costOf(record, events, prices);
  return (
    <div className={flows.length > 0 ? 'grid gap-6 lg:grid-cols-[minmax(0,1fr)_minmax(0,1fr)]' : ''}>
      <section aria-label="Steps of the run" className="min-w-0">
        <p className="mb-2 flex flex-wrap items-center gap-x-4 font-mono text-2xs text-soft" data-totals>
          <span title={exact ? 'As the server has measured it' : 'From the times of the events'}>{exact ? '' : '≈ '}{seconds(end - timeline.start)}</span>
          <span>{lines.length} steps</span>
          {tokens > 0 && <span>{tokens.toLocaleString()} tokens</span>}
          <CostText cost={cost} />
          {open.size > 0 ? <button type="button" onClick={() => setOpen(new Set())} className="touch text-accent hover:underline">fold all</button> : <button type="button" onClick={() => (setAll(true), setOpen(new Set(lines.map((l) => l.key))))} className="touch text-accent hover:underline">unfold all</button>}
        </p>
        <ol className="@container overflow-hidden rounded-lg border bg-sheet" data-steps>
          <Virtual as="li" items={shown} keyOf={(line) => line.key} height={33} draw={(line, measured) => (
            <li {...measured} className="border-t data-[index=0]:border-t-0">
              {short && measured['data-index'] === few / 2 && (
                <button type="button" onClick={() => setAll(true)} className="block w-full border-b bg-sunk px-4 py-1.5 text-left text-soft hover:text-ink max-md:py-2.5">… {lines.length - few} more steps</button>
              )}
              <LineView line={line} number={lines.indexOf(line) + 1} longest={longest} open={open.has(line.key)} toggle={() => toggle(line.key)} show={inConversation} />
            </li>
          )} />
        </ol>
        <Replays id={id} run={run} list={replays} />
      </section>
      {flows.length > 0 && (
        <section aria-label="The workflow" className="flex min-w-0 flex-col rounded-lg border bg-sheet pt-3 max-lg:max-h-[60vh] lg:sticky lg:top-4 lg:max-h-[calc(100vh-120px)] lg:self-start">
          <WorkflowView flows={flows} pending={pending} select={inConversation} answer={(event) => inConversation(event.id)} />
        </section>
      )}
    </div>
  );
}

const marks: Record<Step['kind'], [string, string]> = {
  message: ['›', 'text-accent'], text: ['“', 'text-soft'], thought: ['…', 'text-faint'], call: ['→', 'text-busy'], file: ['▫', 'text-soft'], code: ['#', 'text-busy'], transfer: ['⇢', 'text-accent'], error: ['!', 'text-bad'],
};

function LineView({ line: { step, took, tokens, cost, pace }, number, longest, open, toggle, show }: { line: Line; number: number; longest: number; open: boolean; toggle: () => void; show: (event: string) => void }) {
  const [mark, tone] = marks[step.kind];
  return (
    <>
      <button type="button" aria-expanded={open} onClick={toggle} data-step={step.kind} className="grid w-full outline-offset-[-2px] grid-cols-[20px_minmax(0,1fr)_auto] items-baseline gap-x-2 px-3 py-1.5 text-left hover:bg-paper aria-expanded:bg-tint max-md:py-2.5 sm:grid-cols-[20px_16px_minmax(80px,120px)_minmax(0,1fr)_auto]">
        <span className="text-right font-mono text-2xs text-faint max-sm:col-start-1 max-sm:row-start-1">{number}</span>
        <span aria-hidden="true" className={`font-mono max-sm:hidden ${step.failed ? 'text-bad' : tone}`}>{mark}</span>
        <span className="truncate max-sm:col-start-2 max-sm:row-start-1"><Author name={step.author} /></span>
        <span className={`truncate max-sm:col-span-2 max-sm:col-start-2 max-sm:row-start-2 ${step.kind === 'thought' ? 'text-faint italic' : ''} ${step.failed ? 'text-bad' : ''}`}><Said step={step} /></span>
        <span className="flex items-center gap-2 justify-self-end font-mono text-2xs whitespace-nowrap text-faint max-sm:col-start-3 max-sm:row-start-1">
          {pace.filter((words) => /retr/.test(words)).map((words) => <span key={words} className="text-wait">{words}</span>)}
          {tokens > 0 && <span>{tokens.toLocaleString()} tok</span>}
          <CostText cost={cost} className="@max-3xl:hidden" />
          {took !== undefined && <span className="w-14 text-right text-soft">{seconds(took)}</span>}
          <span aria-hidden="true" className="block h-1.5 w-12 @max-3xl:hidden"><span className="block h-full rounded-full bg-busy" style={{ width: took === undefined ? 0 : `${Math.max(6, (took / longest) * 100)}%` }} /></span>
        </span>
      </button>
      {open && <Details step={step} pace={pace} show={show} />}
    </>
  );
}

function Said({ step }: { step: Step }) {
  if (step.kind === 'call') return <span className="font-mono text-xs"><b className="font-semibold">{step.name}</b><span className="text-soft">({argsText(step.args as never)}){step.result !== undefined && ` → ${brief(step.result, 90)}`}</span></span>;
  if (step.kind === 'transfer') return <>hands over to <Author name={step.name} /></>;
  if (step.kind === 'error') return <><b className="font-mono text-xs">{step.name}</b> {step.text}</>;
  if (step.kind === 'file') return <>sends {step.text}</>;
  if (step.kind === 'message' && step.name) return <span className="font-mono text-xs">answers {step.name} {brief(step.result, 90)}</span>;
  return <>{step.text.trim().replaceAll(/\s+/g, ' ').slice(0, 300)}</>;
}

/** All that is known of a step. */
function Details({ step, pace, show }: { step: Step; pace: string[]; show: (event: string) => void }) {
  const { event } = step;
  const delta = { ...deltaOf(event), ...(step.answered ? deltaOf(step.answered) : {}) };
  const usage = event.usageMetadata;
  const parts: [string, unknown][] = [['arguments', step.args], ['result', step.result], ['state changes', Object.keys(delta).length > 0 ? delta : undefined]];
  return (
    <div className="space-y-2 border-t bg-paper px-4 py-3 sm:pl-12" data-details>
      {step.text && (step.kind === 'text' ? <Markdown text={step.text} /> : <p className="json">{step.text}</p>)}
      {parts.map(([label, value]) => value !== undefined && (
        <div key={label}>
          <p className="label">{label}</p>
          <JsonView value={value} label={label} />
        </div>
      ))}
      <p className="flex flex-wrap items-center gap-x-4 font-mono text-2xs text-faint">
        {event.modelVersion && <span>{event.modelVersion}</span>}
        {usage && <span>{usage.promptTokenCount ?? 0} tokens in, {usage.candidatesTokenCount ?? 0} out</span>}
        {pace.map((words) => <span key={words}>{words}</span>)}
        <button type="button" onClick={() => show((step.answered ?? event).id)} className="touch text-accent hover:underline">show the event</button>
      </p>
    </div>
  );
}

