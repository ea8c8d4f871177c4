import { fileURLToPath } from 'node:url';

import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

import { diagram } from './diagram/plugin';
import { katex } from './katex';
import { licenses } from './licenses';

const client = fileURLToPath(new URL('../clients/typescript/src/index.ts', import.meta.url));

const drawing = new Set<string>();

export default defineConfig({
  base: '/ui/',
  // The client as it is in this repository, with the packages that are installed here.
  resolve: { alias: { '@parley-run/client': client }, dedupe: ['eventsource-parser'] },
  plugins: [react(), tailwind(), katex(), diagram(drawing), licenses(['@fontsource-variable/instrument-sans', '@fontsource-variable/jetbrains-mono'], drawing)],
  build: {
    outDir: 'dist/ui',
    emptyOutDir: true,
    target: 'es2022',
    // Inlined files would need data: addresses in the security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        // What changes seldom stays in files of its own.
        codeSplitting: {
          groups: [
            { name: 'react', test: /node_modules\/(react|react-dom|scheduler)\// },
            { name: 'markdown', test: /node_modules\/(react-markdown|remark|micromark|mdast|hast|unist|unified|vfile|property-information|decode-named|character-entities|html-url|style-to|inline-style|trim-lines|space-separated|comma-separated|estree|devlop|bail|trough|zwitch|ccount|longest-streak|escape-string|markdown-table|is-plain-obj|extend)/ },
          ],
        },
      },
    },
  },
  server: { proxy: { '^/(?!ui/(?!diagram)|@|src/|node_modules/)': 'http://127.0.0.1:8000' } },
  // The files share their imports, which take longer than the tests. On a busy machine no time is too long.
  test: { include: ['src/**/*.test.ts', 'src/**/*.test.tsx'], environment: 'node', isolate: false, testTimeout: 0 },
});
