import { expect, test } from 'vitest';

import type { Overview } from '../api/types';
import { orderOf, sorted } from './sorting';

const row = (id: string, eventCount: number, title?: string) => ({ session: { id }, eventCount, ...(title ? { title } : {}) }) as Overview;

test('sessions are sorted by time, title or number of events', () => {
  const rows = [row('b', 2), row('x', 9, 'Talk 10'), row('y', 2, 'talk 9'), row('A', 4)];
  const ids = (by: string | null) => sorted(rows, orderOf(by)).map((one) => one.session.id).join(' ');
  expect([ids(null), ids('time'), ids('other'), ids('title'), ids('events')]).toEqual(['b x y A', 'b x y A', 'b x y A', 'A b y x', 'x A b y']);
  expect(rows.map((one) => one.session.id).join(' ')).toBe('b x y A');
});
