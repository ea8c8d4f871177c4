import { expect, test } from 'vitest';

import { lookAtAll } from './axe';
import { call, everyone, fresh, open, session, sessionPath, useBrowser } from './kit';

useBrowser();

/** Says something, and gives feedback to the answer. */
async function rated(user: string, id: string, text: string, ...opinions: object[]) {
  await session('tasks', user, id, text);
  const [run] = await call<{ id: string }[]>('GET', `${sessionPath('tasks', user, id)}/runs`);
  for (const body of opinions) await call('POST', `${sessionPath('tasks', user, id)}/runs/${run!.id}/feedback`, body);
  return run!.id;
}

test('feedback of all sessions is listed, filtered, opened and kept as a test', async () => {
  const ann = fresh('ann');
  const bob = fresh('bob');
  const bad = await rated(ann, 'one', 'What is the weather in Paris?', { rating: 'down', note: 'It is not in Celsius.\nAnd it is late.' }, { rating: 'up', author: 'reviewer' });
  const good = await rated(bob, 'two', 'What is the weather in London?', { rating: 'up' });
  const noted = await rated(bob, 'three', 'What is the weather in New York, and what will it be tomorrow and the day after, in the morning and in the evening?', { note: 'Only a note, without a rating.' });

  const page = await open('/ui/apps/tasks/feedback');
  const rows = (run: string) => page.locator(`[data-opinion="${run}"]`);
  await rows(noted).waitFor();
  expect(await rows(bad).count()).toBe(2);
  await rows(bad).getByText('It is not in Celsius.').waitFor();
  await rows(good).getByText('What is the weather in London?', { exact: true }).waitFor();
  await rows(bad).getByText(`in a session of ${ann}`).waitFor();
  expect(await page.title()).toBe('Feedback · tasks · Parley');
  await lookAtAll(page, 'feedback-list');

  // The filters are in the address.
  await page.getByRole('button', { name: 'Bad', exact: true }).click();
  await expect.poll(() => rows(good).count()).toBe(0);
  expect(await rows(bad).count()).toBe(1);
  expect(new URL(page.url()).search).toBe('?rating=down');
  await page.getByRole('button', { name: 'All', exact: true }).click();
  await page.getByLabel('With a note').check();
  await rows(noted).waitFor();
  await expect.poll(() => rows(bad).count()).toBe(1);
  expect(await rows(good).count()).toBe(0);
  await page.getByRole('textbox', { name: 'User' }).fill(bob);
  await page.keyboard.press('Enter');
  await expect.poll(() => rows(bad).count()).toBe(0);
  expect(await page.getByRole('textbox', { name: 'User' }).evaluate((el) => el === document.activeElement)).toBe(true);
  await rows(noted).waitFor();
  await page.reload();
  await rows(noted).waitFor();
  await page.getByRole('button', { name: 'Good', exact: true }).click();
  await page.getByText('No matches').waitFor();
  await lookAtAll(page, 'feedback-none');
  await page.getByRole('button', { name: 'Show all feedback' }).click();

  // One click makes a case of it.
  await rows(bad).first().getByRole('button', { name: 'Save as a test' }).waitFor();
  await rows(good).getByRole('button', { name: 'Save as a test' }).click();
  await rows(good).getByRole('link', { name: /^what_is_the_weather_in_london/ }).waitFor();
  const [set] = await call<string[]>('GET', '/dev/apps/tasks/eval_sets');
  const cases = await call<{ evalCases: { evalId: string }[] }>('GET', `/dev/apps/tasks/eval_sets/${set}`);
  expect(cases.evalCases.map((one) => one.evalId).some((name) => name.startsWith('what_is_the_weather_in_london'))).toBe(true);

  // A row opens its turn, with the keyboard, too.
  await rows(bad).first().getByRole('link').first().focus();
  await page.keyboard.press('Enter');
  await page.locator(`[data-feedback="${bad}"]`).getByText('It is not in Celsius.').waitFor();
  expect(new URL(page.url()).pathname).toBe(`/ui${sessionPath('tasks', ann, 'one')}`);
  await page.locator('#main').press('g');
  await page.keyboard.press('f');
  await rows(good).waitFor();
});

test('keys and the search go over the events that are shown', async () => {
  const user = fresh('keys');
  await rated(user, 's', 'What is the weather in Paris?', { rating: 'down', note: 'weather' });
  await call('POST', '/run', { appName: 'tasks', userId: user, sessionId: 's', newMessage: { parts: [{ text: 'What is the weather in London?' }] } });
  const { events } = await call<{ events: { id: string; invocationId: string }[] }>('GET', sessionPath('tasks', user, 's'));
  const hidden = events.findIndex((e) => e.invocationId.startsWith('p-'));
  expect(hidden).toBeGreaterThan(0);
  const page = await open(`/ui${sessionPath('tasks', user, 's')}?event=${events[hidden - 1]!.id}`);
  const current = page.locator('article[aria-current] > button');
  const at = (index: number) => expect.poll(() => current.allTextContents()).toEqual([String(index + 1)]);
  await at(hidden - 1);
  await page.keyboard.press('j');
  await at(hidden + 1);
  await page.getByLabel('Details').getByText(String(hidden + 2), { exact: true }).first().waitFor();
  await page.keyboard.press('k');
  await at(hidden - 1);
  await page.keyboard.press('/');
  await page.getByLabel('Find in the conversation').fill('user');
  await page.keyboard.press('Enter');
  await at(hidden + 1);
  // Feedback at the end is passed over, too.
  const run = events.at(-1)!.invocationId;
  await call('POST', `${sessionPath('tasks', user, 's')}/runs/${run}/feedback`, { rating: 'up' });
  await page.keyboard.press('Escape');
  await page.reload();
  await page.locator(`[data-feedback="${run}"] [aria-pressed=true]`).waitFor();
  await page.keyboard.press('End');
  await at(events.length - 1);
  await page.keyboard.press('j');
  await at(events.length - 1);
});

test('feedback that is missing, or cannot be listed', async () => {
  const empty = await open('/ui/apps/story/feedback');
  await empty.getByText('There is no feedback yet').waitFor();
  await lookAtAll(empty, 'feedback-empty');

  const page = await open('/ui/apps/tasks/evals', { expected: /500/ });
  let fails = true;
  await page.route('**/apps/tasks/feedback*', (route) => (fails ? route.fulfill({ status: 500, json: { error: 'Internal Server Error' } }) : route.continue()));
  await page.getByRole('link', { name: 'Feedback' }).click();
  await page.getByText('The feedback could not be listed').waitFor();
  fails = false;
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect.poll(() => page.getByText('The feedback could not be listed').count()).toBe(0);
});

test('an opinion that is given in another window appears', async () => {
  const user = fresh('ann');
  const run = await rated(user, 'one', 'What is the weather in Rome?');
  const page = await open(`/ui/apps/tasks/feedback?user=${user}`);
  await page.getByText('No matches').waitFor();
  await call('POST', `${sessionPath('tasks', user, 'one')}/runs/${run}/feedback`, { rating: 'up' });
  await page.locator(`[data-opinion="${run}"]`).waitFor();

  // So does one that is given in this window, whatever the list was a moment ago.
  await page.locator(`[data-opinion="${run}"]`).getByRole('link').first().click();
  await page.getByRole('button', { name: 'Note', exact: true }).click();
  await page.getByLabel('Note on this turn').fill('It rains.');
  await page.getByRole('button', { name: 'Save the note' }).click();
  await page.getByRole('button', { name: 'Edit the note' }).waitFor();
  await page.goBack();
  await page.getByText('It rains.').waitFor();
});

test('a store that cannot list feedback says so, and one that finds nothing at first offers to look further', async () => {
  const page = await open('/ui/apps/tasks/evals', { expected: /501/ });
  const list = (url: URL) => url.pathname === '/apps/tasks/feedback';
  await page.route(list, (route) => route.fulfill({ status: 501, json: { error: 'The session store of this server cannot list feedback of all sessions.', detail: 'The session store of this server cannot list feedback of all sessions.' } }));
  await page.getByRole('link', { name: 'Feedback' }).click();
  await page.getByText('The session store of this server cannot list feedback').waitFor();
  expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);

  const user = fresh('old');
  const run = await rated(user, 'one', 'What is the weather in Bonn?', { rating: 'down' });
  await page.unroute(list);
  await page.route(list, async (route) => {
    const url = new URL(route.request().url());
    if (url.searchParams.has('further')) return route.continue({ url: route.request().url().replace('&further=1', '') });
    return route.fulfill({ json: [], headers: { Link: `<${url.pathname}${url.search}&further=1>; rel="next"` } });
  });
  await page.goto(page.url().replace(/\/evals$|\/feedback.*$/, `/feedback?user=${user}`));
  await page.getByText('No matches in the newest feedback').waitFor();
  await page.getByRole('button', { name: 'Search older feedback' }).click();
  await page.locator(`[data-opinion="${run}"]`).waitFor();
});

test('where all users have access, the list is that of the user at hand', async () => {
  const page = await open(`${everyone}/ui/apps/weather/users/visitor/sessions`);
  await page.getByRole('link', { name: 'Feedback' }).click();
  await page.getByText('There is no feedback yet').waitFor();
  const user = page.getByRole('textbox', { name: 'User' });
  expect(await user.inputValue()).toBe('visitor');
  await user.fill('');
  await page.keyboard.press('Enter');
  await expect.poll(() => user.inputValue()).toBe('visitor');
  await user.fill('another');
  await page.keyboard.press('Enter');
  await expect.poll(() => page.url()).toContain('user=another');
  await page.getByText('No matches').waitFor();
});

test('filters are saved in the browser, those of each screen', async () => {
  const user = fresh('ann');
  const run = await rated(user, 'one', 'What is the weather in Kiel?', { rating: 'down' });
  const page = await open(`/ui/apps/tasks/feedback?user=${user}&rating=down`);
  await page.getByRole('button', { name: 'Save this filter' }).click();
  await page.getByRole('button', { name: 'Good', exact: true }).click();
  await page.getByText('No matches').waitFor();
  await page.reload();
  const saved = page.getByRole('group', { name: 'Saved filters' });
  await saved.getByRole('button', { name: `rating: down, user: ${user}` }).click();
  await page.locator(`[data-opinion="${run}"]`).waitFor();
  expect(await page.getByRole('textbox', { name: 'User' }).inputValue()).toBe(user);
  for (const [path, query] of [['/ui/inbox', 'kind=login'], ['/ui/usage', 'days=7'], [`/ui/apps/tasks/users/${user}/runs`, 'status=failed']] as const) {
    await page.goto(`${new URL(page.url()).origin}${path}?${query}`);
    await page.getByRole('button', { name: 'Save this filter' }).click();
    await page.goto(`${new URL(page.url()).origin}${path}`);
    await saved.getByRole('button', { name: query.replace('=', ': '), exact: true }).click();
    await expect.poll(() => page.url()).toContain(`${path}?${query}`);
    await saved.getByRole('button', { name: 'Delete this filter' }).click();
    await expect.poll(() => saved.getByRole('button', { name: query.replace('=', ': ') }).count()).toBe(0);
  }
});
