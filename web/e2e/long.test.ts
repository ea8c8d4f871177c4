// Lists with a thousand items have in the document what can be seen of them.
import type { Page, Route } from 'playwright-core';
import { expect, test } from 'vitest';

import { look } from './axe';
import { open, toEnd, useBrowser } from './kit';

useBrowser();

const many = 1000;
const list = <T>(make: (i: number) => T) => Array.from({ length: many }, (_, i) => make(i));
const run = (i: number) => ({ id: `run-${i}`, appName: 'city', userId: 'u', sessionId: `s-${i}`, status: 'completed', createTime: 1000 - i, startTime: 1000 - i, endTime: 1001 - i });
const sum = (i: number) => ({ day: '2026-01-01', appName: 'city', userId: `user-${i}`, runs: 1, promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: many - i, models: [] });
const call = { id: 'c', name: 'adk_request_confirmation', args: { originalFunctionCall: { id: 'x', name: 'refund', args: {} }, toolConfirmation: { hint: 'May it?' } } };
const entry = (i: number) => ({ id: `e-${i}`, appName: 'approval', userId: 'u', sessionId: `talk-${i}`, runId: 'r', agent: 'a', kind: 'confirmation', tool: 'refund', message: 'May it?', since: '2026-01-01T00:00:00Z', answer: 'user', mayAnswer: true, call });
const opinion = (i: number) => ({ userId: 'u', sessionId: `s-${i}`, runId: `r-${i}`, author: 'u', rating: 'up', message: `Question ${i}`, timestamp: many - i });
const memory = (i: number) => ({ id: `m-${i}`, eventId: 'e', author: 'u', timestamp: 1, content: { parts: [{ text: `Remembered ${i}, ${'with more words '.repeat((i % 5) * 10)}` }] } });

const lists: { name: string; path: string; answers: string | ((url: URL) => boolean); json: unknown; first: string; last: string }[] = [
  { name: 'runs', path: 'apps/city/users/u/runs', answers: '**/dev/apps/city/users/u/runs?*', json: list(run), first: 's-0', last: `s-${many - 1}` },
  { name: 'users in usage', path: 'usage', answers: '**/usage?*groupBy=*', json: list(sum), first: 'user-0', last: `user-${many - 1}` },
  { name: 'entries of the inbox', path: 'inbox', answers: '**/inbox?*', json: list(entry), first: 'talk-0', last: `talk-${many - 1}` },
  { name: 'feedback', path: 'apps/city/feedback', answers: (url) => url.pathname === '/apps/city/feedback', json: list(opinion), first: 'Question 0', last: `Question ${many - 1}` },
  { name: 'memories', path: 'apps/city/users/u/memory', answers: '**/users/u/memory?*', json: list(memory), first: 'Remembered 0,', last: `Remembered ${many - 1},` },
  { name: 'evaluation sets', path: 'apps/city/evals', answers: '**/apps/city/eval_sets', json: list((i) => `set-${i}`), first: 'set-0', last: `set-${many - 1}` },
];

const nodes = (page: Page) => page.evaluate(() => document.querySelectorAll('#main *').length);
const json = (body: unknown) => (route: Route) => route.fulfill({ json: body });

for (const { name, path, answers, json: body, first, last } of lists) {
  test(`${name}`, async () => {
    const page = await open('/ui/api');
    await page.route(answers, json(body));
    await page.goto(`${new URL(page.url()).origin}/ui/${path}`);
    const item = (text: string) => page.locator('#main').getByText(text).first();
    await item(first).waitFor();
    expect(await nodes(page)).toBeLessThan(2500);
    await expect.poll(async () => (await toEnd(page), item(last).count())).toBe(1);
    expect(await item(first).count()).toBe(0);
    expect(await nodes(page)).toBeLessThan(2500);
    await look(page, `long ${name}`);
    await page.locator('#main').evaluate((el) => void (el.scrollTop = 0));
    await item(first).waitFor();
  });
}

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
  expect(await nodes(page)).toBeLessThan(2500);
  const focused = () => page.evaluate(() => document.activeElement?.textContent ?? '');
  for (const [key, number] of [['j', 400], ['j', 900], ['j', 400], ['k', 900], ['k', 400]] as const) {
    await page.keyboard.press(key);
    await expect.poll(focused).toContain(`Number ${number}`);
  }
  expect(await nodes(page)).toBeLessThan(2500);
});
