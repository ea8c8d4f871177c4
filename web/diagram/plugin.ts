import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { build, type Plugin, type Rolldown } from 'vite';

/**
 * Builds the page in which diagrams are drawn, as one file: a page without an origin may not load others. The names of its
 * modules are added to a set.
 */
export function diagram(modules: Set<string>): Plugin {
  return {
    name: 'diagram',
    apply: 'build',
    async generateBundle() {
      const built = (await build({
        configFile: false,
        publicDir: false,
        logLevel: 'warn',
        build: {
          write: false,
          target: 'es2022',
          rolldownOptions: { input: join(import.meta.dirname, 'frame.ts'), transform: { define: { 'import.meta': '{}' } }, output: { format: 'iife', codeSplitting: false } },
        },
      })) as Rolldown.RolldownOutput;
      const [chunk, ...others] = built.output;
      if (others.length > 0) this.error('the page of diagrams is more than one script');
      chunk.moduleIds.forEach((id) => modules.add(id));
      // Inside of a string or an expression this is the same, and does not end the element.
      const script = chunk.code.replace(/<(?=\/script|!--)/gi, '\\x3C');
      const hash = createHash('sha256').update(script).digest('base64');
      this.emitFile({
        type: 'asset',
        fileName: 'diagram.html',
        source: `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'">
<title>Diagrams</title>
<style>body { width: 800px; margin: 0 }</style>
<body>
<script>${script}</script>
`,
      });
    },
  };
}
