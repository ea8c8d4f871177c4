import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState, type ReactNode } from 'react';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import type { Event, JsonObject, Key, Part, Run, Session } from '../api/types';
import { useCaller } from '../caller';
import { initialOf, read, type Draft } from '../log/args';
import { pendingOf } from '../log/pending';
import { seconds } from '../log/timeline';
import { effects, matching, outcomeOf, resultOf, type AgentTools, type OfferedTool } from '../log/toolcalls';
import { Link, setQuery, to, useQuery as useAddressQuery } from '../router';
import { ScopePicker } from '../scopepicker';
import { ArgsForm } from '../ui/argsform';
import { Dialog, Footer } from '../ui/dialog';
import { JsonView } from '../ui/json';
import { Name } from '../ui/name';
import { Action, Author, Button, Empty, Field, Loading, Problem, Status } from '../ui/parts';
import { Screen } from '../ui/screen';
import { say } from '../ui/toast';
import { Virtual } from '../ui/virtual';
import { RequestCard } from '../workbench/requests';

/** Calls of single tools, without a model. */
export default function ToolsScreen({ app, user }: { app: string; user: string }) {
  const developer = useCaller()?.developer ?? false;
  const query = useAddressQuery();
  const [search, setSearch] = useState('');
  const list = useQuery({
    queryKey: ['tools', app, user], enabled: developer, retry: false,
    queryFn: ({ signal }) => ask<AgentTools[]>(calls.tools(app, user), signal),
  });
  const agent = query.get('agent') ?? '';
  const tool = list.data?.find((a) => a.agent === agent)?.tools.find((t) => t.name === query.get('tool'));
  const shown = matching(list.data ?? [], search);
  const count = list.data?.reduce((n, a) => n + a.tools.length, 0) ?? 0;
  const problems = list.data?.flatMap((a) => (a.problems ?? []).map((p) => `${a.agent}: ${p}`)) ?? [];
  return (
    <Screen
      wide
      scope={<ScopePicker />}
      title="Tools"
      note={<>Call one tool of <b className="font-semibold text-ink">{app}</b> as <b className="font-semibold text-ink">{user}</b>, with the logins of that user and without a model.</>}
      call={calls.tools(app, user)}
    >
      {!developer && <Empty title="Tools are for developers">Your account may talk to the agents, but not call their tools one by one.</Empty>}
      {developer && list.isPending && <Loading what="the tools" />}
      {list.error && <Problem error={list.error} what="The tools could not be listed" retry={() => void list.refetch()} />}
      {problems.length > 0 && (
        <div role="alert" className="mb-4 rounded-lg border border-wait/50 bg-waittint/60 px-4 py-2.5">
          {problems.map((p) => <p key={p} className="[overflow-wrap:anywhere]">{p}</p>)}
          <Button className="mt-2" icon="retry" onClick={() => void list.refetch()}>Try again</Button>
        </div>
      )}
      {list.data && count === 0 && problems.length === 0 && <Empty title="There are no tools">The agents of {app} have none that can be called by themselves.</Empty>}
      {count > 0 && (
        <div className="grid gap-6 lg:grid-cols-[minmax(0,300px)_minmax(0,1fr)]">
          <nav aria-label="Tools" className={tool ? 'max-lg:hidden' : ''}>
            <input type="search" data-search aria-label="Search the tools" placeholder="Search" value={search} onChange={(e) => setSearch(e.target.value)} className="field mb-3 w-full" />
            {shown.length === 0 && <p className="text-soft">No tool has this in its name or description.</p>}
            {shown.filter((a) => a.tools.length > 0).map((a) => (
              <section key={a.agent} className="mb-4">
                <h2 className="mb-1 px-2"><Author name={a.agent} /></h2>
                <ul>
                  <Virtual as="li" items={a.tools} keyOf={(t) => t.name} height={64} draw={(t, measured) => (
                    <li {...measured}>
                      <Link
                        href={to.tool(app, user, a.agent, t.name)}
                        aria-current={a.agent === agent && t === tool ? 'true' : undefined}
                        className="block rounded-md px-2 py-1.5 hover:bg-sunk aria-[current]:bg-sheet aria-[current]:shadow-[inset_2px_0_0_var(--accent)]"
                      >
                        <span className="block font-mono text-xs font-semibold [overflow-wrap:anywhere]"><Name of={t.name} /></span>
                        <span className="line-clamp-2 text-xs text-soft">{t.description}</span>
                      </Link>
                    </li>
                  )} />
                </ul>
              </section>
            ))}
          </nav>
          {tool ? (
            <div className="min-w-0">
              <Button icon="left" className="mb-3 lg:hidden" onClick={() => setQuery({ agent: undefined, tool: undefined })}>All tools</Button>
              <ToolView key={`${agent} ${tool.name}`} app={app} user={user} agent={agent} tool={tool} />
            </div>
          ) : (
            <div className="max-lg:hidden"><Empty title="Choose a tool">Fill in its arguments, see what it affects, and call it.</Empty></div>
          )}
        </div>
      )}
    </Screen>
  );
}

/** A call that was made: the session that it is in, and its runs. */
interface Made {
  id: Key;
  run: string;
}

function ToolView({ app, user, agent, tool }: { app: string; user: string; agent: string; tool: OfferedTool }) {
  const schema = tool.parameters ?? {};
  const [args, setArgs] = useState<Draft>(() => initialOf(schema, schema, true) ?? {});
  const [raw, setRaw] = useState<string>(); // while the arguments are edited as JSON
  const [session, setSession] = useState('');
  const [problems, setProblems] = useState<string[]>([]);
  const [asked, setAsked] = useState<JsonObject>();
  const [busy, setBusy] = useState(false);
  const [made, setMade] = useState<Made>();
  const effect = effects[tool.effect];
  const body = (given: JsonObject) => ({ agent, tool: tool.name, args: given, ...(session.trim() ? { sessionId: session.trim() } : {}) });
  const given = (): JsonObject | undefined => {
    const got = raw === undefined ? read(schema, schema, args) : parse(raw);
    setProblems(got.problems);
    return got.problems.length === 0 ? (got.value as JsonObject) : undefined;
  };
  const send = async (what: JsonObject) => {
    setAsked(undefined);
    setBusy(true);
    try {
      const run = await ask<Run>(calls.callTool(app, user, body(what)));
      setMade({ id: { app, user, session: run.sessionId }, run: run.id });
    } catch (error) {
      setProblems([(error as Error).message]);
    } finally {
      setBusy(false);
    }
  };
  const start = () => {
    const what = given();
    if (what) effect.safe ? void send(what) : setAsked(what);
  };
  const command = () => calls.callTool(app, user, body((raw === undefined ? read(schema, schema, args) : parse(raw)).value as JsonObject));
  const toJson = () => setRaw(JSON.stringify(read(schema, schema, args).value ?? {}, null, 2));
  const toForm = () => {
    const got = parse(raw!);
    setProblems(got.problems);
    if (got.problems.length > 0) return;
    setArgs(got.value as Draft);
    setRaw(undefined);
  };
  return (
    <>
      <h2 className="font-mono text-base font-semibold [overflow-wrap:anywhere]"><Name of={tool.name} /></h2>
      {tool.description && <p className="mb-2 max-w-[72ch] whitespace-pre-line text-soft">{tool.description}</p>}
      <p className="mb-4 flex flex-wrap gap-1.5" data-effect={tool.effect}>
        <Badge tone={effect.safe ? 'good' : 'wait'} title={effect.note}>{effect.name}</Badge>
        {tool.asksFirst && <Badge>asks for confirmation</Badge>}
        {tool.needsLogin && <Badge>needs a login</Badge>}
        {tool.longRunning && <Badge>answered from outside</Badge>}
        {tool.toolset && <Badge>{tool.toolset}</Badge>}
        <span className="basis-full text-xs text-faint">{effect.note}</span>
      </p>
      <form className="max-w-[640px]" onSubmit={(e) => (e.preventDefault(), start())} data-tool-form>
        <div className="mb-2 flex items-center gap-2">
          <h3 className="label flex-1">arguments</h3>
          <Button tone="quiet" onClick={raw === undefined ? toJson : toForm}>{raw === undefined ? 'Edit as JSON' : 'Edit as a form'}</Button>
        </div>
        {raw === undefined ? <ArgsForm schema={schema} value={args} change={(to) => (setArgs(to), setProblems([]))} /> : <textarea aria-label="Arguments as JSON" rows={Math.min(Math.max(raw.split('\n').length + 1, 5), 20)} spellCheck={false} className="field w-full font-mono text-xs" value={raw} onChange={(e) => (setRaw(e.target.value), setProblems([]))} />}
        <details className="mt-4">
          <summary className="cursor-pointer text-xs text-soft hover:text-ink">Session</summary>
          <div className="mt-2"><Field label="session id" note="The call sees and changes the state and the files of this session, and is a part of its conversation. Without one, it is made in a session of its own that is not listed and kept for a day."><input className="field w-full" spellCheck={false} value={session} placeholder="one of its own" onChange={(e) => setSession(e.target.value)} /></Field></div>
        </details>
        {problems.length > 0 && <div role="alert" className="mt-3 text-bad">{problems.map((p) => <p key={p} className="[overflow-wrap:anywhere]">{p}</p>)}</div>}
        <div className="mt-4"><Action command tone="primary" icon="send" type="submit" call={command} disabled={busy}>{busy ? 'Calling…' : 'Call the tool'}</Action></div>
      </form>
      {made && <Result key={made.run} made={made} />}
      <Dialog open={asked !== undefined} onClose={() => setAsked(undefined)} title={`Call ${tool.name}?`} note={<>It {effect.name}, as {user}. {effect.note}</>}>
        {asked && <div className="mb-4 max-h-[40vh] overflow-y-auto rounded-md bg-sunk px-3 py-2"><JsonView value={asked} label="the arguments" /></div>}
        <Footer>
          <Button onClick={() => setAsked(undefined)}>Cancel</Button>
          {asked && <Action tone="primary" call={calls.callTool(app, user, body(asked))} onClick={() => void send(asked)}>Call it</Action>}
        </Footer>
      </Dialog>
    </>
  );
}

function parse(text: string): { value?: JsonObject; problems: string[] } {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { value: value as JsonObject, problems: [] };
  } catch {
    // As below.
  }
  return { problems: ['The arguments are not a JSON object.'] };
}

function Badge({ children, tone, title }: { children: string; tone?: 'good' | 'wait'; title?: string }) {
  return <span title={title} className={`rounded-sm px-1.5 font-mono text-2xs leading-5 ${tone === 'good' ? 'bg-sunk text-good' : tone === 'wait' ? 'bg-waittint text-wait' : 'bg-sunk text-soft'}`}>{children}</span>;
}

const active = (run: Run) => run.status === 'running' || run.status === 'queued';

/** What comes of a call: questions first, then the result and what it has changed. */
function Result({ made }: { made: Made }) {
  const { id } = made;
  const now = useQuery<{ runs: Run[]; events: Event[] }>({
    queryKey: ['tool-call', id, made.run],
    refetchInterval: (query) => (query.state.data?.runs.some(active) === false ? (query.state.data.runs[0]?.status === 'waiting' ? 2000 : false) : 400),
    queryFn: async ({ signal }) => {
      // The runs are read first: when they have ended, the log is complete.
      const runs = await ask<Run[]>(calls.runs(id, 20), signal);
      const session = await ask<Session>(calls.session(id), signal);
      const first = runs.findIndex((r) => r.id === made.run);
      return { runs: runs.slice(0, first + 1), events: session.events as Event[] };
    },
  });
  const place = useRef<HTMLElement>(null);
  useEffect(() => {
    place.current?.scrollIntoView({ block: 'nearest' });
  }, [now.isPending]);
  if (now.isPending) return <Loading what="the result" />;
  if (now.error) return <Problem error={now.error} what="The result could not be read" retry={() => void now.refetch()} />;
  const { runs, events } = now.data;
  const own = new Set(runs.map((r) => r.id));
  const mine = events.filter((e) => own.has(e.invocationId ?? ''));
  const latest = runs[0];
  const running = runs.some(active);
  const outcome = outcomeOf(mine);
  const pending = running ? [] : pendingOf(mine);
  const answer = async (part: Part) => {
    try {
      await ask(calls.startRun(id, [part]));
      await now.refetch();
      return true;
    } catch (error) {
      say((error as Error).message, 'bad');
      return false;
    }
  };
  const error = latest?.error?.message ?? outcome.error;
  return (
    <section ref={place} aria-label="Result" className="mt-6 border-t pt-4" data-result={running ? 'running' : (latest?.status ?? '')}>
      <div className="mb-3 flex flex-wrap items-center gap-x-3 gap-y-1">
        <h3 className="font-semibold">Result</h3>
        {latest && <span role="status"><Status value={outcome.failed && !running ? 'failed' : latest.status} /></span>}
        {outcome.failed && !running && latest?.status !== 'failed' && <span className="text-bad">the tool has failed</span>}
        {outcome.took !== undefined && !running && <span className="font-mono text-2xs text-faint">{seconds(outcome.took)}</span>}
        <span className="flex-1" />
        {running && latest && <Action icon="stop" call={calls.cancelRun(id, latest.id)} onClick={() => void ask(calls.cancelRun(id, latest.id)).then(() => now.refetch()).catch((e: Error) => say(e.message, 'bad'))}>Stop</Action>}
        {latest && <Link className="underline" href={to.run(id, latest.id)}>Steps</Link>}
        <Link className="underline" href={to.session(id)}>Session</Link>
      </div>
      {pending.map((one) => <div key={one.call.id} className="mb-3"><RequestCard pending={one} answer={answer} call={(part) => calls.startRun(id, [part])} /></div>)}
      {error && <p role="alert" className="mb-3 text-bad [overflow-wrap:anywhere]">{error}</p>}
      {outcome.response && (
        <div className={`mb-4 rounded-md px-3 py-2 ${outcome.failed ? 'bg-badtint' : 'bg-sunk'}`} data-response={outcome.failed ? 'failed' : 'ok'}>
          <JsonView value={resultOf(outcome.response)} label="the result" />
        </div>
      )}
      {Object.keys(outcome.state).length > 0 && <Block title="state changes"><div className="rounded-md bg-sunk px-3 py-2"><JsonView value={outcome.state} label="the state changes" /></div></Block>}
      {outcome.artifacts.length > 0 && (
        <Block title="files">
          <ul>{outcome.artifacts.map(([name, version]) => <li key={name}><Link className="underline [overflow-wrap:anywhere]" href={to.artifact(id, name, version)}>{name}</Link> <span className="label">version {version}</span></li>)}</ul>
        </Block>
      )}
    </section>
  );
}

function Block({ title, children }: { title: string; children: ReactNode }) {
  return <div className="mb-4"><h4 className="label mb-1">{title}</h4>{children}</div>;
}
