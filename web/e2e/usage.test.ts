import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';

import { look, lookAt, sizes } from './axe';
import { call, fresh, open, session, useBrowser } from './kit';

useBrowser();

const known = 'gpt-5-mini-2025-08-07';
interface Run {
  costUsd?: number;
  unpricedTokens?: number;
}

const total = (page: Page) => page.locator('[data-total]').innerText();
const parts = (page: Page, by: string) => page.locator(`[data-usage=${by}] tbody tr`).allInnerTexts();

/** The price of the table: what the server has computed is what the screens show. */
async function priceOf(app: string, user: string, id: string): Promise<number> {
  const runs = await call<Run[]>('GET', `/apps/${app}/users/${user}/sessions/${id}/runs`);
  return Math.max(...runs.map((run) => run.costUsd ?? 0));
}

test.each(sizes)('sessions with what they have used, sorted, on a %s', async (size, width, height) => {
  const user = fresh('payer');
  await session('spender', user, 'mixed', known, 'a-local-model');
  await session('spender', user, 'known', known, known, known);
  await session('spender', user, 'local', 'a-local-model');
  await session('spender', user, 'none');
  const usd = await priceOf('spender', user, 'known');
  const page = await open(`/ui/apps/spender/users/${user}/sessions`, { width, height });
  const row = (id: string) => page.locator('tbody tr', { has: page.locator(`a[title=${id}]`) });
  const figures = (id: string) => row(id).locator(size === 'phone' ? '[data-figures]' : '[data-tokens]');
  const text = async (id: string) => (await figures(id).innerText()).replace(/\s+/g, ' ').trim();
  await expect.poll(() => text('known')).toContain(`$${(3 * usd).toFixed(4)}`);
  expect(await text('known')).toContain('3,000');
  expect(await text('mixed')).toContain(`$${usd.toFixed(5)} + 1,000 tokens without a price`);
  expect(await text('local')).toContain('cost unknown');
  expect(await text('local')).not.toContain('$');
  expect(await text('none')).toBe(size === 'phone' ? '0 events' : '');
  if (size === 'phone') expect(await text('known')).toContain('6 events · 3,000 tokens · $');
  await lookAt(page, 'sessions-used', size);
  const ids = () => page.locator('tbody a[title]').evaluateAll((links) => links.map((link) => link.getAttribute('title')));
  expect(await ids()).toEqual(['none', 'local', 'known', 'mixed']);
  await page.getByLabel('Sort').selectOption('most events first');
  await expect.poll(ids).toEqual(['known', 'mixed', 'local', 'none']);
  await page.getByLabel('Sort').selectOption('by title');
  await expect.poll(ids).toEqual(['local', 'known', 'mixed', 'none']);
  expect(new URL(page.url()).search).toBe('?sort=title');
  await page.reload();
  await expect.poll(ids).toEqual(['local', 'known', 'mixed', 'none']);
  await page.getByText('spender, by title.').waitFor();
  // Of some runs, and of some sessions, it says so.
  await page.route('**/dev/apps/spender/users/*/sessions*', async (route) => {
    const list = (await (await route.fetch()).json()) as object[];
    await route.fulfill({ headers: { Link: `</dev/apps/spender/users/${user}/sessions?pageToken=x>; rel="next"` }, json: list.map((one) => ({ ...one, usage: { runs: 20, more: true, totalTokenCount: 12345, costUsd: 0.5, unpricedTokens: 67 } })) });
  });
  await page.reload();
  await page.getByText('spender, by title, among the 4 loaded.').waitFor();
  await expect.poll(() => text('known')).toContain('in the newest 20 runs');
  await lookAt(page, 'sessions-used-much', size);
});

test.each(sizes)('usage with days and models, on a %s', async (size, width, height) => {
  const user = fresh('payer');
  const id = fresh('s');
  await session('spender', user, id, known, known, 'a-local-model');
  const usd = await priceOf('spender', user, id);
  expect(usd).toBeGreaterThan(0);
  const page = await open(`/ui/usage?app=spender&user=${user}`, { width, height });
  await expect.poll(() => total(page)).toContain('+ 1,000 tokens without a price');
  expect(await total(page)).toContain(`$${(2 * usd).toFixed(4)}`);
  expect(await total(page)).toContain('3,000 tokens · 3 runs');
  const models = await parts(page, 'model');
  expect(models[0]).toContain(known);
  expect(models[1]).toContain('a-local-model');
  expect(models[1]).toContain('unknown');
  expect(models[1]).not.toContain('$');
  expect(await parts(page, 'day')).toHaveLength(1);
  // By session, also of all users, and it leads there.
  await session('spender', user, 'other', 'a-local-model');
  await page.reload();
  await expect.poll(async () => (await parts(page, 'session')).length).toBe(2);
  const [most, least] = await parts(page, 'session');
  expect(most).toContain(id);
  expect(most).toContain(`$${(2 * usd).toFixed(4)}`);
  expect(most).not.toContain(user);
  expect(least).toContain('unknown');
  await lookAt(page, 'usage', size);
  await page.goto(new URL('/ui/usage?app=spender', page.url()).href);
  await page.locator('[data-usage=session] tbody tr', { hasText: `${id} · ${user}` }).getByRole('link').click();
  await expect.poll(() => page.url()).toContain(`/ui/apps/spender/users/${user}/sessions/${id}`);
  await page.goto(new URL(`/ui/usage?app=spender&user=${user}`, page.url()).href);
  await page.getByText('by session').waitFor();
  // The filters are in the address, and what is empty says so.
  await page.getByRole('button', { name: 'today' }).click();
  await expect.poll(() => page.url()).toContain('days=1');
  await page.getByRole('main').getByLabel('user').fill('another');
  await page.keyboard.press('Enter');
  await page.getByText('Nothing was used').waitFor();
  await page.getByRole('button', { name: 'Show all' }).click();
  await expect.poll(() => page.locator('[data-usage=application]').count()).toBe(1);
});

test('the cost of an event, a run and a session, and a notice', async () => {
  const user = fresh('payer');
  const id = fresh('s');
  const path = await session('spender', user, id, known, 'a-local-model');
  const usd = await priceOf('spender', user, id);
  const page = await open(path);
  const money = `$${usd.toFixed(usd < 0.001 ? 5 : 4)}`;
  await expect.poll(() => page.locator('[data-session-cost]').innerText()).toContain('2,000 tokens');
  expect(await page.locator('[data-session-cost]').innerText()).toContain('+ 1,000 tokens without a price');
  await page.getByText('Spent.').first().click();
  await page.getByRole('tab', { name: 'Tokens 1,000' }).click();
  const tokens = page.getByRole('tabpanel').filter({ hasText: 'this event' });
  await expect.poll(() => tokens.innerText()).toMatch(/cost with the prices of/);
  expect((await tokens.innerText()).split(money).length - 1).toBe(2); // of the event, and of the run
  await look(page, 'cost');
  // The warning comes when the cost of the day is reached, and once.
  for (let i = 0; i < 3; i++) await session('spender', user, fresh('s'), known);
  await page.reload();
  await page.getByText('there is a warning from $0.0010 on').waitFor();
  await page.reload();
  await page.locator('[data-session-cost]').waitFor();
  expect(await page.getByText('there is a warning from').count()).toBe(0);
});

test('the steps of a run and a comparison say what is unknown', async () => {
  const user = fresh('payer');
  const id = fresh('s');
  await session('spender', user, id, known, 'a-local-model');
  const usd = await priceOf('spender', user, id);
  const runs = await call<{ id: string; costUsd?: number }[]>('GET', `/apps/spender/users/${user}/sessions/${id}/runs`);
  const priced = runs.find((run) => run.costUsd)!.id;
  const other = runs.find((run) => !run.costUsd)!.id;
  const money = `$${usd.toFixed(usd < 0.001 ? 5 : 4)}`;
  const page = await open(`/ui/apps/spender/users/${user}/sessions/${id}/runs/${other}`);
  await page.locator('[data-totals]').getByText('cost unknown').waitFor();
  await page.locator('[data-step=text]').getByText('cost unknown').waitFor();
  await page.goto(`${new URL(page.url()).origin}/ui/apps/spender/users/${user}/sessions/${id}/runs/${priced}`);
  await page.locator('[data-totals]').getByText(money).waitFor();
  await page.locator('[data-step=text]').getByText(money).waitFor();
  await look(page, 'cost-steps');
  const of = (run: string) => `run=${encodeURIComponent(`${id}/${run}`)}`;
  await page.goto(`${new URL(page.url()).origin}/ui/apps/spender/users/${user}/compare?${of(priced)}&${of(other)}`);
  await expect.poll(() => page.locator('[data-fact=cost]').allInnerTexts()).toEqual([money, 'unknown: 1,000 tokens without a price']);
});
