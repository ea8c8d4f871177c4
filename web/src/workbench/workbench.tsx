import { useQuery as useData } from '@tanstack/react-query';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';

import { calls, runsAtOnce } from '../api/calls';
import { ParleyError } from '../api/client';
import { readPages } from '../api/pages';
import { partsOf, type Event, type JsonObject, type Key, type Part, type Run, type Session } from '../api/types';
import { useRefusal } from '../caller';
import { useCommands, type Command } from '../commands';
import { branchesOf } from '../log/branches';
import { count, sumCosts, type Cost } from '../log/cost';
import { nameOf, titleOf } from '../log/labels';
import { pendingOf } from '../log/pending';
import { useKeepItem, useOpinion } from '../evals/turn';
import { isLocal, placeBeside, queuedFrom, rowsOf, shownIn, textOf } from '../log/rows';
import { Link, navigate, setQuery, to, useQuery } from '../router';
import { DeleteDialog, EditDialog, sessionItems, useSessionActions, type SessionDialog } from '../screens/sessionactions';
import { ShareDialog } from '../screens/sharedialog';
import { NewSession } from '../screens/newsession';
import { useTitles } from '../screens/titles';
import { focusComposer, typing } from '../shortcuts';
import { CostText, useCostNotice } from '../ui/cost';
import { CurlMenu, Menu, type Item } from '../ui/menu';
import { Action, Button, Empty, Loading, Problem, Status, copy } from '../ui/parts';
import { Handle, useSize } from '../ui/split';
import { TabList } from '../ui/tabs';
import { say, ToastPlace } from '../ui/toast';
import { Composer } from './composer';
import { FindBar } from './findbar';
import { Inspector } from './inspector';
import { LogView } from './logview';
import { RunMenu } from './runmenu';
import { SessionModel, type Snapshot } from './session';
import { useSpans } from './spans';
import { StatePanel } from './statepanel';
import { TimelineView } from './timelineview';
import { useFlows, WorkflowView } from './workflowview';

type Pane = 'chat' | 'run' | 'event' | 'state';
const panes: [Pane, string][] = [['chat', 'Chat'], ['run', 'Run'], ['event', 'Event'], ['state', 'State']];

export default function Workbench({ id }: { id: Key }) {
  const [model] = useState(() => new SessionModel(id));
  useEffect(model.open, [model]);
  const snapshot = useSyncExternalStore(model.subscribe, model.get);
  if (snapshot.phase === 'loading') return <div className="p-8"><Loading what="the session" /></div>;
  if (snapshot.phase === 'failed') {
    const missing = snapshot.error instanceof ParleyError && snapshot.error.status === 404;
    return (
      <div className="mx-auto max-w-[720px] p-4 md:p-8">
        {missing ? (
          <Empty title="Session not found" action={<><Button onClick={() => navigate(to.user(id.app, id.user, 'sessions'))}>Show the sessions</Button><NewSession app={id.app} user={id.user} /></>}>
            <code className="font-mono text-xs">{id.session}</code> of {id.user} in {id.app} was deleted, or is another user's.
          </Empty>
        ) : (
          <Problem error={snapshot.error!} what="The session could not be read" retry={() => void model.load('open')} />
        )}
      </div>
    );
  }
  return <Ready model={model} snapshot={snapshot} />;
}

function Ready({ model, snapshot }: { model: SessionModel; snapshot: Snapshot }) {
  const { key } = model;
  const query = useQuery();
  const [pane, setPane] = useState<Pane>('chat');
  const [editing, setEditing] = useState<string>();
  const [noting, setNoting] = useState<string>();
  const [finding, setFinding] = useState(false);
  const find = () => (setFinding(true), setPane('chat'));
  const { events, live, runs, active } = snapshot;
  const rows = useMemo(() => rowsOf(events, live, active?.id), [events, live, active?.id]);
  const shown = useMemo(() => shownIn(events), [events]);
  const pending = useMemo(() => pendingOf(events), [events]);
  const branches = useMemo(() => branchesOf(key.session, events, snapshot.family), [key.session, events, snapshot.family]);
  const selectedId = query.get('event');
  const selected = selectedId ? events.findIndex((e) => isCalled(e, selectedId)) : -1;
  const spans = useSpans(key, active?.id);
  const runId = query.get('run') ?? events[selected]?.invocationId ?? active?.id ?? runs[0]?.id ?? events.at(-1)?.invocationId; // a replay has events, and no record of its run

  const flows = useFlows(key.app, snapshot, runId);
  const details = useRef<HTMLElement>(null);
  const width = useSize('details', { initial: window.innerWidth >= 1280 ? 480 : 400, min: 300, max: 1200 });
  const heights = { workflow: useSize('workflow', { initial: 64, min: 12, max: 85 }), run: useSize('run', { initial: 46, min: 12, max: 85 }) };
  const height = heights[flows.length > 0 ? 'workflow' : 'run'];

  const select = useCallback((event: Event | undefined, show?: Pane) => {
    setQuery({ event: event?.id, run: undefined });
    if (show) setPane(show);
  }, []);

  const selectId = (id: string) => select(events.find((e) => e.id === id), 'event');

  /** Shows a question in the conversation, ready to be answered. */
  const answer = (event: Event) => {
    select(event, 'chat');
    const field = `[data-event="${CSS.escape(event.id)}"] [data-pending] :is(input, select, textarea, button)`;
    const focus = (frames: number) => {
      const found = document.querySelector<HTMLElement>(field);
      if (found) found.focus();
      else if (frames > 0) requestAnimationFrame(() => focus(frames - 1)); // the log draws what it has scrolled to
    };
    requestAnimationFrame(() => focus(30));
  };

  const fork = async (event: Event) => {
    const made = await model.act<Session>(calls.fork(key, event.id));
    if (made) {
      say(`Forked at event ${events.indexOf(event) + 1}.`);
      navigate(to.session({ ...key, session: made.id }));
    }
  };

  const again = async (event: Event, parts: Part[]) => {
    const branch = await model.again(event.invocationId, parts);
    if (branch) {
      say('This is a new branch. The earlier one is kept.');
      navigate(to.session(branch));
    }
  };

  /** Shows a part, also when it was shown last and another one is there now. */
  const [asked, setAsked] = useState(0);
  const show = (one: 'event' | 'state') => (setPane(one), setAsked((n) => n + 1));

  const queued = events.slice(queuedFrom(events, active?.id)).filter(isLocal);
  const end = events[shown.at(-1) ?? -1];
  const rateable = end && end.author !== 'user' && !active && !model.evaluated && runs.find((r) => r.id === end.invocationId)?.status !== 'waiting' ? end : undefined;
  const { mine, rate } = useOpinion(model, events, rateable?.invocationId ?? '');
  const refusal = useRefusal();
  const message = events.findLast((e) => e.author === 'user' && textOf(e) !== '' && !isLocal(e));
  const at = events[selected];
  useCommands([
    { label: 'Write a message', keys: 'c', changes: true, act: () => window.dispatchEvent(new Event(focusComposer)) },
    ...(events.length > 0 ? [{ label: 'Find in the conversation', keys: '/', act: find }] : []),
    ...(active ? [{ label: 'Stop the run', keys: 's', changes: true, act: () => void model.stop() }] : []),
    ...(message && !active ? [
      { label: 'Retry the last message, in a new branch', changes: true, act: () => void again(message, partsOf(message)) },
      { label: 'Edit the last message and send it again', changes: true, act: () => (select(message, 'chat'), setEditing(message.id)) },
    ] : []),
    ...(at ? [{ label: `Fork from event ${selected + 1}`, keys: 'f', changes: true, act: () => void fork(at) }] : []),
    ...queued.map((one): Command => ({ label: queued.length > 1 ? `Withdraw the queued message “${textOf(one).slice(0, 60)}”` : 'Withdraw the queued message', changes: true, act: () => void model.withdraw(one.invocationId) })),
    ...(rateable && !refusal('review') ? [
      { label: mine?.rating === 'up' ? 'Remove the good rating of the last turn' : 'Rate the last turn as good', act: () => rate('up') },
      { label: mine?.rating === 'down' ? 'Remove the bad rating of the last turn' : 'Rate the last turn as bad', act: () => rate('down') },
      { label: mine?.note ? 'Edit the note on the last turn' : 'Write a note on the last turn', act: () => (select(rateable, 'chat'), setNoting(rateable.invocationId)) },
    ] : []),
    ...(['event', 'state'] as const).map((one): Command => ({ label: `Show the ${one}`, act: () => show(one) })),
  ]);

  const refused = refusal('run');
  // While the next screen is loaded, this one is hidden, and has no layout effects.
  useLayoutEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      // The browser would find only what is in view; asked again, it may.
      if ((e.ctrlKey || e.metaKey) && e.key === 'f' && !finding && events.length > 0) return e.preventDefault(), find();
      if (e.defaultPrevented || typing(e.target) || e.metaKey || e.ctrlKey || e.altKey || document.querySelector('[role=dialog],[role=menu]')) return;
      const id = new URLSearchParams(window.location.search).get('event');
      const at = id ? events.findIndex((x) => isCalled(x, id)) : -1;
      const current = events[at];
      const move = (to: number | undefined) => (e.preventDefault(), to !== undefined && select(events[to]));
      const last = shown.at(-1);
      switch (e.key) {
        case 'j': return move(at < 0 ? last : (placeBeside(shown, at, 1) ?? last));
        case 'k': return move(at < 0 ? last : (placeBeside(shown, at, -1) ?? shown[0]));
        case 'End': return move(last);
        case '/': return void (events.length > 0 && (e.preventDefault(), find()));
      }
      if (e.key === 'Escape') return select(undefined);
      if (refused) return;
      switch (e.key) {
        case 's': return void model.stop();
        case 'f': return void (current && fork(current));
        case 'e':
          if (current?.author === 'user' && textOf(current)) e.preventDefault(), setEditing(current.id);
          return;
      }
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  });

  const side: Record<Exclude<Pane, 'chat'>, React.ReactNode> = {
    run: <TimelineView events={events} spans={spans} runs={runs} active={active} run={runId} select={selectId} chooseRun={(r) => setQuery({ run: r, event: undefined })} menu={runId && <RunMenu id={key} run={runId} message={messageOf(events, runId)} ended={runId !== active?.id && runs.some((r) => r.id === runId && r.status !== 'running' && r.status !== 'queued')} family={snapshot.family} />} workflow={flows.length > 0 && <WorkflowView flows={flows} pending={pending} select={selectId} answer={answer} />} />,
    event: <Inspector id={key} events={events} index={selected} state={snapshot.state} run={runs.find((r) => r.id === events[selected]?.invocationId)} spans={spans} select={selectId} fork={() => selected >= 0 && void fork(events[selected]!)} />,
    state: <StatePanel id={key} state={snapshot.state} patch={model.patch} show={() => show('state')} />,
  };

  return (
    <div className="flex h-full min-h-0 flex-col">
      <Header model={model} snapshot={snapshot} waiting={pending.length} at={at && { id: at.id, number: selected + 1 }} />
      <TabList label="Parts of the workbench" tabs={panes} value={pane} onChange={setPane} className="flex border-b bg-sunk px-2 lg:hidden" each="flex-1" />
      <div className="flex min-h-0 flex-1">
        <section aria-label="Conversation" data-conversation className={`min-h-0 min-w-0 flex-1 flex-col ${pane === 'chat' ? 'flex' : 'hidden lg:flex'}`}>
          {finding && <FindBar events={events} shown={shown} selected={selected} select={(event) => select(event)} close={() => setFinding(false)} />}
          <LogView
            model={model}
            snapshot={snapshot}
            rows={rows}
            pending={pending}
            branches={branches}
            again={again}
            selected={events[selected]?.id}
            editing={editing && events.find((e) => isCalled(e, editing))?.id}
            setEditing={setEditing}
            noting={noting}
            setNoting={setNoting}
            select={(event) => select(event)}
            inspect={(event) => select(event, 'event')}
            fork={fork}
          />
          <ToastPlace /> {/* above the message box, which stays where it is */}
          <Composer model={model} snapshot={snapshot} empty={events.length === 0} />
        </section>
        <aside
          aria-label="Details"
          ref={details}
          style={{ '--width': `${width.size}px`, '--height': `${height.size}%` } as React.CSSProperties}
          className={`relative min-h-0 min-w-0 flex-col bg-sheet lg:flex lg:border-l lg:w-(--width) lg:max-w-[70%] lg:shrink-0 ${pane === 'chat' ? 'hidden' : 'flex w-full'}`}
        >
          <Handle label="Width of the details" orientation="vertical" of={width} at={(e) => details.current!.getBoundingClientRect().right - e.clientX} step={-24} className="max-lg:hidden" />
          <div className={`relative min-h-0 flex-col lg:flex lg:max-h-(--height) lg:shrink-0 lg:border-b ${pane === 'run' ? 'flex flex-1' : 'hidden'}`}>
            {side.run}
            <Handle label="Height of the run" orientation="horizontal" of={height} at={(e) => heightAt(details.current!, e.clientY)} step={4} className="max-lg:hidden" />
          </div>
          <SideTabs pane={pane} asked={asked} selected={selected >= 0} event={side.event} state={side.state} selectionKey={selectedId} />
        </aside>
      </div>
    </div>
  );
}

/** The place of a pointer within the details, in percent of their height. */
function heightAt(details: HTMLElement, y: number): number {
  const { top, height } = details.getBoundingClientRect();
  return ((y - top) / height) * 100;
}

/** Whether an event has an id, or had it before the server gave it one. */
const isCalled = (event: Event, id: string) => event.id === id || (event.author === 'user' && id === `local-${event.invocationId}`);

/** Event and state: beside one another in tabs, or one of them on a small screen. */
function SideTabs({ pane, asked, selected, event, state, selectionKey }: { pane: Pane; asked: number; selected: boolean; event: React.ReactNode; state: React.ReactNode; selectionKey: string | null }) {
  const [tab, setTab] = useState<'event' | 'state'>(selected ? 'event' : 'state');
  useEffect(() => {
    if (selectionKey) setTab('event');
  }, [selectionKey]);
  useEffect(() => {
    if (pane === 'event' || pane === 'state') setTab(pane);
  }, [pane, asked]);
  const shown = pane === 'event' || pane === 'state' ? pane : undefined;
  return (
    <div className={`min-h-0 flex-1 flex-col lg:flex ${pane === 'run' ? 'hidden' : 'flex'}`}>
      <TabList label="Details" tabs={[['event', 'Event'], ['state', 'State now']]} value={tab} onChange={setTab} className="hidden gap-1 border-b px-3 lg:flex" each="-mb-px px-1.5 hover:text-ink" />
      <div className={`min-h-0 flex-1 flex-col ${shown === 'state' ? 'hidden' : 'flex'} ${tab === 'event' ? 'lg:flex' : 'lg:hidden'}`}>{event}</div>
      <div className={`min-h-0 flex-1 flex-col ${shown === 'event' ? 'hidden' : shown === 'state' ? 'flex' : 'hidden'} ${tab === 'state' ? 'lg:flex' : 'lg:hidden'}`}>{state}</div>
    </div>
  );
}

/** What the user has said in a run. */
const messageOf = (events: Event[], run: string) => textOf(events.find((e) => e.invocationId === run && e.author === 'user') ?? ({} as Event));

/** What the palette calls the items of the menu. */
const sentence: { [label: string]: string } = { 'Title and labels': 'Change title and labels', Artifacts: 'Show the artifacts', Fork: 'Fork the session', Export: 'Export the session', 'Share…': 'Share the session…', Delete: 'Delete the session', 'Save as a test': 'Save the session as a test', Refresh: 'Refresh the session' };

function Header({ model, snapshot, waiting, at }: { model: SessionModel; snapshot: Snapshot; waiting: number; at?: { id: string; number: number } | undefined }) {
  const { key } = model;
  const [open, setOpen] = useState<SessionDialog>();
  const actions = useSessionActions(key);
  const title = nameOf(key.session, snapshot.state, snapshot.events);
  const last = snapshot.runs[0];
  useEffect(() => {
    document.title = `${title} · ${key.app} · Parley`;
  }, [title, key.app]);
  const kept = useKeepItem(key, undefined, title);
  const items: Item[] = [
    ...sessionItems(key, actions, setOpen),
    ...(last?.endTime === undefined ? [] : kept.items),
    { label: 'Refresh', icon: 'retry', act: () => void model.load('end'), call: calls.session(key) },
    { label: 'Copy the session id', icon: 'copy', act: () => void copy(key.session) },
  ];
  const refusal = useRefusal();
  useCommands(items.map(({ label, act, call, changes }) => ({ label: sentence[label] ?? label, act, changes: changes || (call !== undefined && refusal(call) !== undefined) })));
  useCostNotice(key.app, key.user, snapshot.runs.filter((run) => run.endTime !== undefined).length);
  const status = snapshot.active?.status ?? (waiting > 0 ? 'waiting' : last?.status);
  return (
    <header className="flex shrink-0 items-center gap-x-3 gap-y-1 border-b bg-sheet px-4 py-2">
      <div className="min-w-0 flex-1">
        <p className="label truncate">
          <Link href={to.app(key.app)} className="hover:underline">{key.app}</Link>
          {' / '}
          <Link href={to.user(key.app, key.user, 'sessions')} className="hover:underline">{key.user}</Link>
          {snapshot.origin && <BranchOf id={key} origin={snapshot.origin} family={snapshot.family} />}
        </p>
        <h1 className="truncate" title={key.session}>{title}</h1>
      </div>
      <SessionCost id={key} runs={snapshot.runs} />
      {status && <Status value={status} />}
      {snapshot.active && (
        <Action tone="danger" icon="stop" call={calls.cancelRun(key, snapshot.active.id)} disabled={Boolean(snapshot.active.stop)} onClick={() => void model.stop()}>Stop</Action>
      )}
      <Button tone="quiet" icon="file" bare className="max-sm:hidden" onClick={() => navigate(to.artifact(key))}>Artifacts</Button>
      <CurlMenu />
      <Menu trigger={<Button tone="quiet" icon="more" bare>Session actions</Button>} items={items} />
      {kept.dialog}
      <EditDialog open={open === 'edit'} onClose={() => setOpen(undefined)} id={key} state={snapshot.state as JsonObject} onSaved={() => void model.load('end')} />
      <ShareDialog open={open === 'share'} onClose={() => setOpen(undefined)} id={key} at={at} />
      <DeleteDialog open={open === 'delete'} onClose={() => setOpen(undefined)} id={key} title={title} remove={() => actions.remove(() => navigate(to.user(key.app, key.user, 'sessions')))} />
    </header>
  );
}

/** How many pages of runs are added up, of a thousand each. */
const pagesSummed = 10;

/** What the runs of the session have cost: all of them, also those that the screen has not read. */
function SessionCost({ id, runs }: { id: Key; runs: Run[] }) {
  const newest = runs[0];
  const all = useData<Summed>({
    queryKey: ['session-cost', id.app, id.user, id.session, newest?.id, newest?.status],
    enabled: runs.length >= runsAtOnce,
    placeholderData: (before, query) => (query?.queryKey[3] === id.session ? before : undefined),
    queryFn: async ({ signal }) => {
      const { rows, more } = await readPages<Run>(calls.runs(id, 1000), pagesSummed, signal);
      return { ...sumOf(rows), more, runs: rows.length };
    },
  });
  const known = all.data ?? { ...sumOf(runs), more: runs.length >= runsAtOnce, runs: runs.length };
  if (known.tokens === 0) return null;
  return (
    <span data-session-cost className="text-right font-mono text-2xs leading-4 text-soft max-sm:hidden">
      {count(known.tokens)} tokens<CostText cost={known.cost} className="block" />
      {known.more && <span className="block">of the newest {count(known.runs)} runs</span>}
    </span>
  );
}

interface Summed {
  tokens: number;
  cost: Cost;
  /** How many runs are in the sum, and whether there are more. */
  runs: number;
  more: boolean;
}

const sumOf = (runs: Run[]) => ({ tokens: runs.reduce((sum, run) => sum + (run.usageMetadata?.totalTokenCount ?? 0), 0), cost: sumCosts(runs) });

/** Of which session this one is a branch, as a link while that is there. */
function BranchOf({ id, origin, family }: { id: Key; origin: NonNullable<Session['forkedFrom']>; family: Session[] }) {
  const parent = family.find((s) => s.id === origin.sessionId);
  const named = parent && titleOf(parent);
  const titles = useTitles(id.app, id.user, { enabled: parent !== undefined && named === parent.id }); // what was said in it is not in the family
  return (
    <span data-branch-of={origin.sessionId}>
      {origin.replayOf ? ' / replay of ' : ' / branch of '}
      {parent ? <Link href={`${to.session({ ...id, session: parent.id })}${origin.replayOf ? `?run=${encodeURIComponent(origin.replayOf)}` : ''}`} className="hover:underline">{titles.get(parent.id) || named}</Link> : 'a session that was deleted'}
    </span>
  );
}
