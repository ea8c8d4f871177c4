import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import { sinceTime } from '../api/clock';
import type { Run } from '../api/types';
import { usePages } from '../api/usepages';
import { useFixedUser, useMustName } from '../caller';
import { useCommands } from '../commands';
import { count, sumCosts } from '../log/cost';
import { seconds } from '../log/timeline';
import { Link, navigate, setQuery, to, useQuery } from '../router';
import { ScopePicker } from '../scopepicker';
import { Action, Button, Empty, Loading, Problem, Status, When } from '../ui/parts';
import { CostText } from '../ui/cost';
import { Screen } from '../ui/screen';
import { Table, type Column } from '../ui/table';
import { say } from '../ui/toast';
import { Virtual } from '../ui/virtual';
import { SavedFilters } from './savedsearches';
import { useTitles } from './titles';

const columns: Column[] = [{ name: 'status', marks: true }, { name: 'session' }, { name: 'run', from: 'md' }, { name: 'tokens', from: 'sm', end: true }, { name: 'took', from: 'sm', end: true }, { name: 'created', from: 'sm' }];
const groups = ['running', 'queued', 'waiting', 'completed', 'failed', 'cancelled'] as const;

export default function RunsScreen({ app, user }: { app: string; user: string }) {
  const client = useQueryClient();
  const query = useQuery();
  const mustName = useMustName();
  const fixed = useFixedUser() !== undefined || mustName;
  const everyone = !fixed && query.get('users') === 'all';
  const named = query.get('status')?.split(',') ?? [];
  const statuses = groups.filter((group) => named.includes(group));
  const first = calls.allRuns(app, everyone ? undefined : user, statuses);
  const [marked, setMarked] = useState<ReadonlyMap<string, Run>>(new Map());
  const runs = usePages<Run>(['runs', app, first.path], first, { every: 2000, upTo: 3 });
  const list = runs.rows;
  const choose = (next: readonly string[]) => setQuery({ status: next.join(',') || undefined });
  const filtered = statuses.length > 0;
  const titles = useTitles(app, user, { live: true });
  const keyOf = (run: Run) => ({ app, user: run.userId, session: run.sessionId });
  const chosen = [...marked.values()].filter((r) => r.appName === app).sort((a, b) => a.createTime - b.createTime);
  const mark = (run: Run, is: boolean) => setMarked(is ? new Map([...marked, [run.id, run]]) : new Map([...marked].filter(([id]) => id !== run.id)));
  const compare = () => navigate(to.compare(app, user, chosen.slice(0, 6).map((r) => ({ user: r.userId, session: r.sessionId, run: r.id }))));
  const cancel = (run: Run) =>
    void ask(calls.cancelRun(keyOf(run), run.id))
      .then(() => (say('The run is asked to stop.'), client.invalidateQueries({ queryKey: ['runs', app] })))
      .catch((error: Error) => say(error.message, 'bad'));
  useCommands([
    ...(filtered ? [{ label: 'Show all runs', act: () => choose([]) }] : []),
    ...groups.map((group) => ({ label: `Show ${group} runs`, act: () => choose([group]) })),
    ...(fixed ? [] : [{ label: everyone ? `Show runs of ${user}` : 'Show runs of all users', act: () => setQuery({ users: everyone ? undefined : 'all' }) }]),
  ]);
  return (
    <Screen
      wide
      scope={<ScopePicker />}
      title="Runs"
      note={<>Runs of {everyone ? 'all users' : <b className="font-semibold text-ink">{user}</b>} with <b className="font-semibold text-ink">{app}</b>, the newest first. The list follows changes.</>}
      call={first}
    >
      <div role="group" aria-label="Show" className="mb-3 flex flex-wrap gap-1">
        {(['all', ...groups] as const).map((group) => (
          <button
            key={group}
            type="button"
            aria-pressed={group === 'all' ? !filtered : statuses.includes(group)}
            onClick={() => choose(group === 'all' ? [] : groups.filter((one) => statuses.includes(one) !== (one === group)))}
            className="h-7 rounded-md border border-transparent px-2.5 text-soft hover:bg-sunk aria-pressed:border-rule aria-pressed:bg-sheet aria-pressed:font-semibold aria-pressed:text-ink max-md:h-9"
          >
            {group}
          </button>
        ))}
        {!fixed && <label className="ml-2 flex h-7 items-center gap-2 max-md:h-9"><input type="checkbox" checked={everyone} onChange={(e) => setQuery({ users: e.target.checked ? 'all' : undefined })} className="size-3.5 accent-(--accent)" />All users</label>}
        <SavedFilters screen="runs" />
        {chosen.length > 0 && (
          <span role="group" aria-label="Marked runs" className="ml-auto flex items-center gap-1.5">
            <span className="text-soft">{chosen.length} marked</span>
            <Button tone="quiet" onClick={() => setMarked(new Map())}>Clear</Button>
            <Button command="Compare the marked runs" tone="primary" disabled={chosen.length < 2 || chosen.length > 6} title={chosen.length > 6 ? 'Up to 6 runs are shown beside each other' : 'Compare them side by side'} onClick={compare}>Compare</Button>
          </span>
        )}
      </div>
      {runs.error && <Problem error={runs.error} what="The runs could not be listed" retry={() => void runs.refetch()} />}
      {runs.isPending && <Loading what="the runs" />}
      {runs.isSuccess && list.length === 0 && (
        <Empty title={filtered ? `No run is ${statuses.join(' or ')}` : 'Nothing has run yet'} action={<Button onClick={() => (filtered ? choose([]) : navigate(to.user(app, user, 'sessions')))}>{filtered ? 'Show all runs' : 'Show the sessions'}</Button>}>
          Every message starts a run. It continues when the page is closed.
        </Empty>
      )}
      {list.length > 0 && (
        <Table columns={columns} rows={list.length}>
          <Virtual as="tr" items={list} keyOf={(run) => run.id} height={41} draw={(run, measured) => (
            <tr {...measured} className="border-t align-top hover:bg-paper">
              <td className="py-1.5 pr-4 pl-9">
                <label className="float-left -ml-9 flex h-5 w-9 max-md:-my-2 max-md:h-9 items-center justify-center"><input type="checkbox" checked={marked.has(run.id)} onChange={(e) => mark(run, e.target.checked)} className="size-3.5 accent-(--accent)" /><span className="sr-only">Mark the run {run.id}</span></label>
                <Status value={run.status} />
                {run.stop && (run.status === 'running' || run.status === 'queued') && <span className="label block">stopping</span>}
                {run.resumedBy && <Link href={`${to.session(keyOf(run))}?run=${run.resumedBy}`} className="label block hover:underline">answered</Link>}
              </td>
              <td className="w-full max-w-0 px-2 py-1.5">
                <Link href={`${to.session(keyOf(run))}?run=${run.id}`} title={run.sessionId} className="block truncate font-medium hover:underline">{(run.userId === user && titles.get(run.sessionId)) || run.sessionId}</Link>
                {everyone && <span className="label block truncate">{run.userId}</span>}
                <span className="sm:hidden"><When time={run.createTime} /></span>
                {run.error && run.status !== 'cancelled' && <span className="block text-xs text-bad">{run.error.message}</span>}
              </td>
              <td className="max-w-[160px] truncate px-2 py-1.5 font-mono text-2xs leading-5 text-faint max-md:hidden" title={run.id}><Link href={to.run(keyOf(run), run.id)} className="hover:underline">{run.id}</Link></td>
              <td className="px-2 py-1.5 text-right font-mono text-2xs leading-5 whitespace-nowrap text-soft max-sm:hidden">{run.usageMetadata?.totalTokenCount === undefined ? '' : count(run.usageMetadata.totalTokenCount)}<CostText cost={sumCosts([run])} className="block text-faint" /></td>
              <td className="px-2 py-1.5 text-right font-mono text-2xs leading-5 whitespace-nowrap text-soft max-sm:hidden">{run.status !== 'queued' && seconds(run.endTime === undefined ? sinceTime(run.createTime) : run.endTime - run.createTime)}</td>
              <td className="px-2 py-1.5 max-sm:hidden"><When time={run.createTime} /></td>
              <td className="py-0.5 pr-2 text-right max-md:*:-mt-1">
                {(run.status === 'running' || run.status === 'queued') && (
                  <Action item={run.id} tone="danger" icon="stop" call={calls.cancelRun(keyOf(run), run.id)} onClick={() => cancel(run)}>Cancel</Action>
                )}
                {run.status === 'waiting' && <Button tone="quiet" onClick={() => navigate(to.session(keyOf(run)))}>Answer</Button>}
              </td>
            </tr>
          )} />
        </Table>
      )}
      {list.length > 0 && (
        <div className="mt-3 flex items-center justify-center gap-3">
          <span className="text-soft" data-shown>{runs.hasNextPage ? `The newest ${count(list.length)} runs` : `${count(list.length)} ${list.length === 1 ? 'run' : 'runs'}`}</span>
          {runs.hasNextPage && <Button disabled={runs.isFetchingNextPage} onClick={() => void runs.fetchNextPage()}>Show more</Button>}
        </div>
      )}
    </Screen>
  );
}
