import { expect, test } from 'vitest';

import { accessible, all, lookAt, sizes } from './axe';
import { call, fresh, open, picture, session, sessionPath, useBrowser } from './kit';

useBrowser();

test.each(sizes)('the inbox, on a %s', async (size, width, height) => {
  const user = fresh('clerk');
  await session('approval', user, 'one', 'Refund 80');
  await session('approval', user, 'two', 'Refund 90');
  await session('calendar', user, 'three', 'What is on?');
  const page = await open(`/ui/inbox?user=${user}`, { width, height });
  const entries = page.locator('[data-entry]');
  await expect.poll(() => entries.count()).toBe(3);
  const first = entries.first();
  await first.getByText(`approval · ${user}`).waitFor();
  await first.getByText('ends in 7 days').waitFor();

  // Filters are in the address.
  await page.getByLabel('Kind').selectOption('login');
  await expect.poll(() => entries.count()).toBe(1);
  expect(page.url()).toContain('kind=login');
  await page.getByRole('button', { name: 'Log in', exact: true }).waitFor();
  await page.getByLabel('Kind').selectOption('');
  await expect.poll(() => entries.count()).toBe(3);

  // It is assigned to a person.
  await first.getByRole('button', { name: 'Assign' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('person').fill('ann');
  await accessible(page, all);
  await dialog.getByRole('button', { name: 'Assign' }).click();
  await first.getByText('assigned to ann').waitFor();
  await lookAt(page, 'inbox', size);

  // It is answered here, and by a link.
  await first.getByRole('button', { name: 'Approve' }).click();
  await expect.poll(() => entries.count()).toBe(2);
  await expect.poll(async () => JSON.stringify(await call('GET', sessionPath('approval', user, 'one')))).toContain('80 euros are on their way back.');
  await entries.first().getByRole('button', { name: 'Link' }).click();
  const link = await dialog.getByRole('textbox').inputValue();
  if (size === 'desktop') await picture(page, 'inbox-link-light');
  await accessible(page, all);
  await dialog.getByRole('button', { name: 'Close' }).first().click();
  const other = await open(new URL(link).pathname + new URL(link).search, { width, height, theme: size === 'phone' ? 'dark' : 'light' });
  await other.getByRole('heading', { name: 'May refund_order be called?' }).waitFor();
  await picture(other, `inbox-page-${size}`);
  await accessible(other, all);
  await other.getByLabel('Reason').fill('too much');
  await other.getByRole('button', { name: 'Reject' }).click();
  await other.getByRole('heading', { name: 'Thank you' }).waitFor();
  await expect.poll(() => entries.count()).toBe(1);
  await expect.poll(async () => JSON.stringify(await call('GET', sessionPath('approval', user, 'two')))).toContain('too much');
});

test('the keyboard leads to the inbox', async () => {
  const page = await open('/ui/usage');
  await page.locator('main h1').waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('i');
  await expect.poll(() => page.url()).toContain('/ui/inbox');
});

test('the inbox has all pages', async () => {
  const user = fresh('clerk');
  await session('approval', user, 'one', 'Refund 80');
  await session('approval', user, 'two', 'Refund 90');
  const page = await open('/ui/usage');
  // Pages of one entry.
  await page.route('**/inbox?*', (route) => route.continue({ url: route.request().url().replace('pageSize=100', 'pageSize=1') }));
  await page.goto(`${new URL(page.url()).origin}/ui/inbox?user=${user}`);
  const entries = page.locator('[data-entry]');
  await expect.poll(() => entries.count()).toBe(1);
  await page.getByRole('button', { name: 'Show more' }).click();
  await expect.poll(() => entries.count()).toBe(2);
  await expect.poll(() => page.getByRole('button', { name: 'Show more' }).count()).toBe(0);
  // Both pages are up to date after an answer.
  await entries.last().getByRole('button', { name: 'Approve' }).click();
  await expect.poll(() => entries.count()).toBe(1);
});
