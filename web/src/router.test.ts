import { expect, test } from 'vitest';

import { match, to } from './router';

test('addresses lead back to what they were made of', () => {
  const key = { app: 'a b', user: 'x/y', session: 'ü?#' };
  expect(match('/ui/apps/:app/users/:user/sessions/:session', to.session(key))).toEqual(key);
  expect(match('/ui/apps/:app', `${to.app('w')}?x=1`)).toEqual({ app: 'w' });
  const file = '/ui/apps/:app/users/:user/sessions/:session/artifacts/*';
  expect(match(file, to.artifact(key, 'user:a b/c.png', 3))).toEqual({ ...key, '*': 'user:a b/c.png' });
  expect(match(file, to.artifact(key))).toEqual({ ...key, '*': '' });
  expect(match(file, to.session(key))).toBeUndefined();
});

test('what does not fit is nothing', () => {
  expect(match('/ui/apps/:app', '/ui/apps')).toBeUndefined();
  expect(match('/ui/apps/:app', '/ui/other/x')).toBeUndefined();
  expect(match('/ui/apps/:app', '/ui/apps/%E0%A4%A')).toBeUndefined();
});
