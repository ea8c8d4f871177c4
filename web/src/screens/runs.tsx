import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import type { Overview, Run } from '../api/types';
import { sumCosts } from '../log/cost';
import { seconds } from '../log/timeline';
import { Link, navigate, to } from '../router';
import { ScopePicker } from '../scopepicker';
import { Action, Button, Empty, Loading, Problem, Status, When } from '../ui/parts';
import { CostText } from '../ui/cost';
import { Screen } from '../ui/screen';
import { Table, type Column } from '../ui/table';
import { say } from '../ui/toast';

const columns: Column[] = [{ name: 'status' }, { name: 'session' }, { name: 'run', from: 'md' }, { name: 'tokens', from: 'sm' }, { name: 'took', from: 'sm' }, { name: 'started', from: 'sm' }];
/** How many runs are shown at once. */
const page = 100;
const groups = ['all', 'running', 'queued', 'waiting', 'failed'] as const;

export default function RunsScreen({ app, user }: { app: string; user: string }) {
  const client = useQueryClient();
  const [shown, setShown] = useState<(typeof groups)[number]>('all');
  const [most, setMost] = useState(page);
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const runs = useQuery({
    queryKey: ['runs', app, user],
    queryFn: ({ signal }) => ask<Run[]>(calls.recentRuns(app, user), signal),
    refetchInterval: 2000,
  });
  const sessions = useQuery({
    queryKey: ['titles', app, user],
    queryFn: ({ signal }) => ask<Overview[]>(calls.sessions(app, user, { pageSize: 100 }), signal),
    refetchInterval: 10_000,
  });
  const titles = new Map(sessions.data?.map((row) => [row.session.id, row.title]));
  const all = runs.data ?? [];
  const list = all.filter((r) => shown === 'all' || r.status === shown);
  const chosen = all.filter((r) => marked.has(r.id)).reverse();
  const mark = (id: string, is: boolean) => setMarked(is ? new Set([...marked, id]) : new Set([...marked].filter((one) => one !== id)));
  const compare = () => navigate(to.compare(app, user, chosen.slice(0, 6).map((r) => ({ session: r.sessionId, run: r.id }))));
  const cancel = (run: Run) =>
    void ask(calls.cancelRun({ app, user, session: run.sessionId }, run.id))
      .then(() => (say('The run is asked to stop.'), client.invalidateQueries({ queryKey: ['runs', app, user] })))
      .catch((error: Error) => say(error.message, 'bad'));
  return (
    <Screen
      wide
      scope={<ScopePicker />}
      title="Runs"
      note={<>What the newest sessions of <b className="font-semibold text-ink">{user}</b> with <b className="font-semibold text-ink">{app}</b> did and do, kept up to date.</>}
      call={calls.recentRuns(app, user)}
    >
      <div role="group" aria-label="Show" className="mb-3 flex flex-wrap gap-1">
        {groups.map((group) => {
          const count = group === 'all' ? all.length : all.filter((r) => r.status === group).length;
          return (
            <button
              key={group}
              type="button"
              aria-pressed={shown === group}
              onClick={() => setShown(group)}
              className="h-7 rounded-md border border-transparent px-2.5 text-soft hover:bg-sunk aria-pressed:border-rule aria-pressed:bg-sheet aria-pressed:font-semibold aria-pressed:text-ink max-md:h-9"
            >
              {group} <span className="font-mono text-2xs text-faint">{count}</span>
            </button>
          );
        })}
        {chosen.length > 0 && (
          <span role="group" aria-label="Marked runs" className="ml-auto flex items-center gap-1.5">
            <span className="text-soft">{chosen.length} marked</span>
            <Button tone="quiet" onClick={() => setMarked(new Set())}>Clear</Button>
            <Button tone="primary" disabled={chosen.length < 2 || chosen.length > 6} title={chosen.length > 6 ? 'Up to 6 runs are shown beside each other' : 'Compare them side by side'} onClick={compare}>Compare</Button>
          </span>
        )}
      </div>
      {runs.error && <Problem error={runs.error} what="The runs could not be listed" retry={() => void runs.refetch()} />}
      {runs.isPending && <Loading what="the runs" />}
      {runs.isSuccess && list.length === 0 && (
        <Empty title={shown === 'all' ? 'Nothing has run yet' : `No run is ${shown}`} action={<Button onClick={() => (shown === 'all' ? navigate(to.user(app, user, 'sessions')) : setShown('all'))}>{shown === 'all' ? 'Show the sessions' : 'Show all runs'}</Button>}>
          Every message starts a run. It continues when the page is closed.
        </Empty>
      )}
      {list.length > 0 && (
        <Table columns={columns}>
          {list.slice(0, most).map((run) => (
            <tr key={run.id} className="border-t align-top hover:bg-paper">
              <td className="py-1.5 pr-4 pl-9">
                <label className="float-left -ml-9 flex h-5 w-9 items-center justify-center"><input type="checkbox" checked={marked.has(run.id)} onChange={(e) => mark(run.id, e.target.checked)} className="size-3.5 accent-(--accent)" /><span className="sr-only">Mark the run {run.id}</span></label>
                <Status value={run.status} />
                {run.stop && (run.status === 'running' || run.status === 'queued') && <span className="label block">stopping</span>}
                {run.resumedBy && <Link href={`${to.session({ app, user, session: run.sessionId })}?run=${run.resumedBy}`} className="label block hover:underline">answered</Link>}
              </td>
              <td className="w-full max-w-0 px-2 py-1.5">
                <Link href={`${to.session({ app, user, session: run.sessionId })}?run=${run.id}`} title={run.sessionId} className="block truncate font-medium hover:underline">{titles.get(run.sessionId) || run.sessionId}</Link>
                <span className="sm:hidden"><When time={run.createTime} /></span>
                {run.error && <span className="block text-xs text-bad">{run.error.message}</span>}
              </td>
              <td className="max-w-[160px] truncate px-2 py-1.5 font-mono text-2xs leading-5 text-faint max-md:hidden" title={run.id}><Link href={to.run({ app, user, session: run.sessionId }, run.id)} className="hover:underline">{run.id}</Link></td>
              <td className="px-2 py-1.5 font-mono text-2xs leading-5 whitespace-nowrap text-soft max-sm:hidden">{run.usageMetadata?.totalTokenCount ?? ''}<CostText cost={sumCosts([run])} className="block text-faint" /></td>
              <td className="px-2 py-1.5 font-mono text-2xs leading-5 whitespace-nowrap text-soft max-sm:hidden">{run.endTime ? seconds(run.endTime - run.createTime) : seconds(Date.now() / 1000 - run.createTime)}</td>
              <td className="px-2 py-1.5 max-sm:hidden"><When time={run.createTime} /></td>
              <td className="py-0.5 pr-2 text-right">
                {(run.status === 'running' || run.status === 'queued') && (
                  <Action tone="danger" icon="stop" call={calls.cancelRun({ app, user, session: run.sessionId }, run.id)} onClick={() => cancel(run)}>Cancel</Action>
                )}
                {run.status === 'waiting' && <Button tone="quiet" onClick={() => navigate(to.session({ app, user, session: run.sessionId }))}>Answer</Button>}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {list.length > most && <div className="mt-3 flex justify-center"><Button onClick={() => setMost(most + page)}>Show more</Button></div>}
    </Screen>
  );
}
