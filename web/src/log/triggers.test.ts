import { expect, test } from 'vitest';

import { complete, requestOf, type Draft } from './triggers';

const draft = (changes: Partial<Draft>): Draft => ({ name: '', check: 'secret', secret: '', audience: '', email: '', events: '', message: '', session: '', ...changes });

test('requests have what was typed in', () => {
  expect(requestOf(draft({}), 'ann')).toEqual({ check: 'secret', userId: 'ann' });
  expect(requestOf(draft({ name: ' issues ', check: 'github', secret: 's', events: 'issues.opened, push', message: '{{ body.x }}', session: 's-{{ id }}', audience: 'left over' }), 'ann')).toEqual({
    name: 'issues', check: 'github', secret: 's', userId: 'ann', events: ['issues.opened', 'push'], message: '{{ body.x }}', sessionId: 's-{{ id }}',
  });
  expect(requestOf(draft({ check: 'google', secret: 'left over', audience: 'a', email: 'e@x.example' }), 'ann')).toEqual({ check: 'google', userId: 'ann', audience: 'a', email: 'e@x.example' });
});

test('a check needs its members', () => {
  expect(complete(draft({}))).toBe(true);
  expect(complete(draft({ check: 'slack' }))).toBe(false);
  expect(complete(draft({ check: 'slack', secret: 'x' }))).toBe(true);
  expect(complete(draft({ check: 'google', audience: 'a' }))).toBe(false);
  expect(complete(draft({ check: 'google', audience: 'a', email: 'e' }))).toBe(true);
});
