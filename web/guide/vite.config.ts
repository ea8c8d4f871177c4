// Builds docs/ into the static site that the server serves at /docs/guide/. All
// links are relative, so the site also works at any other address.
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';

import { defineConfig, type Plugin } from 'vite';

import { licenses } from '../licenses';
import { html } from './layout';
import { readGuide } from './pages';

const root = import.meta.dirname;
const out = join(root, '../dist/guide');

/** Writes the pages, the text for the search, and the pictures beside the bundle. */
function guide(): Plugin {
  return {
    name: 'guide',
    enforce: 'post', // the style is there after Vite's own plugins
    generateBundle(_, bundle) {
      const names = Object.keys(bundle);
      const [script, style] = ['.js', '.css'].map((end) => names.find((name) => name.endsWith(end)));
      if (!script || !style) throw new Error('the bundle has no script, or no style');
      const { pages, nav, pictures } = readGuide(join(root, '../../docs'));
      for (const page of pages) this.emitFile({ type: 'asset', fileName: page.file, source: html(page, nav, { script, style }) });
      const sections = pages.flatMap((page) => page.sections.map((section) => ({ ...section, page: page.title })));
      this.emitFile({ type: 'asset', fileName: 'search.json', source: JSON.stringify(sections) });
      for (const [fileName, source] of pictures) this.emitFile({ type: 'asset', fileName, source });
    },
    closeBundle() {
      for (const name of ['theme.js', 'mark.svg']) copyFileSync(join(root, '../public', name), join(out, name));
    },
  };
}

export default defineConfig({
  root,
  base: './',
  publicDir: false,
  plugins: [guide(), licenses([])],
  build: {
    outDir: out,
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    rolldownOptions: { input: join(root, 'main.ts') },
  },
});
