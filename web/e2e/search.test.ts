import { expect, test } from 'vitest';

import { lookAtAll } from './axe';
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

test('what other users said is found when it is asked for', async () => {
  const [ann, bob, eve] = [fresh('ann'), fresh('bob'), fresh('eve')];
  const word = `quagga${process.pid}`;
  await session('city', ann, 'own', 'Hello');
  await session('city', bob, 'zoo', `Have you seen the ${word}?`);
  await session('city', eve, 'many', ...Array.from({ length: 6 }, (_, i) => `One more ${word}, number ${i}`));
  const page = await open(`/ui/apps/city/users/${ann}/sessions?q=${word}`);
  await page.getByText('No matches in what was said').waitFor();
  await page.getByRole('button', { name: 'Search the sessions of other users' }).click();
  const found = page.getByRole('region', { name: 'Said in sessions of other users' });
  // Five of each user are shown; a link leads to the others.
  await found.getByRole('region', { name: eve }).getByRole('link', { name: /show all$/ }).waitFor();
  expect(await found.getByRole('region', { name: eve }).locator('[data-hit]').count()).toBe(5);
  await found.getByText(/other users, those with the newest runs/).waitFor();
  await lookAtAll(page, 'sessions-others');
  // The address has it, for others and for saved links.
  await page.reload();
  await found.getByRole('region', { name: bob }).getByRole('link').filter({ hasText: 'Have you seen the' }).last().click();
  await page.waitForURL(new RegExp(`/users/${bob}/sessions/zoo\\?event=\\w+$`));
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
