import { expect, test } from 'vitest';

import { clock, complete, draftOf, duration, patchOf, requestOf, times, type Draft, type Schedule } from './schedules';

const draft: Draft = { id: ' daily ', kind: 'cron', cron: ' 0 9 * * * ', timeZone: 'Europe/Berlin', minutes: '90', at: '2030-12-01T09:00', startAt: '', endAt: '', message: 'Hello', state: '', session: '', concurrency: '', missed: 'once', missedMinutes: '' };

test('when schedules are due', () => {
  expect(times({ cron: '@daily' })).toBe('@daily UTC');
  expect(times({ cron: '0 9 * * *', timeZone: 'Europe/Berlin' })).toBe('0 9 * * * Europe/Berlin');
  expect(times({ intervalSeconds: 5400 })).toBe('every 90 minutes');
  expect([1, 90, 60, 7200, 86_400].map(duration)).toEqual(['1 second', '90 seconds', '1 minute', '2 hours', '1 day']);
});

test('requests', () => {
  expect(requestOf(draft)).toEqual({ id: 'daily', cron: '0 9 * * *', timeZone: 'Europe/Berlin', missed: 'once', newMessage: { role: 'user', parts: [{ text: 'Hello' }] } });
  expect(requestOf({ ...draft, kind: 'interval', id: '', session: 's1' })).toEqual({ intervalSeconds: 5400, sessionId: 's1', missed: 'once', newMessage: { role: 'user', parts: [{ text: 'Hello' }] } });
  expect(requestOf({ ...draft, kind: 'at' })['at']).toMatch(/^2030-1[12]-\d\dT\d\d:\d\d:00Z$/);
});

test('changes', () => {
  const stored = { id: 'daily', intervalSeconds: 5400, endAt: '2031-01-01T00:00:30Z', sessionId: 's1', concurrency: 'reject', missed: 'once', missedAfterSeconds: 600, newMessage: { role: 'user', parts: [{ text: 'Hello' }, { inlineData: { mimeType: 'image/png', data: '' } }] } } as unknown as Schedule;
  const shown = draftOf(stored, draft);
  expect(shown).toMatchObject({ id: 'daily', kind: 'interval', minutes: '90', session: 's1', concurrency: 'reject', message: 'Hello' });
  // What was not changed stays as it is.
  const { sessionId, intervalSeconds, endAt, concurrency, missed, missedAfterSeconds } = stored;
  const rest = { cron: null, timeZone: null, at: null, startAt: null, missedAfterSeconds };
  expect(patchOf(shown, stored)).toEqual({ ...rest, sessionId, intervalSeconds, endAt, concurrency, missed });
  expect(patchOf({ ...shown, kind: 'cron', cron: '@daily', timeZone: '', session: '', endAt: '', message: 'Bye' }, stored)).toEqual({
    ...rest, cron: '@daily', intervalSeconds: null, endAt: null, sessionId: null, concurrency: null, missed, newMessage: { role: 'user', parts: [{ text: 'Bye' }] },
  });
});

test('states and missed times', () => {
  const d = { ...draft, message: '', state: '{"day": 1}', startAt: '2030-12-01T09:00', missedMinutes: '1.5' };
  expect(complete(d)).toBe(true);
  expect(requestOf(d)).toMatchObject({ stateDelta: { day: 1 }, missedAfterSeconds: 90 });
  expect(requestOf(d)['startAt']).toMatch(/^2030-1[12]-\d\dT\d\d:\d\d:00Z$/);
  expect(requestOf(d)['newMessage']).toBeUndefined();
  const stored = { id: 'x', cron: '@daily', stateDelta: { day: 1 }, missed: 'skip', missedAfterSeconds: 90 } as unknown as Schedule;
  const shown = draftOf(stored, draft);
  expect(complete(shown, stored)).toBe(true);
  expect(patchOf(shown, stored)).not.toHaveProperty('stateDelta');
  expect(patchOf({ ...shown, state: '', message: 'Hello', missedMinutes: '' }, stored)).toMatchObject({ stateDelta: null, missedAfterSeconds: null, newMessage: { parts: [{ text: 'Hello' }] } });
  expect(complete({ ...shown, state: '' }, stored)).toBe(false);
});

test('what is missing', () => {
  expect(complete(draft)).toBe(true);
  for (const less of [{ message: ' ' }, { state: '[' }, { missedMinutes: '0' }, { cron: '' }, { kind: 'interval', minutes: '0' }, { kind: 'at', at: '' }] as Partial<Draft>[]) expect(complete({ ...draft, ...less })).toBe(false);
});

test('times are those of the zone of the schedule', () => {
  expect(clock('2026-11-19T07:30:00Z', 'Europe/Berlin')).toMatch(/8:30/);
  expect(clock('2026-11-19T07:30:00Z', 'Nowhere/Else')).toBe(clock('2026-11-19T07:30:00Z'));
});
