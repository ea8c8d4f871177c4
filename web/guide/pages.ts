// Reads the pages of docs/: Markdown in, HTML and searchable text out.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, normalize } from 'node:path';

import hljs from 'highlight.js/lib/common';
import MarkdownIt from 'markdown-it';

/** The part of a page below one heading. */
export interface Section {
  /** The address, relative to the site. */
  id: string;
  title: string;
  text: string;
}

export interface Heading {
  level: number;
  id: string;
  title: string;
}

export interface Page {
  /** The name of the file in docs/. */
  source: string;
  file: string;
  title: string;
  body: string;
  headings: Heading[];
  /** The pictures in docs/ that the page shows. */
  pictures: string[];
  sections: Section[];
}

export interface NavGroup {
  title: string;
  links: { file: string; title: string }[];
}

const repository = 'https://github.com/parley-run/parley';
const index = 'README.md';

export const fileOf = (source: string) => (source === index ? 'index.html' : source.replace(/\.md$/, '.html'));

/** The id that GitHub gives to a heading. */
export const slug = (title: string) => title.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(/\s/g, '-');

/** Where a link of a page leads in the site. Other files of the repository are on GitHub. */
export function target(href: string, exists: (source: string) => boolean): string {
  if (/^[a-z]+:|^#/.test(href)) return href;
  const [path, fragment] = href.split('#') as [string, string?];
  const name = normalize(path);
  const anchor = fragment === undefined ? '' : `#${fragment}`;
  if (name.startsWith('../')) return `${repository}/blob/main/${name.slice(3)}${anchor}`;
  if (!exists(name)) throw new Error(`${href} leads nowhere`);
  return (name.endsWith('.md') ? fileOf(name) : name) + anchor;
}

const highlight = (code: string, language: string) =>
  hljs.getLanguage(language) ? hljs.highlight(code, { language }).value : '';

/** Renders one page. */
export function render(source: string, markdown: string, exists: (source: string) => boolean): Page {
  const md = new MarkdownIt({ html: false, linkify: false, highlight });
  // Wide tables scroll by themselves.
  md.renderer.rules['table_open'] = () => '<div class="wide" tabindex="0"><table>\n';
  md.renderer.rules['table_close'] = () => '</table></div>\n';
  const file = fileOf(source);
  const tokens = md.parse(markdown.replaceAll(/<!--.*?-->\n*/gs, ''), {});
  const page: Page = { source, file, title: '', body: '', headings: [], pictures: [], sections: [] };
  const taken = new Map<string, number>();
  tokens.forEach((token, at) => {
    if (token.type === 'heading_open') {
      const title = textOf(tokens[at + 1]!.children ?? []);
      const level = Number(token.tag.slice(1));
      const count = taken.get(slug(title)) ?? 0;
      taken.set(slug(title), count + 1);
      const id = slug(title) + (count > 0 ? `-${count}` : '');
      token.attrSet('id', id);
      if (level === 1) page.title = title;
      else page.headings.push({ level, id, title });
      page.sections.push({ id: level === 1 ? file : `${file}#${id}`, title, text: '' });
    } else if (token.type === 'inline') {
      for (const child of token.children ?? []) {
        for (const name of ['href', 'src']) {
          const value = child.attrGet(name);
          if (value === null) continue;
          child.attrSet(name, target(value, exists));
          if (name === 'src') page.pictures.push(value);
        }
      }
      if (tokens[at - 1]!.type !== 'heading_open') add(page, textOf(token.children ?? []));
    } else if (token.type === 'th_open' || token.type === 'td_open') {
      // The security policy forbids styles in the text.
      const align = /text-align:(\w+)/.exec(token.attrGet('style') ?? '')?.[1];
      token.attrs = align ? [['class', align]] : null;
    } else if (token.type === 'fence' || token.type === 'code_block') {
      token.content = dedent(token.content);
      add(page, token.content);
    }
  });
  if (!page.title) throw new Error(`${source} has no title`);
  // What scrolls must be reachable by the keyboard.
  page.body = md.renderer.render(tokens, md.options, {}).replaceAll('<pre>', '<pre tabindex="0">');
  return page;
}

/** Code without what all of its lines begin with: that of an example is within a function. */
function dedent(code: string): string {
  const lines = code.split('\n').filter((line) => line.trim());
  let common = /^[ \t]*/.exec(lines[0] ?? '')![0];
  for (const line of lines) while (!line.startsWith(common)) common = common.slice(0, -1);
  return code.replaceAll(new RegExp(`^${common}`, 'gm'), '');
}

function add(page: Page, text: string) {
  const section = page.sections.at(-1);
  if (section) section.text += `${section.text && ' '}${text.replaceAll(/\s+/g, ' ').trim()}`;
}

const textOf = (tokens: { content: string; type: string }[]): string =>
  tokens.map((token) => (token.type === 'softbreak' ? ' ' : token.content)).join('');

/** The groups of the index, and the pages that each lists. */
export function navOf(markdown: string, titles: Map<string, string>): NavGroup[] {
  const groups: NavGroup[] = [{ title: 'Start', links: [{ file: fileOf(index), title: titles.get(index)! }] }];
  for (const line of markdown.split('\n')) {
    const heading = /^## (.*)/.exec(line)?.[1];
    if (heading) groups.push({ title: heading, links: [] });
    for (const [, name] of line.matchAll(/\]\(([a-z-]+\.md)\)/g)) {
      const links = groups.at(-1)!.links;
      if (!links.some((link) => link.file === fileOf(name!))) links.push({ file: fileOf(name!), title: titles.get(name!) ?? name! });
    }
  }
  return groups.filter((group) => group.links.length > 0);
}

/** Reads all pages in a directory. The index must lead to each of them. */
export function readGuide(dir: string) {
  const exists = (name: string) => existsSync(join(dir, name));
  const names = readdirSync(dir).sort();
  const pages = names.filter((name) => name.endsWith('.md')).map((name) => {
    try {
      return render(name, readFileSync(join(dir, name), 'utf8'), exists);
    } catch (error) {
      throw new Error(`docs/${name}: ${(error as Error).message}`);
    }
  });
  const nav = navOf(readFileSync(join(dir, index), 'utf8'), new Map(pages.map((page) => [page.source, page.title])));
  const listed = new Set(nav.flatMap((group) => group.links.map((link) => link.file)));
  for (const page of pages) if (!listed.has(page.file)) throw new Error(`docs/${page.source} is not in docs/${index}`);
  const pictures = new Map(pages.flatMap((page) => page.pictures).map((name) => [normalize(name), readFileSync(join(dir, name))]));
  return { pages, nav, pictures };
}
