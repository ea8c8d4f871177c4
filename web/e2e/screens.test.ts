import type { Locator, Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';

import { accessible, look } from './axe';
import { base, call, fresh, keys, oidc, open, picture, session, sessionPath, useBrowser } from './kit';

useBrowser();

const user = 'ann';
let talk = '';
let pending = '';

beforeAll(async () => {
  await session('city', user, 'trip', 'What is the weather in New York?', 'And what time is it in Tokyo?');
  await call('PATCH', sessionPath('city', user, 'trip'), { stateDelta: { __session_metadata__: { displayName: 'Trip to New York', labels: { kind: 'trip', stage: 'draft' } }, 'user:home': 'Oslo' } });
  for (const [i, name] of ['Ideas for the summer', 'Packing list', 'A rainy week', 'Tokyo, by train'].entries()) {
    await call('POST', sessionPath('city', user, `plan-${i}`), { state: { __session_metadata__: { displayName: name, labels: { kind: i % 2 ? 'list' : 'trip' } }, days: i } });
  }
  await session('relay', user, 'review', 'weather in Paris', 'pair', 'broken', 'state calm', 'keep note tidy');
  talk = '/ui' + sessionPath('relay', user, 'review');
  await session('weather', user, 'refused', 'errcode');
  await call('POST', '/run', { appName: 'weather', userId: user, sessionId: 'refused', newMessage: { parts: [{ text: 'fail' }] } }).catch(() => undefined);
  await session('calendar', user, 'week', 'What is on?');
  await session('weather', user, 'approval', 'long');
  pending = '/ui' + sessionPath('calendar', user, 'week');
  await session('painter', user, 'evening', 'Paint the evening');
  await call('POST', `${sessionPath('painter', user, 'evening')}/artifacts`, { filename: 'notes/plan.md', artifact: { text: '# Plan\n\n- walk\n- paint\n' } });
});

interface Shot {
  name: string;
  path: () => string;
  /** What is there when the screen is. */
  ready: (page: Page) => Promise<unknown>;
}

/** Waits for the code of a protocol, and brings it into view. */
async function connectShown(page: Page) {
  const code = page.getByRole('tabpanel').getByText('new OpenAI');
  await code.waitFor();
  await code.evaluate((e) => e.scrollIntoView({ block: 'center' }));
}

const shots: Shot[] = [
  { name: 'apps', path: () => '/', ready: (p) => p.getByText('index.ts:5:3').waitFor() },
  { name: 'app', path: () => '/ui/apps/relay', ready: (p) => p.locator('svg[role=img]').waitFor() },
  { name: 'app-connect', path: () => '/ui/apps/city?connect=openai', ready: connectShown },
  { name: 'sessions', path: () => `/ui/apps/city/users/${user}/sessions`, ready: (p) => p.getByRole('link', { name: 'Trip to New York' }).waitFor() },
  { name: 'sessions-search', path: () => `/ui/apps/city/users/${user}/sessions?q=weather`, ready: (p) => p.getByText('weather_agent in Trip to New York').waitFor() },
  { name: 'sessions-empty', path: () => `/ui/apps/city/users/nemo/sessions`, ready: (p) => p.getByText('No sessions yet').waitFor() },
  {
    name: 'workbench', path: () => '/ui' + sessionPath('city', user, 'trip'),
    ready: async (p) => {
      await p.getByRole('button', { name: /^3, inspect/ }).click();
      await p.getByRole('tab', { name: 'State', exact: true }).click();
      await p.getByText('last_city').first().waitFor();
    },
  },
  {
    name: 'workbench-request', path: () => '/ui' + sessionPath('city', user, 'trip'),
    ready: async (p) => {
      await p.locator('[data-bar=model]').last().click();
      await p.getByRole('tab', { name: 'Model request' }).click();
      await p.getByText('message of the user').first().waitFor();
    },
  },
  { name: 'workbench-relay', path: () => talk, ready: (p) => p.getByText('I approve.').last().waitFor() },
  { name: 'workbench-new', path: () => `/ui${sessionPath('city', user, 'plan-1')}`, ready: (p) => p.getByText('Start the conversation').waitFor() },
  { name: 'workbench-failed', path: () => `/ui${sessionPath('weather', user, 'refused')}`, ready: (p) => p.getByText('SAFETY').first().waitFor() },
  { name: 'workbench-login', path: () => pending, ready: (p) => p.getByRole('button', { name: 'Log in', exact: true }).waitFor() },
  { name: 'inbox', path: () => `/ui/inbox?app=calendar&user=${user}`, ready: (p) => p.getByRole('button', { name: 'Log in', exact: true }).waitFor() },
  { name: 'inbox-empty', path: () => `/ui/inbox?app=city&user=${user}`, ready: (p) => p.getByText('No matches').waitFor() },
  { name: 'runs', path: () => `/ui/apps/weather/users/${user}/runs`, ready: (p) => p.getByText('failed', { exact: true }).last().waitFor() },
  { name: 'logins', path: () => `/ui/apps/calendar/users/${user}/logins`, ready: (p) => p.getByText('No logins').waitFor() },
  { name: 'api', path: () => '/ui/api?operation=run', ready: (p) => p.getByRole('heading', { name: 'Send a message and wait' }).waitFor() },
  { name: 'workbench-files', path: () => `/ui${sessionPath('painter', user, 'evening')}`, ready: (p) => p.getByRole('img', { name: 'dusk.png' }).waitFor() },
  { name: 'artifacts', path: () => `/ui${sessionPath('painter', user, 'evening')}/artifacts`, ready: (p) => p.getByRole('link', { name: 'notes/plan.md' }).waitFor() },
  { name: 'artifact-picture', path: () => `/ui${sessionPath('painter', user, 'evening')}/artifacts/user:art/dusk.png`, ready: (p) => p.getByRole('img', { name: 'dusk.png' }).waitFor() },
  { name: 'artifact-json', path: () => `/ui${sessionPath('painter', user, 'evening')}/artifacts/thoughts.json`, ready: (p) => p.getByText('"calm"').waitFor() },
  { name: 'artifacts-empty', path: () => `/ui${sessionPath('city', user, 'plan-1')}/artifacts`, ready: (p) => p.getByText('No files yet').waitFor() },
  { name: 'signin-key', path: () => keys, ready: (p) => p.getByLabel('API key').waitFor() },
  { name: 'signin-issuer', path: () => oidc, ready: (p) => p.getByRole('link', { name: /^Sign in at/ }).waitFor() },
  { name: 'nowhere', path: () => '/ui/nowhere', ready: (p) => p.getByText('There is no page at this address').waitFor() },
];

test.each(shots)('$name', async ({ name, path, ready }) => {
  const page = await open(path());
  await ready(page);
  await look(page, name);
  await page.setViewportSize({ width: 820, height: 1100 });
  await picture(page, `${name}-tablet`);
  expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 'scrolls sideways on a tablet').toBeLessThanOrEqual(0);
});

test('the theme is that of the machine until the user chooses', async () => {
  const page = await open('/', { theme: 'dark' });
  const theme = () => page.evaluate(() => document.documentElement.dataset['theme']);
  expect(await theme()).toBe('dark');
  await page.getByRole('button', { name: 'Theme', exact: true }).click();
  expect(await theme()).toBe('light');
  await page.reload();
  expect(await theme()).toBe('light');
});

describe('on a phone', () => {
  test.each(shots.filter((s) => ['apps', 'app', 'app-connect', 'sessions', 'sessions-search', 'workbench-relay', 'inbox', 'runs', 'api', 'artifacts', 'artifact-picture', 'signin-key'].includes(s.name)))('$name', async ({ name, path, ready }) => {
    const page = await open(path(), { width: 390, height: 844 });
    await ready(page);
    await picture(page, `${name}-phone`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
    expect(wide, 'scrolls sideways').toBe(false);
    await accessible(page, ['wcag2a', 'wcag2aa']);
  });
});

test('on a phone, the workbench leads to the other screens, but not while the keyboard leaves little height', async () => {
  const page = await open(talk, { width: 390, height: 844 });
  await page.locator('[data-conversation]').waitFor();
  const bar = page.getByRole('navigation', { name: 'Screens' });
  await bar.getByRole('link', { name: 'Runs' }).waitFor();
  await page.setViewportSize({ width: 390, height: 420 });
  await bar.waitFor({ state: 'hidden' });
  await page.setViewportSize({ width: 390, height: 844 });
  await bar.getByRole('link', { name: 'Runs' }).click();
  await page.getByRole('heading', { name: 'Runs' }).waitFor();
});

test('a graph and tabs that are wider than a phone show that they scroll', async () => {
  const page = await open('/ui/apps/relay', { width: 390, height: 844 });
  const graph = page.getByRole('group', { name: 'Graph of the agents' });
  await expect.poll(() => graph.locator('..').getAttribute('data-more')).toBe('end');
  await graph.focus();
  await graph.evaluate((el) => (el.scrollLeft = el.scrollWidth));
  await expect.poll(() => graph.locator('..').getAttribute('data-more')).toBe('start');
  await page.goto(`${base}${talk}`);
  await page.setViewportSize({ width: 320, height: 640 });
  await page.getByRole('button', { name: /^27, inspect/ }).click();
  const tabs = page.getByRole('tablist', { name: 'The event' });
  await expect.poll(() => tabs.locator('..').getAttribute('data-more')).toBe('end');
});

test('what has happened is told over the page, which stays as it is', async () => {
  const page = await open(`/ui/apps/city/users/${fresh('teller')}/sessions`);
  const told = page.locator('[data-toasts] > div');
  const heightOf = () => page.locator('#main').evaluate((el) => el.clientHeight);
  const tell = async () => {
    await page.getByRole('button', { name: 'Copy as curl', exact: true }).first().click();
    await page.getByRole('menuitem', { name: 'This page', exact: true }).click();
    await told.first().waitFor();
  };
  for (const [width, height] of [[390, 844], [820, 1180]] as const) {
    await page.setViewportSize({ width, height });
    const before = await heightOf();
    await tell();
    expect(await heightOf()).toBe(before);
    await picture(page, `told-${width}`);
    const below = await told.first().evaluate((toast) => {
      const { left, top, right, bottom } = toast.getBoundingClientRect();
      const points = [left + 1, (left + right) / 2, right - 1].flatMap((x) => [top + 1, (top + bottom) / 2, bottom - 1].map((y) => document.elementsFromPoint(x, y)));
      return points.flat().filter((el) => !toast.contains(el)).filter((el) => el.matches('a, button, input, select, textarea, label')).map((el) => el.outerHTML.slice(0, 100));
    });
    expect(below).toEqual([]);
    expect(await told.first().evaluate((toast) => toast.contains(document.elementFromPoint(innerWidth / 2, toast.getBoundingClientRect().top + 5)))).toBe(false); // clicks pass
    await told.first().waitFor({ state: 'detached' });
  }
});

test('the message box stays where it is while something is told', async () => {
  const page = await open(await session('city', fresh('typist'), 's', 'Hello'), { width: 390, height: 844 });
  const box = page.getByLabel('Message', { exact: true });
  await box.waitFor();
  const placeOf = (what: Locator) => what.evaluate((el) => el.getBoundingClientRect().top);
  const told = page.locator('[data-toasts] > div');
  const tell = async (item: string) => {
    await page.getByRole('button', { name: 'Session actions' }).click();
    await page.getByRole('menuitem', { name: item }).click();
    await told.waitFor();
  };
  for (const [width, height] of [[390, 844], [820, 1180], [1100, 800]] as const) {
    await page.setViewportSize({ width, height });
    const before = await placeOf(box);
    await tell('Copy the session id');
    expect(await placeOf(box)).toBe(before);
    expect(await placeOf(told)).toBeLessThan(before);
    await picture(page, `told-workbench-${width}`);
    await told.waitFor({ state: 'detached' });
  }
  // Beside the conversation, there is no message box to stay.
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole('tab', { name: 'Chat' }).focus();
  for (const name of ['Run', 'Event', 'State']) {
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => page.getByRole('tab', { name, exact: true }).getAttribute('aria-selected')).toBe('true'); // the focus moves a moment later
  }
  await tell('Copy the session id');
  expect(await told.evaluate((el) => el.closest('[data-conversation]'))).toBe(null);
  // It remains when the conversation is shown again.
  await page.getByRole('tab', { name: 'Chat' }).click();
  await page.locator('[data-conversation] [data-toasts] > div').waitFor();
});
