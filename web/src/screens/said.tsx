import { useQuery as useData } from '@tanstack/react-query';

import { calls } from '../api/calls';
import { ask, ParleyError } from '../api/client';
import { usePages } from '../api/usepages';
import type { FoundEvent, Run } from '../api/types';
import { useFixedUser, useMustName } from '../caller';
import { inPool } from '../log/pool';
import { Link, setQuery, to, useQuery } from '../router';
import { More } from '../ui/more';
import { Button, Problem, When } from '../ui/parts';
import { Virtual } from '../ui/virtual';
import { useTitles } from './titles';

/** Whether a text has a word, so that it can be searched for. */
export const hasWord = (text: string) => /[\p{L}\p{N}]/u.test(text);

/** What was said in any session of a user, with the words of a search. */
export function Said({ app, user, text }: { app: string; user: string; text: string }) {
  const found = usePages<FoundEvent>(['said', app, user, text], calls.search(app, user, text), { enabled: hasWord(text) });
  const { rows } = found;
  const titles = useTitles(app, user, { enabled: rows.length > 0 });
  if (!hasWord(text)) return null;
  if (found.error instanceof ParleyError && found.error.status === 501) return <p className="my-6 text-soft">{found.error.message}</p>;
  return (
    <section aria-label="Said in sessions" className="my-6">
      <h2 className="mb-2">Said in sessions</h2>
      {found.error && <Problem error={found.error} what="The search failed" retry={() => void found.refetch()} />}
      <p role="status" className="text-soft">{found.isPending ? 'Searching…' : rows.length === 0 && !found.hasNextPage && !found.error ? 'No matches in what was said.' : ''}</p>
      {rows.length > 0 && <Hits app={app} user={user} hits={rows} nameOf={(session) => titles.get(session) || session} />}
      <More of={found} label="Show more matches" />
      <SaidByOthers app={app} user={user} text={text} />
    </section>
  );
}

function Hits({ app, user, hits, nameOf }: { app: string; user: string; hits: FoundEvent[]; nameOf: (session: string) => string }) {
  return (
    <ul className="overflow-hidden rounded-md border bg-sheet">
      <Virtual as="li" items={hits} keyOf={(hit) => `${hit.sessionId} ${hit.eventId}`} height={53} draw={(hit, measured) => (
        <li {...measured} className="border-t hover:bg-paper data-[index=0]:border-t-0">
          <Link href={hitHref(app, user, hit)} data-hit={hit.eventId} className="flex items-baseline gap-x-3 px-3 py-1.5">
            <span className="min-w-0 flex-1">
              <span className="line-clamp-2 break-words"><Snippet of={hit} /></span>
              <span className="block truncate text-xs text-soft">{hit.author} in {nameOf(hit.sessionId)}</span>
            </span>
            <span className="shrink-0"><When time={hit.timestamp} /></span>
          </Link>
        </li>
      )} />
    </ul>
  );
}

/** How many of the newest runs tell which users there are, how many of these are searched, and how many matches of each are shown. */
const newestRuns = 500;
const mostUsers = 20;
const matchesEach = 5;

interface Others {
  found: { user: string; hits: FoundEvent[]; more: boolean }[];
  /** How many users were searched. */
  searched: number;
}

/** The same in the sessions of other users, when it is asked for. The index is one of users, so each is searched by itself. */
function SaidByOthers({ app, user, text }: { app: string; user: string; text: string }) {
  const fixed = useFixedUser();
  const mustName = useMustName();
  const asked = useQuery().get('users') === 'all';
  const may = fixed === undefined && !mustName;
  const others = useData({
    queryKey: ['said-by-others', app, user, text],
    enabled: may && asked,
    retry: false,
    queryFn: async ({ signal }): Promise<Others> => {
      const runs = await ask<Run[]>(calls.allRuns(app, undefined, [], newestRuns), signal);
      const users = [...new Set(runs.map((run) => run.userId))].filter((one) => one !== user).slice(0, mostUsers);
      const found: Others['found'] = [];
      await inPool(users, 4, signal, async (one) => {
        const hits = await ask<FoundEvent[]>(calls.search(app, one, text, matchesEach + 1), signal);
        if (hits.length > 0) found.push({ user: one, hits: hits.slice(0, matchesEach), more: hits.length > matchesEach });
      });
      return { found: found.sort((a, b) => b.hits[0]!.timestamp - a.hits[0]!.timestamp), searched: users.length };
    },
  });
  if (!may) return null;
  if (!asked) return <Button className="mt-3" onClick={() => setQuery({ users: 'all' })}>Search the sessions of other users</Button>;
  const { found, searched } = others.data ?? { found: [], searched: 0 };
  return (
    <section aria-label="Said in sessions of other users" className="mt-6">
      <div className="mb-2 flex flex-wrap items-baseline gap-x-3">
        <h2>Said in sessions of other users</h2>
        <Button tone="quiet" onClick={() => setQuery({ users: undefined })}>Hide</Button>
      </div>
      {others.error && <Problem error={others.error} what="The search failed" retry={() => void others.refetch()} />}
      <p role="status" className="text-soft">
        {others.isLoading ? 'Searching…' : !others.data ? '' : searched === 0 ? 'The newest runs are all of this user.' : `${found.length === 0 ? 'No matches in the' : 'In the'} sessions of ${searched} other ${searched === 1 ? 'user' : 'users'}, those with the newest runs.`}
      </p>
      {found.map((one) => (
        <section key={one.user} aria-label={one.user} className="mt-3">
          <h3 className="mb-1"><Link href={`${to.user(app, one.user, 'sessions')}?${new URLSearchParams({ q: text })}`} className="font-medium hover:underline [overflow-wrap:anywhere]">{one.user}{one.more && <>{' '}<span className="ml-1 font-normal text-accent">show all</span></>}</Link></h3>
          <Hits app={app} user={one.user} hits={one.hits} nameOf={(session) => session} />
        </section>
      ))}
    </section>
  );
}

/** The address of an event that was found. */
export const hitHref = (app: string, user: string, hit: FoundEvent) => `${to.session({ app, user, session: hit.sessionId })}?event=${encodeURIComponent(hit.eventId)}`;

export function Snippet({ of }: { of: FoundEvent }) {
  return <>{of.snippet.map(({ text, match }, i) => (match ? <mark key={i} className="rounded-xs bg-tint font-semibold text-ink">{text}</mark> : text))}</>;
}
