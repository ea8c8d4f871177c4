import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';

import { calls, type UsageFilter } from '../api/calls';
import { readPages } from '../api/pages';
import { useFixedUser } from '../caller';
import { useCommands } from '../commands';
import { count, grouped, sessionNamed, sumCosts, type UsageSum } from '../log/cost';
import { dayNamed } from '../log/dates';
import { Link, setQuery, to, useQuery as useAddressQuery } from '../router';
import { useApps } from '../scope';
import { CostText, usePrices } from '../ui/cost';
import { AppFilter, UserFilter } from '../ui/filters';
import { Button, Empty, Loading, Problem } from '../ui/parts';
import { Screen } from '../ui/screen';
import { Virtual } from '../ui/virtual';
import { SavedFilters } from './savedsearches';

const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
const ranges = [['1', 'today'], ['7', '7 days'], ['30', '30 days'], ['365', 'a year']] as const;

export default function UsageScreen() {
  const query = useAddressQuery();
  const fixed = useFixedUser();
  const apps = useApps().data ?? [];
  const prices = usePrices();
  const days = ranges.find(([value]) => value === query.get('days'))?.[0] ?? '30';
  const filter: UsageFilter = { app: query.get('app') ?? undefined, user: fixed ?? query.get('user') ?? undefined, from: day(Number(days) - 1), to: day(0) };
  // The sums are the server's: they are of all applications and users, however many of them are listed.
  const usage = useSums({ ...filter, groupBy: 'day' });
  const byApp = useSums({ ...filter, groupBy: 'app' }, usage.isSuccess && !filter.app);
  const byUser = useSums({ ...filter, groupBy: 'user' }, usage.isSuccess && !filter.user);
  const bySession = useSums({ ...filter, groupBy: 'session' }, usage.isSuccess && Boolean(filter.app), false);
  const list = usage.data?.rows ?? [];
  const total = sumCosts(list);
  const filtered = Boolean(filter.app || (!fixed && filter.user));
  const show = (value: string) => setQuery({ days: value === '30' ? undefined : value });
  useCommands(ranges.filter(([value]) => value !== days).map(([value, label]) => ({ label: `Show ${label}`, act: () => show(value) })));
  return (
    <Screen
      wide
      title="Usage"
      note={<>Tokens and their cost by days in UTC. {prices && <>Prices are those of {prices.fileDate ? <>a file of {dayNamed(prices.fileDate)}, and otherwise </> : ''}{dayNamed(prices.date)}; the cost of a run stays what it was when the run ended.</>}</>}
      call={calls.usage({ ...filter, groupBy: 'day' })}
    >
      <div className="mb-4 flex flex-wrap items-center gap-2">
        <label className="flex items-center gap-2"><span className="label">app</span>
          <AppFilter all="all" names={apps.map((app) => app.name)} value={filter.app ?? ''} change={(app) => setQuery({ app: app || undefined })} />
        </label>
        {!fixed && (
          <label className="flex items-center gap-2"><span className="label">user</span>
            <UserFilter value={filter.user ?? ''} change={(user) => setQuery({ user })} />
          </label>
        )}
        <div role="group" aria-label="Days" className="flex flex-wrap gap-1">
          {ranges.map(([value, label]) => (
            <button key={value} type="button" aria-pressed={days === value} onClick={() => show(value)} className="h-7 rounded-md border border-transparent px-2.5 text-soft hover:bg-sunk aria-pressed:border-rule aria-pressed:bg-sheet aria-pressed:font-semibold aria-pressed:text-ink max-md:h-9">{label}</button>
          ))}
        </div>
        <SavedFilters screen="usage" />
      </div>
      {usage.error && <Problem error={usage.error} what="The usage could not be read" retry={() => void usage.refetch()} />}
      {usage.isPending && <Loading what="the usage" />}
      {usage.isSuccess && list.length === 0 && (
        <Empty title="Nothing was used" action={filtered ? <Button onClick={() => setQuery({ app: undefined, user: undefined })}>Show all</Button> : undefined}>
          A run counts on the day on which it ends.
        </Empty>
      )}
      {list.length > 0 && (
        <>
          <p className="mb-5 text-lg" data-total>
            <CostText cost={total} className="font-semibold" />
            <span className="text-soft"> · {count(list.reduce((sum, u) => sum + u.totalTokenCount, 0))} tokens · {count(list.reduce((sum, u) => sum + u.runs, 0))} runs</span>
          </p>
          <Part title="model" rows={grouped(list, 'model').sort((a, b) => b.tokens - a.tokens)} none="a model without a name" />
          <Part title="day" rows={grouped(list, 'day').reverse()} />
          {!filter.app && <Listed title="application" by="appName" sums={byApp} href={to.app} />}
          {!filter.user && <Listed title="user" by="userId" sums={byUser} />}
          {filter.app && <Listed title="session" by="session" sums={bySession} href={(name) => to.session(sessionNamed(name))} label={(name) => <SessionName name={name} user={!filter.user} />} />}
        </>
      )}
    </Screen>
  );
}

/** How many pages of sums are read, of a thousand each. */
const most = 20;

// Sums by session are made of runs, each time that they are read: they are not read again and again.
const useSums = (filter: UsageFilter, enabled = true, again = true) =>
  useQuery({ queryKey: ['usage', filter], enabled, queryFn: ({ signal }) => readPages<UsageSum>(calls.usage(filter), most, signal), refetchInterval: again && 30_000 });

/** A session of the list, with its user if the list has several. */
function SessionName({ name, user }: { name: string; user: boolean }) {
  const key = sessionNamed(name);
  return <span title={key.session}>{key.session}{user && <span className="text-soft"> · {key.user}</span>}</span>;
}

/** The sums of applications, users or sessions, the largest ones first. */
function Listed({ title, by, sums, ...links }: { title: string; by: 'appName' | 'userId' | 'session'; sums: ReturnType<typeof useSums> } & Pick<Parameters<typeof Part>[0], 'href' | 'label'>) {
  const { data, error, refetch } = sums;
  if (error) return <Problem error={error} what={`The usage by ${title} could not be read`} retry={() => void refetch()} />;
  if (!data) return <Loading what={`the usage by ${title}`} />;
  return (
    <>
      <Part title={title} rows={grouped(data.rows, by).sort((a, b) => b.tokens - a.tokens)} {...links} />
      {data.more && <p className="-mt-4 mb-6 text-wait">Only the first {count(data.rows.length)} by name are read here; the other sums on this page have all of them.</p>}
    </>
  );
}

/** The sums of one kind, with bars that compare their tokens. */
function Part({ title, rows, href, label, none }: { title: string; rows: ReturnType<typeof grouped>; href?: (name: string) => string; label?: (name: string) => ReactNode; none?: string }) {
  const longest = rows.reduce((max, row) => Math.max(max, row.tokens), 1);
  const cell = 'px-2 py-1.5 text-right font-mono text-2xs leading-5 whitespace-nowrap';
  return (
    <section className="mb-6" data-usage={title}>
      <h2 className="label mb-1">by {title}</h2>
      <div className="overflow-x-auto rounded-lg border border-line bg-sheet">
        <table className="w-full border-collapse" aria-rowcount={rows.length + 1}>
          <thead>
            <tr className="label text-right">
              <th className="px-4 py-1.5 text-left font-normal">{title}</th>
              {rows[0]?.runs !== undefined && <th className="px-2 font-normal max-sm:hidden">runs</th>}
              <th className="px-2 font-normal">tokens</th>
              <th className="px-4 font-normal">cost</th>
            </tr>
          </thead>
          <tbody>
            <Virtual as="tr" items={rows} keyOf={(row) => row.name} height={39} draw={(row, measured) => (
              <tr {...measured} className="border-t">
                <td className="w-full max-w-0 px-4 py-1.5">
                  <span className="block truncate" title={label ? undefined : row.name}>{href ? <Link href={href(row.name)} className="hover:underline">{label ? label(row.name) : row.name}</Link> : (title === 'day' ? dayNamed(row.name) : row.name) || <span className="text-soft">{none}</span>}</span>
                  <span aria-hidden="true" className="mt-0.5 block h-1 rounded-full bg-accent" style={{ width: `${Math.max((row.tokens / longest) * 100, 0.5)}%` }} />
                </td>
                {row.runs !== undefined && <td className={`${cell} max-sm:hidden`}>{count(row.runs)}</td>}
                <td className={cell}>{count(row.tokens)}</td>
                <td className={`${cell} pr-4`}>
                  {row.cost.usd !== undefined && <CostText cost={{ usd: row.cost.usd, unpriced: 0 }} className="block" />}
                  {row.cost.unpriced > 0 && <span className="block text-wait max-sm:w-28 max-sm:whitespace-normal">{row.cost.usd === undefined ? 'unknown' : `+ ${count(row.cost.unpriced)} tokens without a price`}</span>}
                </td>
              </tr>
            )} />
          </tbody>
        </table>
      </div>
    </section>
  );
}
