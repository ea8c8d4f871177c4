import { expect, test } from 'vitest';

import { complete, draftOf, events, patchOf, requestOf, wants, type Draft, type EventType, type Webhook } from './webhooks';

const all = Object.keys(events) as EventType[];
const draft: Draft = { id: ' ', url: ' https://example.com/hook ', description: '', events: all };

test('the request', () => {
  expect(requestOf(draft)).toEqual({ url: 'https://example.com/hook' });
  expect(requestOf({ ...draft, id: 'x', description: 'd', events: ['run.failed'] })).toEqual({ url: 'https://example.com/hook', id: 'x', description: 'd', events: ['run.failed'] });
});

test('changes', () => {
  const stored: Webhook = { id: 'x', appName: 'a', url: 'https://example.com/hook', description: 'd', events: ['run.failed'], createdAt: '2030-01-01T00:00:00Z' };
  const shown = draftOf(stored);
  expect(patchOf(shown)).toEqual({ url: stored.url, description: 'd', events: ['run.failed'] });
  expect(patchOf({ ...shown, description: ' ', events: all })).toEqual({ url: stored.url, description: null, events: null });
});

test('what is missing', () => {
  expect(complete(draft)).toBe(true);
  expect(complete({ ...draft, url: ' ' })).toBe(false);
  expect(complete({ ...draft, events: [] })).toBe(false);
});

test('the events', () => {
  expect(wants({ events: all })).toBe('all events');
  expect(wants({ events: ['run.failed', 'run.waiting'] })).toBe('a run has failed, a run waits');
});
