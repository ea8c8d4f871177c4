import { expect, test } from 'vitest';

import { moreOf, scrollable, tallOf } from './scroll';

test('where there is more to see', () => {
  const at = (scrollLeft: number, scrollWidth = 500) => moreOf({ scrollWidth, clientWidth: 300, scrollLeft });
  expect([at(0, 300), at(0, 301), at(0), at(1), at(100), at(199.5), at(200)]).toEqual(['', '', 'end', 'end', 'both', 'start', 'start']);
});

test('where there is more above and below', () => {
  const at = (scrollTop: number, scrollHeight = 500) => tallOf({ scrollHeight, clientHeight: 300, scrollTop });
  expect([at(0, 300), at(0), at(100), at(200)]).toEqual(['', 'end', 'both', 'start']);
});

test('only what scrolls is a stop of the tab key', () => {
  expect(scrollable('', 'Formula')).toEqual({});
  expect(scrollable('start', 'Formula')).toEqual({ role: 'group', 'aria-label': 'Formula', tabIndex: 0 });
});
