import { expect, test } from 'vitest';

import { accessible } from './axe';
import { call, fresh, open, picture, session, sessionPath, useBrowser } from './kit';

useBrowser();

const all = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'];

test.each([
  ['desktop', 1360, 860], ['tablet', 820, 1100], ['phone', 390, 844],
] as const)('what is remembered, on a %s', async (size, width, height) => {
  const user = fresh('known');
  await session('workshop', user, 'trip', 'I live in Oslo and like trains.', 'My sister lives in Rome.');
  await call('PATCH', `/apps/workshop/users/${user}/memory`, { sessionId: 'trip' });
  const page = await open(`/ui/apps/workshop/users/${user}/memory`, { width, height });
  const rows = page.locator('[data-memory]');
  await page.getByText('I live in Oslo and like trains.').waitFor();
  expect(await rows.count()).toBe(4);
  for (const theme of ['light', 'dark']) {
    await page.evaluate((theme) => (document.documentElement.dataset['theme'] = theme), theme);
    await picture(page, `memory-${size}-${theme}`);
    await accessible(page, all);
  }
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);

  const search = page.getByRole('searchbox', { name: 'Search the memory' });
  await search.fill('sister rome');
  await expect.poll(() => rows.count()).toBe(1);
  await search.fill('nothing');
  await page.getByText('Nothing is remembered with these words').waitFor();
  await page.getByRole('button', { name: 'Show everything' }).click();

  await rows.filter({ hasText: 'Oslo' }).getByRole('button', { name: 'Edit' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('text').fill('I live in Bergen.');
  if (size === 'desktop') await picture(page, 'memory-edit-light');
  await accessible(page, all);
  await dialog.getByRole('button', { name: 'Save' }).click();
  await page.getByText('I live in Bergen.').waitFor();

  await rows.filter({ hasText: 'Bergen' }).getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await expect.poll(() => rows.count()).toBe(3);
  await page.getByRole('button', { name: 'Forget everything' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Forget everything' }).click();
  await page.getByText(`Nothing is remembered of ${user}`).waitFor();
  await picture(page, `memory-empty-${size}`);
  await accessible(page, all);
});

test('an instruction shows what came from the state', async () => {
  const user = fresh('known');
  await call('POST', sessionPath('workshop', user, 'trip'), { state: { 'user:name': 'Zoë 😀', topic: 'a week in Rome' } });
  await call('POST', '/run', { appName: 'workshop', userId: user, sessionId: 'trip', newMessage: { parts: [{ text: 'Plan it' }] } });
  const page = await open('/ui' + sessionPath('workshop', user, 'trip'));
  await page.locator('[data-bar=model]').last().click();
  await page.getByRole('tab', { name: 'Model request' }).click();
  const text = page.locator('[data-instruction]');
  await text.locator('mark[data-key="user:name"]', { hasText: 'Zoë 😀' }).waitFor();
  expect(await text.locator('mark[data-key=topic]').textContent()).toBe('a week in Rome');
  await page.getByText('user state').waitFor();
  for (const theme of ['light', 'dark']) {
    await page.evaluate((theme) => (document.documentElement.dataset['theme'] = theme), theme);
    await picture(page, `instruction-${theme}`);
    await accessible(page, all);
  }
  await page.getByRole('button', { name: 'Show the template' }).click();
  expect(await text.textContent()).toBe('You plan journeys for {user:name?}.\nThe latest topic is {topic?}. Answer briefly.');
});
