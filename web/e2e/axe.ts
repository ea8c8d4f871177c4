import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

import { picture } from './kit';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Checks a page for barriers, by these rules of axe. */
export async function accessible(page: Page, rules: string[]) {
  // It is not a script of the page, so its policy does not apply.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe);
  const found = await page.evaluate(async (rules) => {
    const result = await (window as never as { axe: { run(o: unknown): Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }> } }).axe.run({
      runOnly: rules,
      // All that is done with it is to list violations. The frame that draws diagrams is not shown.
      resultTypes: ['violations'],
      preload: false,
      iframes: false,
    });
    return result.violations.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.html.slice(0, 160)} ${n.failureSummary}`).slice(0, 3).join(' | ')}`);
  }, rules);
  expect(found, 'axe').toEqual([]);
}

/** The rules for what can be in any theme and of any size. */
export const all = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'];

/** Shows a page in a theme, regardless of the one that is chosen. */
export const inTheme = (page: Page, theme: 'light' | 'dark') => page.evaluate((theme) => (document.documentElement.dataset['theme'] = theme), theme);

/** Takes pictures of a screen in both themes, and checks it: by all rules in one, and in the other by those that look at colours. */
export async function look(page: Page, name: string) {
  await inTheme(page, 'light');
  await picture(page, `${name}-light`);
  await accessible(page, all);
  await inTheme(page, 'dark');
  await picture(page, `${name}-dark`);
  await accessible(page, ['color-contrast', 'link-in-text-block']);
  await inTheme(page, 'light');
}

export const sizes = [['desktop', 1360, 860], ['phone', 390, 844]] as const;

/** Looks at a screen of one of the sizes, at that of the desktop also as it is on a tablet. Nothing is wider than the screen. */
export async function lookAt(page: Page, name: string, size: (typeof sizes)[number][0]) {
  const fits = async () => expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 'scrolls sideways').toBeLessThanOrEqual(0);
  await look(page, `${name}-${size}`);
  await fits();
  if (size !== 'desktop') return;
  const before = page.viewportSize()!;
  await page.setViewportSize({ width: 820, height: 1100 });
  await look(page, `${name}-tablet`);
  await fits();
  await page.setViewportSize(before);
}

/** Looks at a screen in all sizes. */
export async function lookAtAll(page: Page, name: string) {
  const before = page.viewportSize()!;
  for (const [size, width, height] of sizes) {
    await page.setViewportSize({ width, height });
    await lookAt(page, name, size);
  }
  await page.setViewportSize(before);
}
