import { renderToStaticMarkup } from 'react-dom/server';
import { expect, test } from 'vitest';

import { tokensOf } from './highlight';
import { Markdown } from './markdown';

const html = (text: string) => renderToStaticMarkup(<Markdown text={text} />);

test('tables, lists and code', () => {
  expect(html('| a |\n|---|\n| b |')).toContain('<td>b</td>');
  expect(html('`x`')).toContain('<code>x</code>');
  const block = html('```ts\nconst a = \"<b>\";\n```');
  expect(block).toContain('data-code="ts"');
  expect(block).toContain('const a = &quot;&lt;b&gt;&quot;;</code>');
  expect(html('- [x] done\n- [ ] open')).toMatch(/☑.*done.*☐.*open/s);
});

test('a diagram is source until it is drawn, and is not drawn while more of it comes', () => {
  const text = '```mermaid\nflowchart LR\n  A-->B\n```';
  expect(html(text)).toMatch(/data-diagram="source".*data-code="mermaid".*A--&gt;B/s);
  expect(renderToStaticMarkup(<Markdown text={text} live />)).not.toContain('data-diagram');
});

test('code is coloured, as far as its language is known', () => {
  const [keyword, ...rest] = tokensOf('const a = "<b>";', 'ts')!;
  expect(keyword).toMatchObject({ scope: 'keyword', children: ['const'] });
  expect(JSON.stringify(rest)).toContain('<b>'); // as text, which React escapes
  expect(tokensOf('x', 'klingon')).toBeUndefined();
});

test.each([
  '<script>alert(1)</script>',
  '<img src=x onerror=alert(1)>',
  '[x](javascript:alert(1))',
  '![x](javascript:alert(1))',
  '<a href="javascript:alert(1)">x</a>',
  '[x](data:text/html;base64,PHNjcmlwdD4=)',
  '<iframe src="https://evil.example"></iframe>',
])('%s does nothing', (text) => {
  const out = html(text);
  expect(out).not.toMatch(/<(script|iframe|img)|(href|src)="(javascript|data):/);
});

test('pictures from elsewhere are not fetched', () => {
  expect(html('![cat](https://example.com/cat.png)')).not.toContain('<img');
});
