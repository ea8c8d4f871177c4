import { expect, test } from 'vitest';

import { complete, events, requestOf, wants, type Draft, type EventType } from './webhooks';

const all = Object.keys(events) as EventType[];
const draft: Draft = { id: ' ', url: ' https://example.com/hook ', description: '', events: all };

test('the request', () => {
  expect(requestOf(draft)).toEqual({ url: 'https://example.com/hook' });
  expect(requestOf({ ...draft, id: 'x', description: 'd', events: ['run.failed'] })).toEqual({ url: 'https://example.com/hook', id: 'x', description: 'd', events: ['run.failed'] });
});

test('what is missing', () => {
  expect(complete(draft)).toBe(true);
  expect(complete({ ...draft, url: ' ' })).toBe(false);
  expect(complete({ ...draft, events: [] })).toBe(false);
});

test('the events', () => {
  expect(wants({ events: all })).toBe('all events');
  expect(wants({ events: ['run.failed', 'run.waiting'] })).toBe('run.failed, run.waiting');
});
