import { expect, test } from 'vitest';

import { match, to } from './router';

test('addresses lead back to what they were made of', () => {
  const key = { app: 'a b', user: 'x/y', session: 'ü?#' };
  expect(match('/ui/apps/:app/users/:user/sessions/:session', to.session(key))).toEqual(key);
  expect(match('/ui/apps/:app', `${to.app('w')}?x=1`)).toEqual({ app: 'w' });
});

test('what does not fit is nothing', () => {
  expect(match('/ui/apps/:app', '/ui/apps')).toBeUndefined();
  expect(match('/ui/apps/:app', '/ui/other/x')).toBeUndefined();
  expect(match('/ui/apps/:app', '/ui/apps/%E0%A4%A')).toBeUndefined();
});
