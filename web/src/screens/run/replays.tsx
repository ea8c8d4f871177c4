import type { Key, Session } from '../../api/types';
import { replayName } from '../../log/replaying';
import { Link, to } from '../../router';
import { Virtual } from '../../ui/virtual';

/** The replays of a run, which lead to them and to a comparison. */
export function Replays({ id, run, list }: { id: Key; run: string; list: Session[] }) {
  if (list.length === 0) return null;
  const all = to.compare(id.app, id.user, [id.session, ...list.slice(-5).map((s) => s.id)].map((session) => ({ session, run })));
  return (
    <section className="mt-8" data-replays>
      <h2 className="label mb-1 flex items-baseline gap-3">
        replays of this run
        {list.length > 1 && <Link href={all} className="touch text-accent hover:underline">compare {list.length > 5 ? 'the last 5' : 'all of them'}</Link>}
      </h2>
      <ul className="overflow-hidden rounded-lg border bg-sheet">
        <Virtual as="li" items={list} keyOf={(s) => s.id} height={33} draw={(s, measured) => (
          <li {...measured} className="flex flex-wrap items-center gap-x-4 border-t border-t-line px-4 py-1.5 data-[index=0]:border-t-0">
            <span className="min-w-0 flex-1 truncate" title={s.id}>{replayName(s.lastUpdateTime, measured['data-index'] + 1)}</span>
            <Link href={to.session({ ...id, session: s.id })} className="touch text-accent hover:underline">Open</Link>
            <Link href={to.compare(id.app, id.user, [{ session: id.session, run }, { session: s.id, run }])} className="touch text-accent hover:underline">Compare</Link>
          </li>
        )} />
      </ul>
    </section>
  );
}
