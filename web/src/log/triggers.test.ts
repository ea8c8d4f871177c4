import { expect, test } from 'vitest';

import { complete, draftOf, patchOf, requestOf, type Draft, type Trigger } from './triggers';

const draft = (changes: Partial<Draft>): Draft => ({ name: '', check: 'secret', secret: '', audience: '', email: '', events: '', message: '', session: '', user: '', state: '', match: '', delivery: '', description: '', ...changes });

test('requests have what was typed in', () => {
  expect(requestOf(draft({}), 'ann')).toEqual({ check: 'secret', userId: 'ann' });
  expect(requestOf(draft({ name: ' issues ', check: 'github', secret: 's', events: 'issues.opened, push', message: '{{ body.x }}', session: 's-{{ id }}', audience: 'left over' }), 'ann')).toEqual({
    name: 'issues', check: 'github', secret: 's', userId: 'ann', events: ['issues.opened', 'push'], message: '{{ body.x }}', sessionId: 's-{{ id }}',
  });
  expect(requestOf(draft({ check: 'google', secret: 'left over', audience: 'a', email: 'e@x.example' }), 'ann')).toEqual({ check: 'google', userId: 'ann', audience: 'a', email: 'e@x.example' });
});

test('all members', () => {
  expect(requestOf(draft({ user: 'u-{{ body.user }}', state: '{"unit": "{{ body.unit }}"}', match: 'body.ref=main', delivery: '{{ body.id }}', description: 'd' }), 'ann')).toEqual({
    check: 'secret', userId: 'u-{{ body.user }}', stateDelta: { unit: '{{ body.unit }}' }, match: { 'body.ref': ['main'] }, deliveryId: '{{ body.id }}', description: 'd',
  });
  expect(complete(draft({ state: '{' }))).toBe(false);
  expect(complete(draft({ match: 'body.ref' }))).toBe(false);
});

test('changes', () => {
  const stored = { name: 'x', check: 'slack', userId: 'ann', message: '{{ body.x }}', events: ['a', 'b'], match: { 'body.ref': ['main', 'dev'] }, stateDelta: { n: 1 } } as unknown as Trigger;
  const shown = draftOf(stored);
  expect(complete(shown)).toBe(false);
  expect(complete(shown, stored)).toBe(true); // it has its secret
  expect(patchOf(shown, stored)).toEqual({ check: 'slack', userId: 'ann' }); // what is not edited stays
  expect(patchOf({ ...shown, check: 'github', secret: 's', user: 'bob', message: '', events: '', match: '', state: '' }, stored)).toEqual({
    check: 'github', secret: 's', userId: 'bob', message: null, events: null, match: null, stateDelta: null, header: null, query: null, issuer: null, audience: null, email: null,
  });
});

test('a check needs its members', () => {
  expect(complete(draft({}))).toBe(true);
  expect(complete(draft({ check: 'slack' }))).toBe(false);
  expect(complete(draft({ check: 'slack', secret: 'x' }))).toBe(true);
  expect(complete(draft({ check: 'google', audience: 'a' }))).toBe(false);
  expect(complete(draft({ check: 'google', audience: 'a', email: 'e' }))).toBe(true);
});
