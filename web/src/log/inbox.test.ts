import { expect, test } from 'vitest';

import { left, pendingIn, whoMay, type Entry } from './inbox';

const entry: Entry = {
  id: 'x', appName: 'a', userId: 'u', sessionId: 's', runId: 'e-1', agent: 'clerk', kind: 'confirmation', tool: 'refund', since: '2026-11-18T09:00:00Z', answer: 'user', mayAnswer: true,
  call: { id: 'c', name: 'adk_request_confirmation', args: {} },
};

test('an entry becomes what the forms take', () => {
  const pending = pendingIn(entry);
  expect(pending.kind).toBe('confirmation');
  expect(pending.call.id).toBe('c');
  expect(pending.event.author).toBe('clerk');
  expect(pending.event.timestamp).toBe(Date.parse(entry.since) / 1000);
  expect(pendingIn({ ...entry, call: { id: 'c', name: 'ship' } }).kind).toBe('answer');
});

test('who may answer, and until when', () => {
  expect(whoMay('role:managers')).toContain('managers');
  expect(whoMay('user')).toContain('user');
  expect(whoMay('anyone')).toBe('');
  const now = Date.parse('2026-11-18T09:00:00Z');
  expect(left('2026-11-18T09:00:10Z', now)).toBe('now');
  expect(left('2026-11-18T09:01:00Z', now)).toBe('in 1 minute');
  expect(left('2026-11-18T12:00:00Z', now)).toBe('in 3 hours');
  expect(left('2026-11-25T09:00:00Z', now)).toBe('in 7 days');
});
