import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Plugin } from 'vite';

/** The package that a file belongs to. */
function packageOf(file: string): string | undefined {
  const at = file.lastIndexOf('/node_modules/');
  if (at < 0) return undefined;
  const [scope, name] = file.slice(at + '/node_modules/'.length).split('/');
  return join(file.slice(0, at), 'node_modules', scope!, scope!.startsWith('@') ? name! : '');
}

/** Puts the licences of all that is in the bundle beside it, and of other modules. */
export function licenses(fonts: string[], others: ReadonlySet<string> = new Set()): Plugin {
  return {
    name: 'licenses',
    generateBundle(_, bundle) {
      const found = new Set(fonts.map((name) => join(dirname(import.meta.filename), 'node_modules', name)));
      for (const id of [...others, ...Object.values(bundle).flatMap((chunk) => (chunk.type === 'chunk' ? chunk.moduleIds : []))]) {
        const dir = packageOf(id.replaceAll('\\', '/').replace(/^\0/, ''));
        if (dir && existsSync(join(dir, 'package.json'))) found.add(dir);
      }
      const texts = [...found].map((dir) => {
        const about = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')) as { name: string; version: string; license: string };
        const file = readdirSync(dir).find((name) => /^licen[cs]e/i.test(name));
        return `${about.name} ${about.version}, ${about.license}\n\n${file ? readFileSync(join(dir, file), 'utf8').trim() : 'The package has no text of its licence.'}\n`;
      });
      this.emitFile({ type: 'asset', fileName: 'licenses.txt', source: texts.sort().join(`\n${'-'.repeat(80)}\n\n`) });
    },
  };
}
