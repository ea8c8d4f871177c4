import { expect, test } from 'vitest';

import { formulaOf, hasMath, withMath } from './mathtext';

test.each([
  ['$e^{i\\pi}$', '$$e^{i\\pi}$$'],
  ['a \\(a_1\\) b', 'a $$a_1$$ b'],
  ['\\[ x\n\n= 1 \\]', '$$\\displaystyle x = 1$$'],
  ['$$\n\\frac{1}{2}\n$$', '$$\\displaystyle \\frac{1}{2}$$'],
  ['($x$), $y$.', '($$x$$), $$y$$.'],
])('%j is a formula', (text, want) => expect(withMath(text)).toBe(want));

test.each([
  '$5 and $10', 'from $5 to $10.', 'US$5 or A$6', '$HOME and $PATH', '$HOME/$USER', 'a $ b $ c', '\\$x\\$', '`$x$`', 'costs $10, `$x$`', '``a ` $x$``',
  '```sh\necho $x$ $$y$$\n```', '~~~\n\\(x\\)\n~~~', '```\nnot closed $x$', '$$$$', '\\\\(x', `$${'x'.repeat(3000)}$`,
])('%j is not', (text) => expect(withMath(text)).toBe(text));

test('what follows code is a formula again', () => {
  expect(withMath('```\n$a$\n```\n$b$')).toBe('```\n$a$\n```\n$$b$$');
});

test('a formula by itself, and one in a line', () => {
  expect(formulaOf('\\displaystyle x')).toEqual({ formula: 'x', block: true });
  expect(formulaOf('x')).toEqual({ formula: 'x', block: false });
});

test('long and hostile texts take no time', () => {
  expect(hasMath('$x$'.repeat(100_000))).toBe(false);
  const began = process.cpuUsage().user;
  for (const text of ['\\['.repeat(50_000) + '\\]', '$'.repeat(150_000), '$a'.repeat(60_000), '` `` '.repeat(30_000), '$$ '.repeat(50_000), '```\n'.repeat(40_000)]) withMath(text);
  expect((process.cpuUsage().user - began) / 1e6).toBeLessThan(20);
});
