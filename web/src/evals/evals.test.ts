import { expect, test } from 'vitest';

import type { Event } from '../api/types';
import { caseName, feedbackOf, withText } from './api';
import { compareWords } from './words';

test('differences by word', () => {
  expect(compareWords('it is sunny in Paris', 'it is rainy in Paris')).toEqual([
    { text: 'it is ', kind: 'same' }, { text: 'sunny', kind: 'removed' }, { text: 'rainy', kind: 'added' }, { text: ' in Paris', kind: 'same' },
  ]);
  expect(compareWords('', 'yes')).toEqual([{ text: 'yes', kind: 'added' }]);
  expect(compareWords('same', 'same')).toEqual([{ text: 'same', kind: 'same' }]);
  const long = 'word '.repeat(3000);
  expect(compareWords(long, `${long}more`).map((p) => p.kind)).toEqual(['removed', 'added']);
});

test('the latest feedback of each author', () => {
  const said = (feedback: object, more: object = {}) => ({ id: 'x', invocationId: 'p-1', author: 'user', timestamp: 1, customMetadata: { feedback }, ...more }) as unknown as Event;
  const list = feedbackOf([
    said({ runId: 'e-1', author: 'ann', rating: 'up' }), said({ runId: 'e-1', author: 'bob', rating: 'down', note: 'no' }),
    said({ runId: 'e-1', author: 'ann' }), said({ runId: 'e-2', author: 'eve', rating: 'up' }, { invocationId: 'e-2' }),
  ]);
  expect(list).toEqual([{ runId: 'e-1', author: 'bob', rating: 'down', note: 'no' }]);
});

test('cases have names of their own', () => {
  expect(caseName('What is the weather in Paris today, please?', [])).toBe('what_is_the_weather_in_paris');
  expect(caseName('Hi!', ['hi', 'hi_2'])).toBe('hi_3');
  expect(caseName('???', [])).toBe('case');
});

test('a text is changed, and files stay', () => {
  const file = { inlineData: { mimeType: 'image/png', data: 'AA==' } };
  expect(withText({ role: 'user', parts: [{ text: 'a' }, file] }, 'user', 'b')).toEqual({ role: 'user', parts: [{ text: 'b' }, file] });
  expect(withText(undefined, 'model', 'b')).toEqual({ role: 'model', parts: [{ text: 'b' }] });
});
