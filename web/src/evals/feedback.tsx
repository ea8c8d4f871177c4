import { ParleyError } from '../api/client';
import { usePages } from '../api/usepages';
import { useCaller, useFixedUser, useMustName } from '../caller';
import { Link, navigate, setQuery, to, useQuery } from '../router';
import { useScope } from '../scope';
import { ScopePicker } from '../scopepicker';
import { SavedFilters } from '../screens/savedsearches';
import { UserFilter } from '../ui/filters';
import { More } from '../ui/more';
import { Button, Empty, Loading, Problem, When } from '../ui/parts';
import { Screen } from '../ui/screen';
import { Virtual, type Measured } from '../ui/virtual';
import { evalCalls, toEvals, type GivenFeedback } from './api';
import { Keep, Thumb } from './turn';

const ratings = [['', 'All'], ['up', 'Good'], ['down', 'Bad']] as const;

/** The feedback in all sessions of an application that the caller may read. */
export default function FeedbackScreen({ app }: { app: string }) {
  const query = useQuery();
  const fixed = useFixedUser();
  const mustName = useMustName();
  const scope = useScope();
  const chosen = { rating: query.get('rating') ?? '', hasNote: query.get('note') ? 'true' : '', userId: query.get('user') ?? '' };
  const filter = { ...chosen, userId: chosen.userId || (mustName ? scope.user : '') };
  const call = evalCalls.allFeedback(app, filter);
  const list = usePages<GivenFeedback>(['feedback', app, filter], call, { every: 4000 });
  const { rows } = list;
  const filtered = Object.values(chosen).some(Boolean);
  const clear = <Button onClick={() => navigate(toEvals.feedback(app), { replace: true })}>Show all feedback</Button>;
  const unable = list.error instanceof ParleyError && list.error.status === 501;
  return (
    <Screen wide scope={<ScopePicker />} title="Feedback" note={<>What users and reviewers think of the answers of <b className="font-semibold text-ink">{app}</b>, the latest first. A bad answer is a good test.</>} call={call}>
      <div className="mb-5 flex flex-wrap items-center gap-x-3 gap-y-2" role="group" aria-label="Filters">
        <div className="flex" role="group" aria-label="Rating">
          {ratings.map(([rating, label]) => (
            <Button key={rating} aria-pressed={filter.rating === rating} command={`Show ${label.toLowerCase()} feedback`} onClick={() => setQuery({ rating })} className="-ml-px rounded-none first:ml-0 first:rounded-l-md last:rounded-r-md aria-pressed:bg-tint aria-pressed:text-accent">{label}</Button>
          ))}
        </div>
        <label className="flex items-center gap-1.5 max-md:h-9"><input type="checkbox" checked={filter.hasNote !== ''} onChange={(e) => setQuery({ note: e.target.checked ? '1' : '' })} /> With a note</label>
        {!fixed && <UserFilter value={filter.userId} change={(user) => setQuery({ user })} required={mustName} />}
        <SavedFilters screen="feedback" />
      </div>
      {list.isPending && <Loading what="the feedback" />}
      {unable && <p className="text-soft">{list.error!.message}</p>}
      {list.error && !unable && <Problem error={list.error} what="The feedback could not be listed" retry={() => void list.refetch()} />}
      {list.isSuccess && rows.length === 0 && (
        list.hasNextPage ? <Empty title="No matches in the newest feedback" action={clear}>Older feedback may match.</Empty>
        : <Empty title={filtered ? 'No matches' : 'There is no feedback yet'} action={filtered ? clear : undefined}>
            {filtered ? 'No feedback fits the filters.' : 'Rate an answer with a thumb below it, or write a note. Feedback that your own client sends appears here, too.'}
          </Empty>
      )}
      {rows.length > 0 && (
        <ul aria-label="Feedback" className="overflow-hidden rounded-lg border border-line bg-sheet">
          <Virtual as="li" items={rows} keyOf={(one) => `${one.userId} ${one.sessionId} ${one.runId} ${one.author}`} height={82} draw={(one, measured) => <Row app={app} one={one} measured={measured} />} />
        </ul>
      )}
      <More of={list} label={rows.length === 0 ? 'Search older feedback' : 'Show more'} />
    </Screen>
  );
}

function Row({ app, one, measured }: { app: string; one: GivenFeedback; measured: Measured }) {
  const developer = useCaller()?.developer;
  const id = { app, user: one.userId, session: one.sessionId };
  const href = to.session(id) + (one.eventId ? `?event=${encodeURIComponent(one.eventId)}` : '');
  return (
    <li {...measured} data-opinion={one.runId} className="border-t data-[index=0]:border-t-0 flex flex-wrap items-start gap-x-3 gap-y-1 px-4 py-2.5 hover:bg-paper">
      <Rating of={one.rating} />
      <Link href={href} className="group min-w-0 flex-1 basis-56">
        {one.note && <span className="block font-medium whitespace-pre-line [overflow-wrap:anywhere] group-hover:underline">{one.note}</span>}
        <span className={`line-clamp-2 [overflow-wrap:anywhere] ${one.note ? 'text-soft' : 'font-medium group-hover:underline'}`}>{one.message || 'A turn without a message'}</span>
        {one.answer && <span className="line-clamp-2 text-soft [overflow-wrap:anywhere]">→ {one.answer}</span>}
        <span className="mt-0.5 block text-xs text-soft [overflow-wrap:anywhere]">by <b className="font-semibold">{one.author}</b>{one.author !== one.userId && <>, in a session of {one.userId}</>} · <When time={one.timestamp} /></span>
      </Link>
      {developer && <span className="max-md:pl-[17px]"><Keep id={id} run={one.runId} message={one.message ?? ''} /></span>}
    </li>
  );
}

function Rating({ of }: { of: GivenFeedback['rating'] }) {
  const name = of === 'up' ? 'Good' : of === 'down' ? 'Bad' : 'Not rated';
  return <span title={name} className={`mt-0.5 inline-flex w-4 shrink-0 ${of === 'up' ? 'text-good' : of === 'down' ? 'text-bad' : 'text-faint'}`}>{of ? <Thumb down={of === 'down'} /> : '–'}<span className="sr-only">{name}</span></span>;
}
