import { useEffect, useMemo, useRef, useState } from 'react';

import { calls } from '../api/calls';
import { ask } from '../api/client';
import { usePages } from '../api/usepages';
import type { JsonObject, Key, Overview } from '../api/types';
import { useKeepItem } from '../evals/turn';
import { count } from '../log/cost';
import { exportLines } from '../log/importing';
import { metadataOf, parseSearch } from '../log/labels';
import { orderOf, orders, sorted, type Order } from '../log/sorting';
import { Link, navigate, setQuery, to, useQuery } from '../router';
import { ScopePicker } from '../scopepicker';
import { CostText } from '../ui/cost';
import { Icon } from '../ui/icons';
import { Menu, type Item } from '../ui/menu';
import { More } from '../ui/more';
import { Action, Button, Empty, Loading, Problem, Status, When } from '../ui/parts';
import { Screen } from '../ui/screen';
import { Table, type Column } from '../ui/table';
import { say } from '../ui/toast';
import { Virtual, type Measured } from '../ui/virtual';
import { DeleteChosen } from './deletechosen';
import { NewSession } from './newsession';
import { hasWord, Said } from './said';
import { SavedSearches } from './savedsearches';
import { DeleteDialog, EditDialog, sessionItems, useSessionActions, type SessionDialog } from './sessionactions';
import { ShareDialog } from './sharedialog';

const columns: Column[] = [{ name: 'title', marks: true }, { name: 'labels', from: 'md' }, { name: 'last run', from: 'sm' }, { name: 'events', from: 'sm', end: true }, { name: 'tokens', from: 'md', end: true }, { name: 'changed' }];

export default function SessionsScreen({ app, user }: { app: string; user: string }) {
  const query = useQuery();
  const search = query.get('q') ?? '';
  const order = orderOf(query.get('sort'));
  const [typed, setTyped] = useState(search);
  useEffect(() => {
    const timer = setTimeout(() => typed !== search && setQuery({ q: typed }), 200);
    return () => clearTimeout(timer);
  }, [typed, search]);

  const wanted = parseSearch(search);
  const first = calls.sessions(app, user, wanted);
  // Other clients make sessions, too.
  const list = usePages<Overview>(['sessions', app, user, search], first, { every: 4000 });
  const rows = useMemo(() => sorted(list.rows, order), [list.data, order]);
  const part = order !== 'time' && list.hasNextPage; // the server has them in one order
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const chosen = rows.filter((row) => marked.has(row.session.id)); // others may have been deleted by now
  const mark = (id: string, is: boolean) => setMarked(is ? new Set([...marked, id]) : new Set([...marked].filter((one) => one !== id)));
  const titles = new Map(rows.map((row) => [row.session.id, row.title || row.session.id]));
  return (
    <Screen
      wide
      scope={<ScopePicker />}
      title="Sessions"
      note={<>Conversations of <b className="font-semibold text-ink">{user}</b> with <b className="font-semibold text-ink">{app}</b>, {orders[order]}{part && `, among the ${count(rows.length)} loaded`}.</>}
      call={first}
      actions={
        <>
          <ImportButton app={app} user={user} />
          <NewSession app={app} user={user} />
        </>
      }
    >
      <div className="mb-3 flex min-h-7 flex-wrap items-center gap-x-4 gap-y-2">
        <input
          data-search
          type="search"
          aria-label="Search sessions"
          placeholder="Search, or label:value"
          title="Search (/)"
          value={typed}
          onChange={(e) => setTyped(e.target.value)}
          className="field min-w-0 flex-1 basis-64 max-sm:basis-full sm:max-w-[420px]"
        />
        <SavedSearches app={app} search={typed} pick={setTyped} />
        <label className="flex items-center gap-2 text-soft">
          Sort
          <select className="field w-auto" value={order} onChange={(e) => setQuery({ sort: e.target.value === 'time' ? undefined : e.target.value })}>
            {(Object.keys(orders) as Order[]).map((one) => <option key={one} value={one}>{orders[one]}</option>)}
          </select>
        </label>
        {chosen.length > 0 && <DeleteChosen app={app} user={user} chosen={chosen} clear={() => setMarked(new Set())} all={() => setMarked(new Set(rows.map((row) => row.session.id)))} />}
      </div>
      {list.error && <Problem error={list.error} what="The sessions could not be listed" retry={() => void list.refetch()} />}
      {list.isPending && <Loading what="the sessions" />}
      {rows.length === 0 && <Said app={app} user={user} text={wanted.text} />}
      {list.isSuccess && rows.length === 0 && !list.hasNextPage && (
        search ? (
          <Empty title={hasWord(wanted.text) ? 'No matches in titles and previews' : 'No matches'} action={<Button onClick={() => setTyped('')}>Show all</Button>}>
            A session is found by a part of its title (of its first message, if it has none), of its last message, or of its id, and by a label such as <code className="font-mono text-xs">kind:trip</code>.
          </Empty>
        ) : (
          <Empty title="No sessions yet" action={<NewSession app={app} user={user} />}>
            A session keeps the conversation and its state.
          </Empty>
        )
      )}
      {rows.length > 0 && (
        <Table columns={columns} rows={rows.length}>
          <Virtual as="tr" items={rows} keyOf={(row) => row.session.id} height={49} draw={(row, measured) => (
            <SessionRow row={row} measured={measured} parent={titles.get(row.session.forkedFrom?.sessionId ?? '')} id={{ app, user, session: row.session.id }} pick={(label) => setTyped(label)} marked={marked.has(row.session.id)} mark={(is) => mark(row.session.id, is)} />
          )} />
        </Table>
      )}
      <More of={list} />
      {rows.length > 0 && <Said app={app} user={user} text={wanted.text} />}
    </Screen>
  );
}

/** What the runs of a session have used. The server adds up the newest ones. */
function usageOf({ usage }: Overview) {
  if (!usage?.totalTokenCount) return undefined;
  const { totalTokenCount, costUsd, unpricedTokens = 0, runs, more } = usage;
  return { totalTokenCount, cost: { usd: costUsd, unpriced: unpricedTokens }, of: more ? ` in the newest ${count(runs)} runs` : '' };
}

interface RowProps {
  row: Overview;
  measured: Measured;
  /** The title of the session that it is a branch of, if that is in the list. */
  parent: string | undefined;
  id: Key;
  pick: (label: string) => void;
  marked: boolean;
  mark: (is: boolean) => void;
}

function SessionRow({ row, measured, parent, id, pick, marked, mark }: RowProps) {
  const { session, preview, status, eventCount } = row;
  const used = usageOf(row);
  const title = row.title || session.id;
  const [open, setOpen] = useState<SessionDialog>();
  const actions = useSessionActions(id);
  const state = session.state as JsonObject;
  const { labels } = metadataOf(state);
  const kept = useKeepItem(id, undefined, title);
  const items: Item[] = [...sessionItems(id, actions, setOpen), ...(eventCount ? kept.items : [])];
  return (
    <tr {...measured} className={`border-t align-top ${marked ? 'bg-tint' : 'hover:bg-paper'}`}>
      <td className="w-full max-w-0 py-1.5 pr-4 pl-9">
        <label className="float-left -ml-9 flex h-5 w-9 max-md:-my-2 max-md:h-9 items-center justify-center"><input type="checkbox" checked={marked} onChange={(e) => mark(e.target.checked)} className="size-3.5 accent-(--accent)" /><span className="sr-only">Mark {title}</span></label>
        <Link href={to.session(id)} title={session.id} className={`block truncate hover:underline ${row.title ? 'font-medium' : 'font-mono text-xs text-soft'}`}>{title}</Link>
        {preview && preview !== title && <span className="block truncate text-xs text-soft" data-preview>{preview}</span>}
        <span className="block text-xs text-faint md:hidden" data-figures>
          <span className="sm:hidden">{count(eventCount)} {eventCount === 1 ? 'event' : 'events'}</span>
          {used && <><span className="sm:hidden"> · </span>{count(used.totalTokenCount)} tokens{used.of} · <CostText cost={used.cost} /></>}
        </span>
        {session.forkedFrom && (
          <span className="flex items-center gap-1 text-xs text-faint">
            <Icon name="fork" size={12} />
            <span className="truncate">{session.forkedFrom.replayOf ? 'replay' : 'branch'} of <Link href={to.session({ ...id, session: session.forkedFrom.sessionId })} className="hover:underline">{parent ?? session.forkedFrom.sessionId}</Link></span>
          </span>
        )}
      </td>
      <td className="px-2 py-1.5 max-md:hidden">
        <span className="flex flex-wrap gap-1">
          {Object.entries(labels ?? {}).map(([name, value]) => (
            <button key={name} type="button" onClick={() => pick(`${name}:${value}`)} className="rounded-sm whitespace-nowrap bg-tint px-1.5 font-mono text-2xs leading-5 text-accent hover:underline">
              {name}:{value}
            </button>
          ))}
        </span>
      </td>
      <td className="px-2 py-1.5 max-sm:hidden">{status && <Status value={status} />}</td>
      <td className="px-2 py-1.5 text-right font-mono text-2xs leading-5 text-soft max-sm:hidden" data-events>{eventCount}</td>
      <td className="px-2 py-1.5 text-right font-mono text-2xs leading-5 text-soft max-md:hidden" data-tokens>
        {used && <>{count(used.totalTokenCount)}<CostText cost={used.cost} className={`block text-faint ${used.cost.usd !== undefined && used.cost.unpriced > 0 ? 'min-w-44' : 'whitespace-nowrap'}`} />{used.of && <span className="block text-faint">{used.of}</span>}</>}
      </td>
      <td className="px-2 py-1.5"><When time={session.lastUpdateTime} /></td>
      <td className="py-0.5 pr-2 text-right max-md:*:-mt-1">
        <Menu trigger={<Button tone="quiet" icon="more" bare title={`Actions for ${title}`}>{`Actions for ${title}`}</Button>} items={items} />
        {kept.dialog}
        <EditDialog open={open === 'edit'} onClose={() => setOpen(undefined)} id={id} state={state} />
        <ShareDialog open={open === 'share'} onClose={() => setOpen(undefined)} id={id} />
        <DeleteDialog open={open === 'delete'} onClose={() => setOpen(undefined)} id={id} title={title} remove={() => (setOpen(undefined), actions.remove())} />
      </td>
    </tr>
  );
}

function ImportButton({ app, user }: { app: string; user: string }) {
  const input = useRef<HTMLInputElement>(null);
  // The session that it was exported from may still be there.
  const idFor = (name: string) => ({ app, user, session: `${name.replace(/\.jsonl?$/, '').slice(0, 200)}-${Date.now().toString(36)}` });
  const take = async (file: File) => {
    const id = idFor(file.name);
    try {
      await ask(calls.import(id, exportLines(await file.text()), file.name));
      navigate(to.session(id));
    } catch (error) {
      say((error as Error).message, 'bad');
    }
  };
  return (
    <>
      <input ref={input} type="file" accept=".jsonl,.json" className="hidden" tabIndex={-1} aria-hidden="true" onChange={(e) => e.target.files?.[0] && void take(e.target.files[0])} />
      <Action command="Import a session" icon="up" call={() => calls.import(idFor('session.jsonl'), '', 'session.jsonl')} onClick={() => input.current?.click()}>Import</Action>
    </>
  );
}
