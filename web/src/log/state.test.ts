import { expect, test } from 'vitest';

import { matchText, readMatch, readState, stateText } from './state';

test('objects', () => {
  expect(readState(' ')).toBeNull();
  expect(readState('{"unit": "celsius", "n": [1]}')).toEqual({ unit: 'celsius', n: [1] });
  for (const wrong of ['{', '[]', 'null', '1']) expect(readState(wrong)).toBeUndefined();
  expect(readState(stateText({ a: 1 }))).toEqual({ a: 1 });
  expect(stateText(undefined)).toBe('');
});

test('filters', () => {
  expect(readMatch('\n')).toBeNull();
  expect(readMatch('body.ref = main\nbody.ref=dev=1\n\nbody.x=')).toEqual({ 'body.ref': ['main', 'dev=1'], 'body.x': [''] });
  for (const wrong of ['body.ref', '=main']) expect(readMatch(wrong)).toBeUndefined();
  expect(matchText({ a: ['1', '2'], b: ['3'] })).toBe('a=1\na=2\nb=3');
});
