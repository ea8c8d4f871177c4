import { expect, test } from 'vitest';

import { day, dayNamed, exactMoment, moment } from './dates';

test('one format for all dates', () => {
  const noon = Date.UTC(2026, 9, 10, 12) / 1000;
  const name = dayNamed('2026-10-10');
  expect(name).toMatch(/Oct.*2026/);
  expect([day(noon), moment(noon, 'UTC'), exactMoment(noon)].map((text) => text.startsWith(name))).toEqual([true, true, true]);
  expect(moment(noon, 'UTC')).toMatch(/12:00/);
});

test('what is not a day stays as it is', () => {
  expect(['', 'today', '2026-13-40', '2026-10'].map(dayNamed)).toEqual(['', 'today', '2026-13-40', '2026-10']);
});
