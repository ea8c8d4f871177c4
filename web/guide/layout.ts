import type { NavGroup, Page } from './pages';

const escape = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

/** One page of the site. It has no inline scripts or styles, which the server's security policy forbids. */
export function html(page: Page, nav: NavGroup[], { script, style }: { script: string; style: string }): string {
  const isIndex = page.file === 'index.html';
  const link = ({ file, title }: { file: string; title: string }) =>
    `<li><a href="${file}"${file === page.file ? ' aria-current="page"' : ''}>${escape(title)}</a></li>`;
  const groups = nav.map((group) => `<h2>${escape(group.title)}</h2>\n<ul>\n${group.links.map(link).join('\n')}\n</ul>`).join('\n');
  const toc = page.headings.filter((heading) => heading.level === 2).map(({ id, title }) => `<li><a href="#${id}">${escape(title)}</a></li>`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escape(isIndex ? 'Parley documentation' : `${page.title} · Parley`)}</title>
<link rel="icon" type="image/svg+xml" href="mark.svg">
<script src="theme.js"></script>
<link rel="stylesheet" href="${style}">
<script type="module" src="${script}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<button id="menu" type="button" aria-expanded="false" aria-controls="nav">Menu</button>
<a class="home" href="index.html">Parley</a>
<search>
<input id="search" type="search" placeholder="Search" aria-label="Search the documentation" role="combobox" aria-expanded="false" aria-controls="results" aria-autocomplete="list" autocomplete="off" spellcheck="false">
<ul id="results" role="listbox" aria-label="Results" hidden></ul>
</search>
<button id="theme" type="button" aria-label="Switch between light and dark"></button>
</header>
<div class="columns">
<nav id="nav" aria-label="Pages">
${groups}
</nav>
<main id="content">
${page.body.trim()}
</main>
${toc.length > 1 ? `<aside aria-label="On this page"><h2>On this page</h2>\n<ul>\n${toc.join('\n')}\n</ul></aside>` : '<aside></aside>'}
</div>
</body>
</html>
`;
}
