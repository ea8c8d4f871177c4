import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Checks a page for barriers, by these rules of axe. */
export async function accessible(page: Page, rules: string[]) {
  // It is not a script of the page, so its policy does not apply.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe);
  const found = await page.evaluate(async (rules) => {
    const result = await (window as never as { axe: { run(o: unknown): Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }> } }).axe.run({
      runOnly: rules,
    });
    return result.violations.map((v) => `${v.id}: ${v.nodes.map((n) => `${n.html.slice(0, 160)} ${n.failureSummary}`).slice(0, 3).join(' | ')}`);
  }, rules);
  expect(found, 'axe').toEqual([]);
}
