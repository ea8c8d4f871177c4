import { expect, test } from 'vitest';

import { accessible } from './axe';
import { base, open, picture, useBrowser } from './kit';

useBrowser();

const guide = '/docs/guide/';

test('the search finds a page, by the keyboard alone', async () => {
  const page = await open(guide);
  await page.keyboard.press('/');
  await page.keyboard.type('idempotency key');
  await page.getByRole('option').first().waitFor();
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  const first = page.getByRole('option', { selected: true });
  expect(await first.textContent()).toMatch(/idempotency/i);
  const href = await first.getAttribute('href');
  await page.keyboard.press('Enter');
  await page.waitForURL(`${base}${guide}${href}`);
  await page.getByRole('heading', { level: 1 }).waitFor();

  await page.getByRole('combobox').fill('xyzzyplugh');
  await page.getByText('No page has these words.').waitFor();
  await page.keyboard.press('Escape');
  expect(await page.getByText('No page has these words.').isVisible()).toBe(false);
});

test('the theme is that of the UI', async () => {
  const page = await open(guide);
  const theme = () => page.evaluate(() => document.documentElement.dataset['theme']);
  expect(await theme()).toBe('light');
  await page.getByRole('button', { name: 'Switch between light and dark' }).click();
  expect(await theme()).toBe('dark');
  await page.goto(`${base}/ui/`);
  expect(await theme()).toBe('dark');
});

test('code is highlighted', async () => {
  const page = await open(`${guide}agents-go.html`);
  expect(await page.locator('pre .hljs-keyword').count()).toBeGreaterThan(10);
});

for (const [device, width] of [['desk', 1360], ['phone', 390]] as const) {
  test(`pages on a ${device}`, async () => {
    const page = await open(guide, { width, height: 844 });
    for (const name of ['index', 'cli', 'api', 'operations', 'agents-go']) {
      await page.goto(`${base}${guide}${name}.html`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth), `${name} is too wide`).toBeLessThanOrEqual(0);
      // The page is in view in the list of pages, and code is not indented as a whole.
      if (device === 'desk') expect(await page.locator('nav [aria-current]').evaluate((el) => el.getBoundingClientRect().bottom < innerHeight), name).toBe(true);
      expect(await page.locator('pre').evaluateAll((all) => all.filter((pre) => pre.textContent!.split('\n').every((line) => line === '' || /^\s/.test(line))).length), name).toBe(0);
      await picture(page, `guide-${name}-${device}-light`);
      await accessible(page, ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']);
      await page.evaluate(() => (document.documentElement.dataset['theme'] = 'dark'));
      await picture(page, `guide-${name}-${device}-dark`);
      await accessible(page, ['color-contrast']);
    }
    if (device === 'phone') {
      expect(await page.getByRole('navigation').isVisible()).toBe(false);
      await page.getByRole('button', { name: 'Menu' }).click();
      await page.getByRole('navigation').getByRole('link', { name: 'Models' }).click();
      await page.waitForURL(`${base}${guide}models.html`);
    }
  });
}
