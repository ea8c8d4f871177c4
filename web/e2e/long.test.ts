// Lists with a thousand items have in the document what can be seen of them.
import type { Locator, Page, Route } from 'playwright-core';
import { expect, test } from 'vitest';

import { look } from './axe';
import { call, fresh, open, palette, session, sessionPath, useBrowser } from './kit';

useBrowser();

const many = 1000;
const list = <T>(make: (i: number) => T) => Array.from({ length: many }, (_, i) => make(i));
const run = (i: number) => ({ id: `run-${i}`, appName: 'city', userId: 'u', sessionId: `s-${i}`, status: 'completed', createTime: 1000 - i, startTime: 1000 - i, endTime: 1001 - i });
const sum = (i: number) => ({ day: '2026-01-01', appName: 'city', userId: `user-${i}`, runs: 1, promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: many - i, models: [] });
const question = { id: 'c', name: 'adk_request_confirmation', args: { originalFunctionCall: { id: 'x', name: 'refund', args: {} }, toolConfirmation: { hint: 'May it?' } } };
const entry = (i: number) => ({ id: `e-${i}`, appName: 'approval', userId: 'u', sessionId: `talk-${i}`, runId: 'r', agent: 'a', kind: 'confirmation', tool: 'refund', message: 'May it?', since: '2026-01-01T00:00:00Z', answer: 'user', mayAnswer: true, call: question });
const opinion = (i: number) => ({ userId: 'u', sessionId: `s-${i}`, runId: `r-${i}`, author: 'u', rating: 'up', message: `Question ${i}`, timestamp: many - i });
const memory = (i: number) => ({ id: `m-${i}`, eventId: 'e', author: 'u', timestamp: 1, content: { parts: [{ text: `Remembered ${i}, ${'with more words '.repeat((i % 5) * 10)}` }] } });

const schedule = (i: number) => ({ id: `daily-${i}`, appName: 'city', userId: 'u', cron: '0 9 * * *', paused: true, upcoming: [], newMessage: { role: 'user', parts: [{ text: `Message ${i}, ${'and more '.repeat((i % 3) * 10)}` }] } });
const trigger = (i: number) => ({ name: `hook-${i}`, path: `/triggers/hook-${i}`, check: 'secret', userId: 'u', source: 'api', message: 'It was called.' });
const login = (i: number) => ({ name: `login-${i}`, provider: `provider-${i}`, authType: 'oauth2', scopes: ['read'], sessionId: '' });
const delivery = (i: number) => ({ id: `d-${i}`, createdAt: '2026-01-01T00:00:00Z', type: 'run.completed', status: 'pending', attempts: 1, error: `Refused ${i}.` });
const share = (i: number) => ({ id: `share-${i}`, createTime: 86_400 * (400 - i), expireTime: 86_400 * (800 - i), includeTools: false });
const apps = list((i) => ({ name: `app-${i}`, rootAgentName: 'root', description: '', language: 'go' }));
const operations = Object.fromEntries(list((i) => [`/things/${i}`, { get: { operationId: `op-${i}`, summary: `Operation ${i}`, tags: [`tag ${Math.floor(i / 100)}`], responses: {} } }]));

const at = (path: string) => (url: URL) => url.pathname === path;
type Answers = [address: string | ((url: URL) => boolean), json: unknown];

const lists: { name: string; path: string; answers: string | ((url: URL) => boolean); json: unknown; also?: Answers[]; show?: (page: Page) => Promise<void>; first: string; last: string }[] = [
  { name: 'runs', path: 'apps/city/users/u/runs', answers: '**/dev/apps/city/users/u/runs?*', json: list(run), first: 's-0', last: `s-${many - 1}` },
  { name: 'users in usage', path: 'usage', answers: '**/usage?*groupBy=*', json: list(sum), first: 'user-0', last: `user-${many - 1}` },
  { name: 'entries of the inbox', path: 'inbox', answers: '**/inbox?*', json: list(entry), first: 'talk-0', last: `talk-${many - 1}` },
  { name: 'feedback', path: 'apps/city/feedback', answers: (url) => url.pathname === '/apps/city/feedback', json: list(opinion), first: 'Question 0', last: `Question ${many - 1}` },
  { name: 'memories', path: 'apps/city/users/u/memory', answers: '**/users/u/memory?*', json: list(memory), first: 'Remembered 0,', last: `Remembered ${many - 1},` },
  { name: 'evaluation sets', path: 'apps/city/evals', answers: '**/apps/city/eval_sets', json: list((i) => `set-${i}`), first: 'set-0', last: `set-${many - 1}` },
  { name: 'schedules', path: 'apps/city/users/u/schedules', answers: at('/apps/city/users/u/schedules'), json: list(schedule), first: 'daily-0', last: `daily-${many - 1}` },
  { name: 'triggers', path: 'apps/city/users/u/triggers', answers: at('/apps/city/triggers'), json: list(trigger), first: 'hook-0', last: `hook-${many - 1}` },
  { name: 'logins', path: 'apps/city/users/u/logins', answers: at('/apps/city/users/u/credentials'), json: list(login), first: 'provider-0', last: `provider-${many - 1}` },
  {
    name: 'what a receiver has not accepted', path: 'apps/city/users/u/webhooks', answers: at('/apps/city/webhooks'), json: [{ id: 'hook', url: 'https://example.com', events: [] }],
    also: [[at('/apps/city/webhooks/hook/deliveries'), { deliveries: list(delivery).slice(0, 100) }], [at('/apps/city/failed-deliveries'), { deliveries: [] }]],
    show: (page) => page.getByText('Not accepted').click(), first: 'Refused 0.', last: 'Refused 99.',
  },
];

const nodes = (area: Locator) => area.evaluate((el) => el.querySelectorAll('*').length);
const json = (body: unknown) => (route: Route) => route.fulfill({ json: body });

/** Scrolls an area from its first item to the last one and back. It never has many nodes. */
async function through(area: Locator, first: string, last: string, atEnd = async () => {}) {
  const item = (text: string) => area.getByText(text).first();
  await item(first).waitFor();
  expect(await nodes(area)).toBeLessThan(2500);
  // The heights of what was not yet seen are estimates, so it may go further then.
  await expect.poll(async () => (await area.evaluate((el) => void (el.scrollTop = el.scrollHeight)), item(last).count())).toBe(1);
  expect(await item(first).count()).toBe(0);
  expect(await nodes(area)).toBeLessThan(2500);
  await atEnd();
  await area.evaluate((el) => void (el.scrollTop = 0));
  await item(first).waitFor();
}

for (const { name, path, answers, json: body, also = [], show, first, last } of lists) {
  test(`${name}`, async () => {
    const page = await open('/ui/api');
    for (const [address, answer] of [[answers, body], ...also] as Answers[]) await page.route(address, json(answer));
    await page.goto(`${new URL(page.url()).origin}/ui/${path}`);
    await show?.(page);
    await through(page.locator('#main'), first, last, () => look(page, `long ${name}`));
  });
}

test('applications, in columns, among the commands, and to choose from', async () => {
  const page = await open('/ui/api', { expected: /status of 404/ }); // the server does not have them
  const asked = new Set<string>();
  await page.route(at('/list-apps'), json({ apps }));
  await page.route((url) => url.pathname.endsWith('/app-info'), (route) => (asked.add(route.request().url()), route.fulfill({ json: { rootAgentName: 'root', agents: {} } })));
  const { origin } = new URL(page.url());
  for (const width of [1360, 800]) {
    await page.setViewportSize({ width, height: 860 });
    await page.goto(`${origin}/ui/`);
    await through(page.locator('#main'), 'app-0', `app-${many - 1}`, () => look(page, `long applications ${width}`));
  }
  expect(asked.size).toBeLessThan(200); // what was not seen was not read
  await palette(page);
  const commands = page.getByRole('dialog');
  await commands.getByText(`These are 50 of ${many} applications.`).waitFor();
  expect(await nodes(commands)).toBeLessThan(1000);
  await page.keyboard.type('app-777');
  await expect.poll(() => commands.getByRole('option', { name: 'app-777' }).count()).toBe(1);
  await page.keyboard.press('Escape');
  await page.goto(`${origin}/ui/apps/app-1/evals`);
  const picker = page.locator('#main').getByLabel('app', { exact: true });
  await expect.poll(() => picker.inputValue()).toBe('app-1');
  await picker.fill('app-99');
  expect(await page.locator('option').count()).toBeLessThan(150);
  await picker.fill('app-998');
  await picker.press('Enter');
  await expect.poll(() => new URL(page.url()).pathname).toBe('/ui/apps/app-998/evals');
});

for (const [screen, label, all] of [['inbox', 'Application', 'all applications'], ['usage', 'app', 'all']] as const) {
  test(`applications in the filter of the ${screen}`, async () => {
    const page = await open('/ui/api');
    await page.route(at('/list-apps'), json({ apps }));
    await page.goto(`${new URL(page.url()).origin}/ui/${screen}`);
    const filter = page.locator('#main').getByLabel(label, { exact: true }).last();
    const app = () => new URL(page.url()).searchParams.get('app') ?? '';
    await expect.poll(() => filter.getAttribute('placeholder')).toBe(all);
    expect(await nodes(page.locator('#main'))).toBeLessThan(1000);
    await filter.fill('app-99');
    expect(await page.locator('#main option').count()).toBeLessThan(100);
    await filter.fill('app-998');
    await filter.press('Enter');
    await expect.poll(app).toBe('app-998');
    await filter.fill('app-9999'); // there is none
    await filter.press('Enter');
    await expect.poll(() => filter.inputValue()).toBe('app-998');
    await filter.fill('');
    await filter.press('Enter');
    await expect.poll(app).toBe('');
  });
}

test('operations of the API, of which one is named by the address', async () => {
  const page = await open('/ui/inbox');
  await page.route(at('/openapi.json'), json({ openapi: '3.1.0', info: { title: 'Many', description: 'Many operations.' }, paths: operations }));
  const { origin } = new URL(page.url());
  await page.goto(`${origin}/ui/api`);
  const area = page.locator('aside[data-scrolls]');
  await through(area, 'Operation 0', `Operation ${many - 1}`, () => look(page, 'long operations'));
  await page.goto(`${origin}/ui/api?operation=op-700`);
  const current = page.locator('button[aria-current=true]');
  await page.getByRole('heading', { name: 'Operation 700' }).waitFor();
  const inView = () => current.evaluate((el) => el.getBoundingClientRect().top >= 0 && el.getBoundingClientRect().bottom <= innerHeight).catch(() => false);
  await expect.poll(inView).toBe(true);
  // One that is chosen stays where it is.
  const next = area.getByRole('button', { name: /^Operation 702 / });
  const before = (await next.boundingBox())!.y;
  await next.click();
  await page.getByRole('heading', { name: 'Operation 702' }).waitFor();
  await expect.poll(() => current.textContent()).toContain('Operation 702');
  expect((await current.boundingBox())!.y).toBe(before);
  await page.getByLabel('Search operations').fill('operation 51');
  await expect.poll(() => area.getByRole('button', { name: /^Operation / }).count()).toBe(11);
});

test('links to a session', async () => {
  const page = await open(await session('weather', fresh('long'), 'talk', 'weather in Oslo'));
  await page.route((url) => url.pathname.endsWith('/sessions/talk/shares'), json(list(share).slice(0, 100)));
  await page.getByRole('button', { name: 'Session actions' }).click();
  await page.getByRole('menuitem', { name: 'Share…' }).click();
  const dialog = page.getByRole('dialog');
  const link = (i: number) => dialog.locator(`[data-share=share-${i}]`);
  await link(0).waitFor();
  expect(await dialog.locator('[data-share]').count()).toBeLessThan(40);
  await expect.poll(async () => (await dialog.evaluate((el) => void (el.scrollTop = el.scrollHeight)), link(99).count())).toBe(1);
  expect(await link(0).count()).toBe(0);
  await look(page, 'long links');
  await dialog.evaluate((el) => void (el.scrollTop = 0));
  await link(0).waitFor();
});

test('a request to a model, with what was folded in it', async () => {
  const id = fresh('parts');
  const event = (i: number, content: object) => ({ id: `m${i}`, invocationId: `e-${i >> 2}`, author: i % 2 ? 'weather_agent' : 'user', timestamp: 1794729660 + i, content });
  const lines: object[] = [{ parley: 1, state: {} }];
  for (let i = 0; i < 2000; i++) lines.push(event(i, { role: i % 2 ? 'model' : 'user', parts: [{ text: `Line ${i + 1}. ${'word '.repeat((i % 7) * 20)}` }, ...(i === 1 ? [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }] : [])] }));
  await call('POST', `${sessionPath('weather', 'long', id)}/import`, lines.map((l) => JSON.stringify(l)).join('\n'));
  await call('POST', '/run', { appName: 'weather', userId: 'long', sessionId: id, newMessage: { parts: [{ text: 'and on' }] } });
  const page = await open(`/ui${sessionPath('weather', 'long', id)}`);
  await page.locator('[data-row]').last().getByText('You said').click();
  await page.getByRole('tab', { name: 'Model request' }).click();
  const piece = (i: number) => page.locator(`[data-piece="contents[${i}]"]`);
  const main = page.locator('#main');
  await piece(0).waitFor();
  expect(await nodes(main)).toBeLessThan(2500);
  const folded = piece(1).getByRole('treeitem').first();
  await folded.click();
  await expect.poll(() => folded.getAttribute('aria-expanded')).toBe('false');
  await page.getByRole('button', { name: 'Show the last part' }).click();
  await piece(2000).waitFor();
  expect(await piece(0).count()).toBe(0);
  const area = page.getByRole('tabpanel', { name: 'Model request' });
  const inView = () => piece(2000).evaluate((el) => el.getBoundingClientRect().top < innerHeight).catch(() => false);
  await expect.poll(inView).toBe(true);
  await expect.poll(async () => (await area.evaluate((el) => void (el.scrollTop = el.scrollHeight)), area.evaluate((el) => el.scrollHeight - el.clientHeight - el.scrollTop < 2))).toBe(true);
  await area.getByRole('heading', { name: 'answer' }).waitFor();
  expect(await nodes(main)).toBeLessThan(2500);
  await look(page, 'long request');
  await area.evaluate((el) => void (el.scrollTop = 0));
  await piece(0).waitFor();
  await expect.poll(() => folded.getAttribute('aria-expanded')).toBe('false');
});

test('steps of a run, and the next difference of two', async () => {
  const events = (other: boolean) => [
    { id: 'first', invocationId: 'r', author: 'user', timestamp: 1, content: { role: 'user', parts: [{ text: 'Count' }] }, actions: {} },
    ...list((i) => ({ id: `e-${i}`, invocationId: 'r', author: 'counter', timestamp: 2 + i, content: { role: 'model', parts: [{ text: `Number ${i}${other && (i === 400 || i === 900) ? ' or so' : ''}` }] }, actions: {} })),
  ];
  const page = await open('/ui/api');
  for (const id of ['a', 'b']) {
    await page.route(`**/apps/city/users/u/sessions/${id}`, json({ id, appName: 'city', userId: 'u', state: {}, events: events(id === 'b'), lastUpdateTime: 2000 }));
    await page.route(`**/apps/city/users/u/sessions/${id}/runs*`, json([{ ...run(0), id: 'r', sessionId: id }]));
  }
  const { origin } = new URL(page.url());
  await page.goto(`${origin}/ui/apps/city/users/u/compare?run=a/r&run=b/r`);
  await page.getByText('2 steps differ').waitFor();
  expect(await nodes(page.locator('#main'))).toBeLessThan(2500);
  const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '');
  for (const [key, number] of [['j', 400], ['j', 900], ['j', 400], ['k', 900], ['k', 400]] as const) {
    await page.keyboard.press(key);
    await expect.poll(focused).toContain(`Number ${number}`);
  }
  expect(await nodes(page.locator('#main'))).toBeLessThan(2500);
});
