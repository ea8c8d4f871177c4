import { useQuery as useData, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';

import { calls } from '../../api/calls';
import { ask } from '../../api/client';
import type { AppInfo, Key, Recording, ReplayPlan, ReplayReport } from '../../api/types';
import { callsTools, isLive, instructionsOf, modes, planOf, type Choice, type Mode } from '../../log/replaying';
import { Link, navigate, setQuery, to, useQuery } from '../../router';
import { Dialog, Footer } from '../../ui/dialog';
import { Icon } from '../../ui/icons';
import { Action, Button, Empty, Loading, Problem } from '../../ui/parts';
import { messageOf, RunFrame } from './frame';
import { CallList, effectsOf, modeNames, modelsOf, PlanFields, ToolWarning } from './plan';
import { Replays } from './replays';
import { ReportView } from './report';
import { isActive, useReplays, useTurn } from './turns';

/** Reports of this page, by the session of the replay. The server keeps the replay, and not the report. */
const reports = new Map<string, ReplayReport>();

export default function ReplayScreen({ id, run }: { id: Key; run: string }) {
  const { turn, record, session, ...read } = useTurn(id, run);
  const active = isActive(record);
  // A fork has the events of runs, and not the runs.
  const copied = session?.forkedFrom !== undefined && !record;
  const recording = useData({
    queryKey: ['recording', id, run],
    enabled: turn !== undefined && !active && !copied,
    retry: false,
    queryFn: ({ signal }) => ask<Recording>(calls.recording(id, run), signal),
  });
  const replays = useReplays(id, run, session && (session.forkedFrom?.rootId ?? session.id));
  const problem = read.error ?? recording.error;
  return (
    <RunFrame id={id} run={run} tab="replay" session={turn?.title ?? ''} message={messageOf(turn?.steps[0]?.text)} {...(turn ? { status: turn.status } : {})} call={calls.recording(id, run)} note="The run is replayed with today’s code in a new session. This one stays as it is.">
      {problem && <Problem error={problem} what="The run could not be read" retry={() => void (read.error ? read.refetch() : recording.refetch())} />}
      {!problem && (read.isPending || recording.isLoading) && <Loading what="the run" />}
      {!read.isPending && !read.error && !turn && <Empty title="There is no such run in this session" action={<Button onClick={() => navigate(to.session(id))}>Show the conversation</Button>} />}
      {turn && active && <Empty title="The run has not ended yet">It can be replayed when it has.</Empty>}
      {turn && copied && (
        <Empty title={turn.replayOf ? 'This is a replay' : 'This run was copied'} action={<Button tone="primary" onClick={() => navigate(to.run({ ...id, session: session.forkedFrom!.sessionId }, run, 'replay'))}>Replay the original</Button>}>
          The run itself belongs to <Link className="text-accent underline" href={to.session({ ...id, session: session.forkedFrom!.sessionId })}>the session that this one is a fork of</Link>.
        </Empty>
      )}
      {recording.data && <Ready id={id} run={run} recording={recording.data} />}
      <Replays id={id} run={run} list={replays} />
    </RunFrame>
  );
}

function Ready({ id, run, recording }: { id: Key; run: string; recording: Recording }) {
  const query = useQuery();
  const client = useQueryClient();
  const info = useData({ queryKey: ['app-info', id.app], retry: false, queryFn: ({ signal }) => ask<AppInfo>(calls.appInfo(id.app), signal) });
  const effects = useMemo(() => effectsOf(info.data), [info.data]);
  const models = useMemo(() => modelsOf(info.data, recording), [info.data, recording]);
  const instructions = useMemo(() => {
    const known = instructionsOf(recording);
    for (const [name, text] of known) if (!text) known.set(name, info.data?.agents[name]?.instruction ?? '');
    return known;
  }, [recording, info.data]);
  const agent = [...instructions.keys()][0] ?? '';
  const mode = modes.find((m) => m === query.get('mode')) ?? 'exact';
  const [fields, setFields] = useState<Omit<Choice, 'mode'>>({ model: '', temperature: '', agent: '', instruction: '', step: 0, result: '', liveTools: false, calls: [] });
  const choice: Choice = { ...fields, mode, agent: fields.agent || agent, instruction: fields.agent ? fields.instruction : (instructions.get(agent) ?? ''), liveTools: mode !== 'exact' && mode !== 'calls' && fields.liveTools };
  const set = (change: Partial<Choice>) => setFields({ ...choice, ...change });
  const [problem, setProblem] = useState<Error>();
  const [running, setRunning] = useState<AbortController>();
  const [asking, setAsking] = useState(false);
  const result = useRef<HTMLDivElement>(null);
  useEffect(() => () => running?.abort(), [running]);

  let plan: ReplayPlan | undefined;
  let missing = '';
  try {
    plan = planOf(choice, recording.steps);
  } catch (error) {
    missing = (error as Error).message;
  }
  const tools = plan !== undefined && callsTools(plan, recording.steps);
  // Tools that only read do no harm when they are called again.
  const harmless = recording.steps.every((s, i) => s.kind !== 'tool' || !plan || !isLive(plan, s, i + 1) || effects.get(s.name) === 'pure');
  const since = mode === 'live' || mode === 'result';
  const made = query.get('replay') ?? '';
  const report = reports.get(made);
  const start = async () => {
    setAsking(false);
    setProblem(undefined);
    const controller = new AbortController();
    setRunning(controller);
    try {
      const answer = await ask<ReplayReport>(calls.replay(id, run, plan!), controller.signal);
      reports.set(answer.session, answer);
      setQuery({ replay: answer.session });
      void client.invalidateQueries({ queryKey: ['branches', id.app, id.user] });
      requestAnimationFrame(() => result.current?.scrollIntoView({ block: 'start' }));
    } catch (error) {
      if (!controller.signal.aborted) setProblem(error as Error);
    }
    setRunning(undefined);
  };
  if (recording.steps.length === 0) return <><NotRecorded recording={recording} /><Empty title="The run has called no model and no tool">There is nothing to answer in another way.</Empty></>;
  return (
    <div className="space-y-5">
      <NotRecorded recording={recording} />
      <fieldset>
        <legend className="label mb-1">what to try</legend>
        <div className="grid gap-2 sm:grid-cols-2 lg:grid-cols-3">
          {modes.map((m: Mode) => (
            <label key={m} className="flex cursor-pointer gap-2.5 rounded-lg border bg-sheet px-3 py-2 has-checked:border-accent has-checked:bg-tint has-focus-visible:outline-2 has-focus-visible:outline-accent">
              <input type="radio" name="mode" value={m} checked={mode === m} onChange={() => (setQuery({ mode: m === 'exact' ? undefined : m, replay: undefined }), set({ step: 0, calls: [] }))} className="mt-0.5 size-4 shrink-0 accent-(--accent)" />
              <span><b className="block font-semibold">{modeNames[m][0]}</b><span className="block text-xs text-soft">{modeNames[m][1]}</span></span>
            </label>
          ))}
        </div>
      </fieldset>
      <PlanFields choice={choice} set={set} recording={recording} instructions={instructions} models={models} />
      <section>
        <h2 className="label mb-1">calls of the run, and how they are answered</h2>
        <CallList recording={recording} plan={plan} choice={choice} set={set} effects={effects} />
        {recording.truncated && <p className="mt-1 text-soft">There were more calls than a recording holds. What is missing ends the replay.</p>}
      </section>
      {mode !== 'exact' && mode !== 'calls' && (
        <div className={`rounded-lg border px-4 py-2.5 ${choice.liveTools ? 'border-bad/40 bg-badtint' : 'bg-sheet'}`}>
          <label className="flex items-start gap-2.5">
            <input type="checkbox" checked={choice.liveTools} onChange={(e) => set({ liveTools: e.target.checked })} className="mt-0.5 size-4 shrink-0 accent-(--accent)" />
            <span><b className="font-semibold">{since ? 'Call tools again from there on' : 'Call tools again'}</b><span className="block text-soft">Tools run with all their effects, as {id.user} with that user’s logins.{since && ' What they did before that call is not done again.'} Otherwise tools answer as they did, and a call that the run did not make ends the replay.</span></span>
          </label>
          {choice.liveTools && <div className="mt-2 border-t border-bad/30 pt-2"><ToolWarning recording={recording} plan={plan} effects={effects} /></div>}
        </div>
      )}
      {mode === 'calls' && tools && <div className={`rounded-lg border px-4 py-2.5 ${harmless ? 'bg-sheet' : 'border-bad/40 bg-badtint'}`}><ToolWarning recording={recording} plan={plan} effects={effects} /></div>}
      <div className="flex flex-wrap items-center gap-3">
        {running ? (
          <><Button command="Cancel the replay" icon="stop" tone="danger" onClick={() => (running.abort(), setRunning(undefined))}>Cancel</Button><span role="status" className="pulse text-busy">The run is being replayed…</span></>
        ) : (
          <Action command="Replay the run" tone="primary" icon="retry" disabled={!plan} call={() => calls.replay(id, run, planOf(choice, recording.steps))} onClick={() => (tools ? setAsking(true) : void start())}>Replay</Action>
        )}
        <span className="text-soft">{missing || sentence(plan!, recording)}</span>
      </div>
      {problem && <Problem error={problem} what="The run could not be replayed" />}
      <div ref={result} className="scroll-mt-4">
        {report && !running && <ReportView key={report.session} id={id} run={run} report={report} />}
        {made && !report && !running && (
          <p className="rounded-lg border bg-sheet px-4 py-2.5">A report is kept as long as the page is open. The replay is still there: <Link className="text-accent underline" href={to.compare(id.app, id.user, [{ session: id.session, run }, { session: made, run }])}>compare it with the run</Link>, or <Link className="text-accent underline" href={to.session({ ...id, session: made })}>open it</Link>.</p>
        )}
      </div>
      <Dialog open={asking} onClose={() => setAsking(false)} title="Call tools again?" note={`What they do is done once more, as ${id.user}, and cannot be undone from here.`}>
        <ToolWarning recording={recording} plan={plan} effects={effects} />
        <Footer>
          <Button onClick={() => setAsking(false)}>Do not call them</Button>
          <Action tone="danger" icon="alert" call={() => calls.replay(id, run, planOf(choice, recording.steps))} onClick={() => void start()}>Call them</Action>
        </Footer>
      </Dialog>
    </div>
  );
}

function sentence(plan: ReplayPlan, { steps }: Recording): string {
  const models = plan.liveModels || plan.from || plan.results || plan.live?.some((n) => steps[n - 1]?.kind === 'model');
  const tools = callsTools(plan, steps);
  if (!models && !tools) return 'No model and no tool is called, and no token is spent.';
  return `${!models ? 'No model is called.' : `${plan.model ? `${plan.model} is called` : 'Models are called'}, which uses tokens.`} ${tools ? 'Tools are called.' : 'No tool is called.'}`;
}

/** What is known of a run that was not recorded. */
function NotRecorded({ recording }: { recording: Recording }) {
  if (!recording.fromLog) return null;
  return (
    <div data-not-recorded className="flex gap-3 rounded-lg border border-wait/50 bg-waittint px-4 py-3">
      <span className="mt-0.5 text-wait"><Icon name="alert" /></span>
      <div>
        <p className="font-semibold">This run was not recorded, so it is answered from the log</p>
        <p className="text-soft">The log has what models said, and what tools returned. Requests to models are not compared, and agents that are used as tools have no answers. A server that is started with <code className="font-mono text-xs">--record 1</code> also keeps the requests, the settings and the tools of each call of a model, and which code the application had; <code className="font-mono text-xs">parley web</code> does so by itself. <a className="text-accent underline" href="/docs/guide/replay.html">More about recordings</a></p>
      </div>
    </div>
  );
}
