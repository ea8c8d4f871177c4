import { useQuery as useData, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';

import { calls } from '../../api/calls';
import { ask } from '../../api/client';
import type { AppInfo, Key, Recording, ReplayPlan, ReplayReport, Session } from '../../api/types';
import { count } from '../../log/cost';
import { inPool } from '../../log/pool';
import { instructionsOf } from '../../log/replaying';
import { seconds } from '../../log/timeline';
import { turnOf, type Turn } from '../../log/turn';
import { Link, navigate, to } from '../../router';
import { CostText, usePrices } from '../../ui/cost';
import { Action, Button, Empty, Loading, Problem, Status } from '../../ui/parts';
import { Table, type Column } from '../../ui/table';
import { useVariantForm, variantName } from '../../ui/variantform';
import { messageOf, RunFrame } from './frame';
import { modelsOf } from './plan';
import { Replays } from './replays';
import { isActive, useReplays, useTurn } from './turns';

/** How many variants are tried at the same time. */
const together = 3;

interface Variant {
  plan: ReplayPlan;
  status: 'queued' | 'running' | 'done' | 'failed' | 'cancelled';
  problem?: string;
  report?: ReplayReport;
  turn?: Turn;
}

/** One run with several models, instructions and temperatures, in a table. */
export default function VariantsScreen({ id, run }: { id: Key; run: string }) {
  const { turn, record, session, ...read } = useTurn(id, run);
  const copied = session?.forkedFrom !== undefined && !record;
  const usable = turn !== undefined && !isActive(record) && !copied;
  const recording = useData({ queryKey: ['recording', id, run], enabled: usable, retry: false, queryFn: ({ signal }) => ask<Recording>(calls.recording(id, run), signal) });
  const replays = useReplays(id, run, session && (session.forkedFrom?.rootId ?? session.id));
  const problem = read.error ?? recording.error;
  return (
    <RunFrame id={id} run={run} tab="variants" session={turn?.title ?? ''} message={messageOf(turn?.steps[0]?.text)} {...(turn ? { status: turn.status } : {})} call={calls.recording(id, run)} note="The run is replayed with each model, instruction and temperature. Tools answer what they answered then, and are not called.">
      {problem && <Problem error={problem} what="The run could not be read" retry={() => void (read.error ? read.refetch() : recording.refetch())} />}
      {!problem && (read.isPending || recording.isLoading) && <Loading what="the run" />}
      {!read.isPending && !read.error && !usable && (
        <Empty title={copied ? 'This run was copied' : turn ? 'The run has not ended yet' : 'There is no such run in this session'} action={copied ? <Button tone="primary" onClick={() => navigate(to.run({ ...id, session: session.forkedFrom!.sessionId }, run, 'variants'))}>Try variants of the original</Button> : <Button onClick={() => navigate(to.session(id))}>Show the conversation</Button>} />
      )}
      {recording.data && turn && (recording.data.steps.some((s) => s.kind === 'model') ? <Ready id={id} run={run} recording={recording.data} original={turn} /> : <Empty title="The run has asked no model">So there is nothing to vary.</Empty>)}
      <Replays id={id} run={run} list={replays} />
    </RunFrame>
  );
}

function Ready({ id, run, recording, original }: { id: Key; run: string; recording: Recording; original: Turn }) {
  const client = useQueryClient();
  const info = useData({ queryKey: ['app-info', id.app], retry: false, queryFn: ({ signal }) => ask<AppInfo>(calls.appInfo(id.app), signal) });
  const known = useMemo(() => modelsOf(info.data, recording), [info.data, recording]);
  const agents = useMemo(() => instructionsOf(recording), [recording]);
  const { form, plans, problem } = useVariantForm(known, agents);
  const prices = usePrices();
  const [list, setList] = useState<Variant[]>([]);
  const [running, setRunning] = useState<AbortController>();
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => () => running?.abort(), [running]);
  const start = async () => {
    const controller = new AbortController();
    setRunning(controller);
    setMarked(new Set());
    setList(plans.map((plan) => ({ plan, status: 'queued' })));
    const change = (at: number, to: Partial<Variant>) => setList((now) => now.map((v, i) => (i === at ? { ...v, ...to } : v)));
    await inPool(plans, together, controller.signal, async (plan, i) => {
      change(i, { status: 'running' });
      try {
        const report = await ask<ReplayReport>(calls.replay(id, run, plan), controller.signal);
        const key = { ...id, session: report.session };
        const turn = turnOf(key, await ask<Session>(calls.session(key), controller.signal), [], run, prices);
        change(i, { status: report.status === 'failed' ? 'failed' : 'done', report, turn, ...(report.failure ? { problem: report.failure.message } : {}) });
      } catch (error) {
        if (!controller.signal.aborted) change(i, { status: 'failed', problem: (error as Error).message });
      }
    });
    setList((now) => now.map((v) => (v.status === 'queued' || v.status === 'running' ? { ...v, status: 'cancelled' } : v)));
    setRunning(undefined);
    void client.invalidateQueries({ queryKey: ['branches', id.app, id.user] });
  };
  const over = list.filter((v) => v.status !== 'queued' && v.status !== 'running').length;
  const chosen = list.filter((v) => v.report && marked.has(v.report.session));
  const compared = chosen.length > 0 ? chosen : list.filter((v) => v.report);
  return (
    <div className="space-y-5">
      {form}
      <div className="flex flex-wrap items-center gap-3">
        {running ? <Button command="Cancel the variants" icon="stop" tone="danger" onClick={() => running.abort()}>Cancel</Button> : <Action command tone="primary" icon="runs" disabled={plans.length === 0 || problem !== ''} call={() => plans.map((plan) => calls.replay(id, run, plan))} onClick={() => void start()}>{`Try ${plans.length} ${plans.length === 1 ? 'variant' : 'variants'}`}</Action>}
        {running ? <span role="status" className="flex items-center gap-3 text-busy"><span role="progressbar" aria-label="Progress" aria-valuemin={0} aria-valuemax={list.length} aria-valuenow={over} className="block h-1.5 w-40 overflow-hidden rounded-full bg-line"><span className="block h-full bg-busy" style={{ width: `${(over / list.length) * 100}%` }} /></span>{over} of {list.length}</span> : <span className={problem ? 'text-bad' : 'text-soft'}>{problem || 'Models are called, which uses tokens. Each variant is kept as a session of its own; what still runs when the page is closed is cancelled.'}</span>}
      </div>
      {list.length > 0 && <Results id={id} original={original} list={list} marked={marked} mark={(session, is) => setMarked(is ? new Set([...marked, session]) : new Set([...marked].filter((s) => s !== session)))} />}
      {compared.length > 0 && !running && (
        <Button command onClick={() => navigate(to.compare(id.app, id.user, [id.session, ...compared.slice(0, 5).map((v) => v.report!.session)].map((session) => ({ session, run }))))}>
          {chosen.length > 0 ? `Compare ${chosen.length} with the run` : compared.length > 5 ? 'Compare the first 5 with the run' : 'Compare all with the run'}
        </Button>
      )}
    </div>
  );
}

const columns: Column[] = [{ name: 'variant', marks: true }, { name: 'status', from: 'sm' }, { name: 'calls', from: 'md', end: true }, { name: 'tokens', from: 'sm', end: true }, { name: 'took', from: 'sm', end: true }];

function Results({ id, original, list, marked, mark }: { id: Key; original: Turn; list: Variant[]; marked: ReadonlySet<string>; mark: (session: string, is: boolean) => void }) {
  const priced = [original, ...list.map((v) => v.turn)].some((t) => t && (t.cost.usd !== undefined || t.cost.unpriced > 0));
  const row = (key: string, name: React.ReactNode, status: string, turn: Turn | undefined, more: { problem?: string; href?: string; session?: string }) => (
    <tr key={key} className="border-t align-top" data-variant={key}>
      <td className="w-full max-w-0 py-1.5 pr-2 pl-9">
        {more.session && <label className="float-left -ml-9 flex h-5 w-9 max-md:-my-2 max-md:h-9 items-center justify-center"><input type="checkbox" checked={marked.has(more.session)} onChange={(e) => mark(more.session!, e.target.checked)} className="size-3.5 accent-(--accent)" /><span className="sr-only">Mark variant {key}</span></label>}
        <p className="font-mono text-xs font-semibold [overflow-wrap:anywhere]">{name}</p>
        {more.problem && <p className="text-xs text-bad">{more.problem}</p>}
        {turn?.answer && turn.answer !== more.problem && <p className="line-clamp-3 text-soft [overflow-wrap:anywhere]">{turn.answer}</p>}
        <p className="flex flex-wrap items-baseline gap-x-2 text-xs text-soft sm:hidden"><Status value={status} />{turn && <span>{count(turn.tokens.total)} tokens, {seconds(turn.took)}{priced && <>, <CostText cost={turn.cost} /></>}</span>}</p>
      </td>
      <td className="px-2 py-1.5 max-sm:hidden"><Status value={status} /></td>
      <td className="px-2 py-1.5 text-right font-mono text-2xs leading-5 text-soft max-md:hidden">{turn ? turn.modelCalls + turn.toolCalls : ''}</td>
      <td className="px-2 py-1.5 text-right font-mono text-2xs leading-5 text-soft max-sm:hidden">{turn?.tokens.total ? count(turn.tokens.total) : ''}</td>
      <td className="px-2 py-1.5 text-right font-mono text-2xs leading-5 whitespace-nowrap text-soft max-sm:hidden">{turn ? seconds(turn.took) : ''}</td>
      {priced && <td className="px-2 py-1.5 text-right font-mono text-2xs leading-5 text-soft max-sm:hidden">{turn && (turn.cost.usd === undefined && turn.cost.unpriced > 0 ? 'unknown' : <CostText cost={turn.cost} />)}</td>}
      <td className="py-1.5 pr-4 pl-2 text-right whitespace-nowrap">{more.href && <Link href={more.href} className="text-accent hover:underline">Open</Link>}</td>
    </tr>
  );
  return (
    <Table columns={priced ? [...columns, { name: 'cost', from: 'sm', end: true }] : columns}>
      {row('0', 'the run itself', original.status, original, { href: to.session(id) })}
      {list.map((v, i) => row(String(i + 1), variantName(v.plan), v.status === 'done' ? (v.report?.status ?? 'completed') : v.status, v.turn, {
        ...(v.problem ? { problem: v.problem } : {}), ...(v.report ? { href: to.session({ ...id, session: v.report.session }), session: v.report.session } : {}),
      }))}
    </Table>
  );
}
