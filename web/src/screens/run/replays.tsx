import type { Key, Session } from '../../api/types';
import { replayName } from '../../log/replaying';
import { Link, to } from '../../router';

/** The repetitions of a run, which lead to them and to a comparison. */
export function Replays({ id, run, list }: { id: Key; run: string; list: Session[] }) {
  if (list.length === 0) return null;
  const all = to.compare(id.app, id.user, [id.session, ...list.slice(-5).map((s) => s.id)].map((session) => ({ session, run })));
  return (
    <section className="mt-8" data-replays>
      <h2 className="label mb-1 flex items-baseline gap-3">
        replays of this run
        {list.length > 1 && <Link href={all} className="touch text-accent hover:underline">compare {list.length > 5 ? 'the last 5' : 'all of them'}</Link>}
      </h2>
      <ul className="divide-y divide-line rounded-lg border bg-sheet">
        {list.map((s, i) => (
          <li key={s.id} className="flex flex-wrap items-center gap-x-4 px-4 py-1.5">
            <span className="min-w-0 flex-1 truncate" title={s.id}>{replayName(s.lastUpdateTime, i + 1)}</span>
            <Link href={to.session({ ...id, session: s.id })} className="touch text-accent hover:underline">Open</Link>
            <Link href={to.compare(id.app, id.user, [{ session: id.session, run }, { session: s.id, run }])} className="touch text-accent hover:underline">Compare</Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
