import type { Plugin } from 'vite';

const changes: { file: RegExp; from: RegExp; to: string }[] = [
  // Fonts in formats that only old browsers need.
  { file: /katex\/dist\/katex\.min\.css$/, from: /,url\([^)]*\.(woff|ttf)\) format\("(woff|truetype)"\)/g, to: '' },
  // The security policy refuses styles in attributes, but not those that a script sets.
  { file: /katex\/dist\/katex\.mjs$/, from: /node\.setAttribute\((\w+), this\.attributes\[\1\]\)/g, to: '($1 === "style" ? node.style.cssText = this.attributes[$1] : node.setAttribute($1, this.attributes[$1]))' },
];

/** Changes KaTeX, so that it needs no other security policy, and nothing that no browser loads. */
export function katex(): Plugin {
  return {
    name: 'katex',
    enforce: 'pre',
    transform(code, id) {
      const change = changes.find((c) => c.file.test(id.replace(/\?.*$/, '')));
      if (!change) return undefined;
      const changed = code.replace(change.from, change.to);
      if (changed === code) this.error(`${id} is not as expected: see katex.ts`);
      return { code: changed, map: null };
    },
  };
}
