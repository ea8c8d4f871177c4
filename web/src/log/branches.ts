import type { Event, Session } from '../api/types';
import { placeBeside, shownIn } from './rows';

/** The sessions that continue differently from one place of a conversation. */
export interface Branches {
  /** Their ids: the one that was there first, then the forks, the oldest first. */
  sessions: string[];
  /** Which of them the session at hand is, or comes from. */
  current: number;
  /** The last event that they have in common; empty if there is none. */
  after: string;
}

/**
 * Where a session parts from its branches, to which replays do not count: by the index of the event at which
 * they differ, or that of the last one if nothing follows yet, of those that have a row. family has all
 * sessions of one root, the newest first.
 */
export function branchesOf(id: string, events: Event[], family: Session[]): Map<number, Branches> {
  const all = new Map(family.map((s) => [s.id, s]));
  /** A session and those that it comes from. */
  const lineage = (of: string) => {
    const found = new Set<string>();
    for (let one: string | undefined = of; one !== undefined && !found.has(one); one = all.get(one)?.forkedFrom?.sessionId) found.add(one);
    return found;
  };
  const own = lineage(id);
  const everyFork = [...family].reverse().filter((s) => s.forkedFrom && !s.forkedFrom.replayOf); // the menu of a run lists its replays
  const pointOf = (s: Session) => s.forkedFrom!.atEventId ?? '';
  const shown = shownIn(events);
  const found = new Map<number, Branches>();
  for (const at of new Set(everyFork.map(pointOf))) {
    const forks = everyFork.filter((s) => pointOf(s) === at);
    const shared = at === '' ? -1 : events.findIndex((e) => e.id === at);
    if (at !== '' && shared < 0) continue; // it parted from them before
    let sessions = forks.map((s) => s.id);
    let current = sessions.findLastIndex((s) => own.has(s));
    if (current < 0) {
      sessions = [id, ...sessions];
      current = 0;
    } else {
      const parents = forks.map((s) => s.forkedFrom!.sessionId).filter((p) => all.has(p) && !sessions.includes(p));
      const first = parents.find((p) => parents.every((other) => lineage(other).has(p))) ?? parents[0];
      if (first !== undefined) {
        sessions = [first, ...sessions];
        current++;
      }
    }
    const place = placeBeside(shown, shared, 1) ?? shown.at(-1);
    if (sessions.length > 1 && place !== undefined) found.set(place, { sessions, current, after: at });
  }
  return found;
}
