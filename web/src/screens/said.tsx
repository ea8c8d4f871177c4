import { useInfiniteQuery } from '@tanstack/react-query';

import { calls } from '../api/calls';
import { nextPage, ParleyError, request } from '../api/client';
import type { FoundEvent } from '../api/types';
import { Link, to } from '../router';
import { Button, Problem, When } from '../ui/parts';

/** Whether a text has a word, so that it can be searched for. */
export const hasWord = (text: string) => /[\p{L}\p{N}]/u.test(text);

/** What was said in any session of a user, with the words of a search. */
export function Said({ app, user, text }: { app: string; user: string; text: string }) {
  const found = useInfiniteQuery({
    queryKey: ['said', app, user, text],
    enabled: hasWord(text),
    initialPageParam: calls.search(app, user, text).path,
    queryFn: async ({ pageParam, signal }) => {
      const { value, response } = await request<FoundEvent[]>({ method: 'GET', path: pageParam }, signal);
      return { rows: value, next: nextPage(response) };
    },
    getNextPageParam: (page) => page.next,
    retry: false,
  });
  const rows = found.data?.pages.flatMap((p) => p.rows) ?? [];
  if (!hasWord(text)) return null;
  if (found.error instanceof ParleyError && found.error.status === 501) return <p className="my-6 text-soft">{found.error.message}</p>;
  return (
    <section aria-label="Said in sessions" className="my-6">
      <h2 className="mb-2">Said in sessions</h2>
      {found.error && <Problem error={found.error} what="The search failed" retry={() => void found.refetch()} />}
      <p role="status" className="text-soft">{found.isPending ? 'Searching…' : rows.length === 0 && !found.hasNextPage && !found.error ? 'Nothing was said with these words.' : ''}</p>
      {rows.length > 0 && (
        <ul className="overflow-hidden rounded-md border bg-sheet">
          {rows.map((hit) => (
            <li key={`${hit.sessionId} ${hit.eventId}`} className="border-t first:border-t-0 hover:bg-paper">
              <Link href={hitHref(app, user, hit)} data-hit={hit.eventId} className="flex items-baseline gap-x-3 px-3 py-1.5">
                <span className="min-w-0 flex-1">
                  <span className="line-clamp-2 break-words"><Snippet of={hit} /></span>
                  <span className="block truncate text-xs text-soft">{hit.author} in {hit.sessionId}</span>
                </span>
                <span className="shrink-0"><When time={hit.timestamp} /></span>
              </Link>
            </li>
          ))}
        </ul>
      )}
      {found.hasNextPage && (
        <div className="mt-3 flex justify-center">
          <Button onClick={() => void found.fetchNextPage()} disabled={found.isFetchingNextPage}>{found.isFetchingNextPage ? 'Searching…' : 'Show more matches'}</Button>
        </div>
      )}
    </section>
  );
}

/** The address of an event that was found. */
export const hitHref = (app: string, user: string, hit: FoundEvent) => `${to.session({ app, user, session: hit.sessionId })}?event=${encodeURIComponent(hit.eventId)}`;

export function Snippet({ of }: { of: FoundEvent }) {
  return <>{of.snippet.map(({ text, match }, i) => (match ? <mark key={i} className="rounded-xs bg-tint font-semibold text-ink">{text}</mark> : text))}</>;
}
