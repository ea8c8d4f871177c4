// Formulas in answers. What a model says is hostile until it is proven otherwise.
import { expect, test } from 'vitest';

import { call, fresh, open, picture, sessionPath, useBrowser } from './kit';
import { accessible, all } from './axe';

useBrowser();

const good = `Euler found $e^{i\\pi} + 1 = 0$, which costs $5 or $10, and \\(a_1^2 + b_2\\). In code, \`$x$\` stays.

$$
\\int_0^\\infty e^{-x^2}\\,dx = \\frac{\\sqrt{\\pi}}{2}
$$

\\[ \\begin{pmatrix} a & b \\\\ c & d \\end{pmatrix} \\vec{v} = \\sum_{k=1}^{n} \\binom{n}{k} x^k y^{n-k} + \\underbrace{1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12 + 13 + 14 + 15}_{\\text{many}} \\]`;

const hostile = [
  '\\href{javascript:alert(1)}{x}', '\\url{javascript:alert(1)}', '\\includegraphics{https://evil.example/x.png}', '\\htmlStyle{position:fixed}{x}',
  '\\htmlData{a=b}{x}', '\\def\\a{\\a\\a}\\a', '\\frac{1', '\\text{<img src=x onerror=alert(1)>', '\\unknown',
];
// These are set, and do no harm.
const tame = ['\\text{<script>window.owned=1</script>}', '\\rule{99999em}{99999em}', '\\color{red}{x}'];

async function show(text: string, options: Parameters<typeof open>[1] = {}) {
  const path = sessionPath('city', fresh('euler'), 's');
  const events = [['user', 'Show it.'], ['weather_agent', text]].map(([author, said]) => ({ author, invocationId: 'e-1', content: { role: author === 'user' ? 'user' : 'model', parts: [{ text: said }] } }));
  await call('POST', path.replace(/\/s$/, ''), { sessionId: 's', events });
  const page = await open(`/ui${path}`, options);
  await page.locator('[data-formula]').first().waitFor();
  return page;
}

test('formulas are set, and prices and code are not', async () => {
  for (const [name, options] of Object.entries({ desktop: {}, dark: { theme: 'dark' as const }, tablet: { width: 820, height: 1100 }, phone: { width: 390, height: 844 }, 'phone-dark': { width: 390, height: 844, theme: 'dark' as const } })) {
    const page = await show(good, options);
    await expect.poll(() => page.locator('[data-formula=set] .katex').count()).toBe(4);
    expect(await page.locator('[data-formula=source]').count()).toBe(0);
    expect(await page.locator('[data-formula] .katex-display').count()).toBe(2);
    expect(await page.locator('.prose').last().innerText()).toContain('which costs $5 or $10, and');
    expect(await page.locator('.prose code').allInnerTexts()).toEqual(['$x$']);
    // It has the fonts, which are files of the server, and does not widen the page.
    await page.evaluate(() => document.fonts.ready);
    expect(await page.evaluate(() => document.fonts.check('16px KaTeX_Main'))).toBe(true);
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    await accessible(page, ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']);
    await picture(page, `formulas-${name}`);
  }
});

test('what is wider than the message shows that it scrolls, and scrolls with the keyboard', async () => {
  const table = `| ${'a wide column | '.repeat(12)}\n|${'---|'.repeat(12)}\n| ${'some_words | '.repeat(12)}`;
  const diagram = `\`\`\`mermaid\nflowchart LR\n${Array.from({ length: 14 }, (_, i) => `  n${i}[Step ${i}] --> n${i + 1}[Step ${i + 1}]`).join('\n')}\n\`\`\``;
  const long = '$\\frac{a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p + q + r + s + t + u + v + w + x + y}{z}$';
  for (const theme of ['light', 'dark'] as const) {
    // In a line, too, and without being cut.
    const inline = await show(`It is ${long} then, and $a$.`, { theme, width: 390, height: 844 });
    await expect.poll(() => inline.getByRole('group', { name: 'Formula' }).count()).toBe(1);
    expect(await inline.getByRole('group', { name: 'Formula' }).locator('..').getAttribute('data-more')).toBe('end');
    await picture(inline, `more-${theme}-inline`);
    await accessible(inline, all);
    // With enough room, nothing scrolls, and nothing says so.
    await inline.setViewportSize({ width: 1360, height: 860 });
    await expect.poll(() => inline.getByRole('group', { name: 'Formula' }).count()).toBe(0);
    expect(await inline.locator('[data-formula=set]').first().getAttribute('data-more')).toBe('');
    await inline.close();
    const code = `\`\`\`js\nconst words = ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];\n${'step();\n'.repeat(40)}\`\`\``;
    const page = await show(`${good}\n\n${table}\n\n${diagram}\n\n${code}`, { theme, width: 390, height: 844 });
    await page.locator('[data-diagram=drawn]').waitFor();
    const formula = page.getByRole('group', { name: 'Formula' });
    await expect.poll(() => formula.count(), { message: 'only the one that is too wide is a stop of the tab key' }).toBe(1);
    for (const box of [formula, page.getByRole('group', { name: 'Table' }), page.getByRole('group', { name: 'Diagram: flowchart' })]) {
      const sides = () => box.locator('..').getAttribute('data-more');
      const sign = (side: '::before' | '::after') => box.locator('..').evaluate((el, side) => getComputedStyle(el, side).display, side);
      await expect.poll(sides).toBe('end');
      expect([await sign('::before'), await sign('::after')]).toEqual(['none', 'flex']);
      await box.focus();
      await picture(page, `more-${theme}-${await box.getAttribute('aria-label')}`);
      await accessible(page, all);
      await page.keyboard.press('ArrowRight');
      await expect.poll(sides).toBe('both');
      await box.evaluate((el) => (el.scrollLeft = el.scrollWidth));
      await expect.poll(sides).toBe('start');
      expect([await sign('::before'), await sign('::after')]).toEqual(['flex', 'none']);
    }
    // Code scrolls both ways.
    const box = page.getByLabel('Code in js');
    const sides = () => box.locator('..').evaluate((el) => [el.dataset['more'], el.dataset['tall']]);
    await expect.poll(sides).toEqual(['end', 'end']);
    await box.focus();
    await picture(page, `more-${theme}-code`);
    await accessible(page, all);
    await box.evaluate((el) => el.scrollTo(20, 20));
    await expect.poll(sides).toEqual(['both', 'both']);
    await box.evaluate((el) => el.scrollTo(el.scrollWidth, el.scrollHeight));
    await expect.poll(sides).toEqual(['start', 'start']);
  }
});

test('whether a formula is too wide is measured again when the screen is turned', async () => {
  const page = await show('It is $\\frac{a + b + c + d + e + f + g + h + i + j + k + l + m + n + o + p + q + r + s + t + u + v + w + x + y}{z}$ then.');
  const box = page.getByRole('group', { name: 'Formula' });
  const display = () => page.locator('[data-formula=set]').evaluate((el) => getComputedStyle(el).display);
  await expect.poll(display).toBe('inline');
  for (const _ of [1, 2]) {
    await page.setViewportSize({ width: 390, height: 844 });
    await expect.poll(() => box.count()).toBe(1);
    expect(await box.locator('..').getAttribute('data-more')).toBe('end');
    expect(await page.locator('.prose').last().evaluate((el) => el.scrollWidth <= el.clientWidth)).toBe(true);
    await page.setViewportSize({ width: 1360, height: 860 });
    await expect.poll(display).toBe('inline');
    expect(await box.count()).toBe(0);
  }
});

test('what cannot be set is shown as it was written, and hostile formulas do nothing', async () => {
  const page = await show([...hostile, ...tame].map((f) => `- $${f}$`).join('\n'));
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  await expect.poll(() => page.locator('[data-formula=set]').count()).toBe(tame.length);
  expect(await page.locator('[data-formula=source]').allInnerTexts()).toEqual(hostile);
  expect(await page.locator('[data-formula] :is(a, img, script, iframe)').count()).toBe(0);
  expect(await page.evaluate(() => 'owned' in window)).toBe(false);
  expect(asked.filter((url) => url.includes('evil'))).toEqual([]);
  // A size is bounded.
  expect(await page.locator('[data-formula]').evaluateAll((all) => Math.max(...all.map((one) => one.getBoundingClientRect().height)))).toBeLessThan(2000);
  await picture(page, 'formulas-hostile');
});
