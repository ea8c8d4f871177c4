import { calls } from '../api/calls';
import { ParleyError } from '../api/client';
import { usePages } from '../api/usepages';
import type { FoundEvent } from '../api/types';
import { Link, to } from '../router';
import { More } from '../ui/more';
import { Problem, When } from '../ui/parts';
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
      {rows.length > 0 && (
        <ul className="overflow-hidden rounded-md border bg-sheet">
          {rows.map((hit) => (
            <li key={`${hit.sessionId} ${hit.eventId}`} className="border-t first:border-t-0 hover:bg-paper">
              <Link href={hitHref(app, user, hit)} data-hit={hit.eventId} className="flex items-baseline gap-x-3 px-3 py-1.5">
                <span className="min-w-0 flex-1">
                  <span className="line-clamp-2 break-words"><Snippet of={hit} /></span>
                  <span className="block truncate text-xs text-soft">{hit.author} in {titles.get(hit.sessionId) || hit.sessionId}</span>
                </span>
                <span className="shrink-0"><When time={hit.timestamp} /></span>
              </Link>
            </li>
          ))}
        </ul>
      )}
      <More of={found} label="Show more matches" />
    </section>
  );
}

/** The address of an event that was found. */
export const hitHref = (app: string, user: string, hit: FoundEvent) => `${to.session({ app, user, session: hit.sessionId })}?event=${encodeURIComponent(hit.eventId)}`;

export function Snippet({ of }: { of: FoundEvent }) {
  return <>{of.snippet.map(({ text, match }, i) => (match ? <mark key={i} className="rounded-xs bg-tint font-semibold text-ink">{text}</mark> : text))}</>;
}
