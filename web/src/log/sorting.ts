import type { Overview } from '../api/types';

/** What a list of sessions can be sorted by: when they were made, which is the order of the server, or something else. */
export const orders = { time: 'newest first', title: 'by title', events: 'most events first' };
export type Order = keyof typeof orders;

export const orderOf = (name: string | null): Order => (name === 'title' || name === 'events' ? name : 'time');

const names = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });
const nameOf = (row: Overview) => row.title || row.session.id;

/** The sessions in another order. Equal ones stay as they were. */
export function sorted(rows: Overview[], by: Order): Overview[] {
  if (by === 'time') return rows;
  return rows.toSorted(by === 'title' ? (a, b) => names.compare(nameOf(a), nameOf(b)) : (a, b) => b.eventCount - a.eventCount);
}
