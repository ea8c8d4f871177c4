import { expect, test } from 'vitest';

import { accessible, all, look, lookAt, sizes } from './axe';
import { call, fresh, open, picture, session, sessionPath, useBrowser } from './kit';

useBrowser();

test.each(sizes)('what is remembered, on a %s', async (size, width, height) => {
  const user = fresh('known');
  await session('workshop', user, 'trip', 'I live in Oslo and like trains.', 'My sister lives in Rome.');
  await call('PATCH', `/apps/workshop/users/${user}/memory`, { sessionId: 'trip' });
  const page = await open(`/ui/apps/workshop/users/${user}/memory`, { width, height });
  const rows = page.locator('[data-memory]');
  await page.getByText('I live in Oslo and like trains.').waitFor();
  expect(await rows.count()).toBe(4);
  await lookAt(page, 'memory', size);

  const search = page.getByRole('searchbox', { name: 'Search the memory' });
  await search.fill('sister rome');
  await expect.poll(() => rows.count()).toBe(1);
  await search.fill('nothing');
  await page.getByText('No matches').waitFor();
  await page.getByRole('button', { name: 'Show all' }).click();

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
  await page.getByText(`No memories of ${user}`).waitFor();
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
  await look(page, 'instruction');
  await page.getByRole('button', { name: 'Show the template' }).click();
  expect(await text.textContent()).toBe('You plan journeys for {user:name?}.\nThe latest topic is {topic?}. Answer briefly.');
});
