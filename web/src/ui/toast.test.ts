import { expect, test } from 'vitest';

import { withToast } from './toast';

const said = (...texts: string[]) => texts.reduce<Parameters<typeof withToast>[0]>((list, text, id) => withToast(list, { id, text: text.replace('!', ''), tone: text.endsWith('!') ? 'bad' : 'plain' }), []);

test('the same message is counted, and is the latest', () => {
  expect(said('Saved.', 'Copied.', 'Saved.', 'Saved.')).toEqual([{ id: 1, text: 'Copied.', tone: 'plain', count: 1 }, { id: 3, text: 'Saved.', tone: 'plain', count: 3 }]);
});

test('an error is not the same as a message', () => {
  expect(said('Saved.', 'Saved.!').map((t) => [t.tone, t.count])).toEqual([['plain', 1], ['bad', 1]]);
});

test('at most three are shown', () => {
  expect(said('a', 'b', 'c', 'd').map((t) => t.text)).toEqual(['b', 'c', 'd']);
  expect(said('a', 'b', 'c', 'a').map((t) => t.text)).toEqual(['b', 'c', 'a']);
});
