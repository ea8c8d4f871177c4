import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';

import { look } from './axe';
import { fresh, open, picture, pull, session, useBrowser } from './kit';

useBrowser();

const status = (page: Page, node: string) => page.locator(`[data-node=${node}]`).getAttribute('data-status');
const statuses = async (page: Page) => Object.fromEntries(await page.locator('[data-node]').evaluateAll((all) => all.map((n) => [n.getAttribute('data-node')!, n.getAttribute('data-status')!])));
const taken = (page: Page) => page.locator('[data-edge]').evaluateAll((all) => all.filter((e) => e.getAttribute('data-taken') !== '0').map((e) => e.getAttribute('data-edge')!));

async function say(page: Page, text: string) {
  await page.getByLabel('Message').fill(text);
  await page.keyboard.press('Enter');
}

test('a workflow is drawn while it runs: nodes, routes, attempts', async () => {
  const gate = fresh('gate');
  const page = await open(await session('press', 'flow', fresh('s')));
  await expect.poll(() => status(page, 'plan')).toBe('idle');
  await say(page, `print, gate ${gate}`);
  await expect.poll(() => status(page, 'plan')).toBe('active');
  expect(await statuses(page)).toMatchObject({ plan: 'active', write: 'idle', review: 'idle', publish: 'idle' });
  await picture(page, 'workflow-begun-light');
  await pull(`open/${gate}-plan`);
  // The first attempt of publish fails; the second one waits.
  await expect.poll(() => page.locator('[data-node=publish]').getAttribute('data-attempt')).toBe('2');
  expect(await statuses(page)).toEqual({ plan: 'done', write: 'done', review: 'done', spelling: 'done', style: 'done', both: 'done', publish: 'active', archive: 'idle', discard: 'idle' });
  await page.getByRole('button', { name: 'write function for each item: done, has run 3 nodes' }).waitFor();
  await look(page, 'workflow-active');
  // A page that comes later sees what is active.
  await page.reload();
  await expect.poll(() => status(page, 'publish')).toBe('active');
  await pull(`open/${gate}-publish`);
  await expect.poll(() => status(page, 'archive')).toBe('done');
  await expect.poll(() => status(page, 'discard')).toBe('skipped');
  expect(await taken(page)).toContain('publish>archive');
  expect(await taken(page)).not.toContain('publish>discard');
  // It can be read as a list, and leads to the events.
  await page.getByText('nodes as a list').click();
  await page.locator('[data-listed=publish]').getByText('done, attempt 2 of 3, route good').first().waitFor();
  await expect.poll(() => page.getByRole('region', { name: 'Workflow' }).locator('..').getAttribute('data-tall'), { message: 'it shows that it scrolls' }).not.toBe('');
  await look(page, 'workflow-done');
  await page.locator('[data-node=publish]').focus();
  await page.keyboard.press('Enter');
  await page.getByRole('tab', { name: 'Actions' }).waitFor();
  await page.getByRole('button', { name: 'timeline', exact: true }).click();
  await page.getByLabel('Timeline').waitFor();
});

test('a node that fails is shown with the reason', async () => {
  const page = await open(await session('press', 'flow', fresh('s')));
  await say(page, 'print and fail');
  await expect.poll(() => status(page, 'publish')).toBe('failed');
  await page.getByRole('button', { name: 'publish function: failed, attempt 3 of 3, the paper is jammed' }).waitFor();
  await expect.poll(() => status(page, 'archive')).toBe('skipped');
  // What has failed is in view, and not below the edge that fades.
  const below = () => page.locator('[data-node=publish]').evaluate((node) => node.closest('[role=region]')!.getBoundingClientRect().bottom - node.getBoundingClientRect().bottom);
  await expect.poll(below).toBeGreaterThan(20);
  await look(page, 'workflow-failed');
});

test('a question of a node is answered from the workflow', async () => {
  const page = await open(await session('desk', 'flow', fresh('s'), 'Refund 80 euros'));
  await expect.poll(() => status(page, 'refund')).toBe('waiting');
  expect(await statuses(page)).toEqual({ classify: 'done', urgency: 'skipped', product: 'skipped', refund: 'waiting', reply: 'skipped', found: 'skipped', report: 'skipped' });
  await page.locator('[data-question=refund]').getByText('May 80 euros be paid back?').waitFor();
  await look(page, 'workflow-waiting');
  await page.getByRole('button', { name: 'Answer it' }).click();
  await expect.poll(() => page.evaluate(() => document.activeElement?.closest('[data-pending]')?.getAttribute('data-pending'))).toBe('input');
  await page.keyboard.type('yes');
  await page.getByRole('button', { name: 'Submit', exact: true }).click();
  await page.getByText('80 euros are on their way back.').first().waitFor();
  await expect.poll(() => status(page, 'refund')).toBe('done');
  expect(await status(page, 'classify')).toBe('done');
  await page.locator('[data-question]').waitFor({ state: 'detached' });
});

test('the routes of a past run, on a small screen', async () => {
  const page = await open(await session('desk', 'flow', fresh('s'), 'My kettle is broken'), { width: 400, height: 800 });
  await page.getByRole('tab', { name: 'Run' }).click();
  await expect.poll(() => status(page, 'report')).toBe('done');
  expect((await taken(page)).sort()).toEqual(['>classify', 'classify>urgency', 'classify>product', 'urgency>found', 'product>found', 'found>report'].sort());
  expect(await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth), 'scrolls sideways').toBe(false);
  // The run can be seen and chosen there, too.
  expect((await page.getByRole('combobox', { name: /^run/ }).boundingBox())!.width).toBeGreaterThan(100);
  await look(page, 'workflow-phone');
});

test('the graph of an application', async () => {
  const page = await open('/ui/apps/press');
  await expect.poll(() => page.locator('[data-node]').count()).toBe(11); // the nested workflow has a section, too
  await look(page, 'workflow-app');
});

test('code and its result', async () => {
  const page = await open(await session('coder', 'flow', fresh('s'), 'compute', 'compute and fail'));
  await page.locator('[data-outcome=OUTCOME_OK]').getByText('12').waitFor();
  await expect.poll(() => page.locator('[data-code=python]').first().textContent()).toContain('print(x * 4)');
  await page.locator('[data-outcome=OUTCOME_FAILED]').getByText('ZeroDivisionError').waitFor();
  await look(page, 'code');
});
