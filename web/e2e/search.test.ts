import { expect, test } from 'vitest';

import { call, fresh, open, palette, session, sessionPath, useBrowser } from './kit';

useBrowser();

test('what was said is found, and opens where it was said', async () => {
  const user = fresh('seeker');
  await session('city', user, 'one', 'What is the weather in Oslo?', 'And in Lima?', 'Bye for now');
  await session('city', user, 'two', 'Hello');
  const page = await open(`/ui/apps/city/users/${user}/sessions`);
  await page.getByRole('link', { name: 'Hello' }).waitFor();
  // It is neither in the title nor in the last text.
  await page.getByLabel('Search sessions').fill('and in lim');
  const found = page.getByRole('region', { name: 'Said in sessions' });
  const hit = found.getByRole('link').filter({ hasText: 'user in What is the weather in Oslo?' });
  await hit.waitFor();
  expect(await hit.locator('mark').allTextContents()).toEqual(['And', 'in', 'Lima']);
  await hit.click();
  await page.waitForURL(/\/sessions\/one\?event=\w+$/);
  await expect.poll(() => page.locator('article[aria-current]').textContent()).toContain('And in Lima?');
  await page.goBack();
  // Words that were not said.
  await page.getByLabel('Search sessions').fill('"lima in"');
  await found.getByText('No matches in what was said').waitFor();
  // The palette finds it, too.
  await palette(page);
  await page.getByPlaceholder('Go to, or do').fill('now');
  await page.getByRole('option').filter({ hasText: 'Bye for now' }).last().click();
  await page.waitForURL(/\/sessions\/one/);
});

test('searches are saved in the browser', async () => {
  const user = fresh('saver');
  await session('city', user, 'one', 'What is the weather in Oslo?');
  await session('city', user, 'two', 'Hello');
  const page = await open(`/ui/apps/city/users/${user}/sessions?q=hello`);
  await page.getByRole('button', { name: 'Save this search' }).click();
  await page.getByLabel('Search sessions').fill('');
  await expect.poll(() => page.locator('tbody tr').count()).toBe(2);
  await page.reload();
  const saved = page.getByRole('group', { name: 'Saved searches' });
  await saved.getByRole('button', { name: 'hello' }).click();
  await expect.poll(() => page.locator('tbody tr').count()).toBe(1);
  await saved.getByRole('button', { name: 'Delete this search' }).click();
  await page.getByLabel('Search sessions').fill('');
  await expect.poll(() => saved.count()).toBe(0);
});

test('a change of the state by another client appears', async () => {
  const user = fresh('patched');
  const page = await open(await session('city', user, 's', 'Hello'));
  await page.getByRole('tab', { name: 'State now' }).click();
  await page.getByText('celsius').first().waitFor();
  await call('PATCH', sessionPath('city', user, 's'), { stateDelta: { unit: 'kelvin', __session_metadata__: { displayName: 'Renamed elsewhere' } } });
  await page.getByText('kelvin').first().waitFor();
  await page.getByRole('heading', { name: 'Renamed elsewhere' }).waitFor();
});
