import { expect, test } from 'vitest';

import { fresh, open, pull, session, useBrowser } from './kit';

useBrowser();

test('a message is answered piece by piece', async () => {
  const gate = fresh('gate');
  const page = await open(await session('teller', 'chat', fresh('s')));
  await page.getByLabel('Message').fill(`tell me, gate ${gate}`);
  await page.keyboard.press('Enter');
  const live = page.locator('[data-live]');
  await live.getByText('Once upon a time there was a').waitFor();
  expect(await page.getByText('never lost a word').count()).toBe(0);
  await page.locator('[data-bar=model]').waitFor();
  await pull(`open/${gate}`);
  await page.getByText('that never lost a word').waitFor();
  await live.waitFor({ state: 'detached' });
  expect(await page.locator('.prose strong').textContent()).toBe('server');
  expect(await page.locator('.prose table td').first().textContent()).toBe('log');
  expect(await page.locator('.prose a').getAttribute('rel')).toContain('noopener');
  expect(await page.locator('.prose script').count()).toBe(0);
  await page.getByText('completed', { exact: true }).first().waitFor();
});
