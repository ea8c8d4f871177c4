import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');

/** The files that a file imports, without packages. */
function importsOf(file: string): string[] {
  const names = ts.preProcessFile(readFileSync(file, 'utf8'), true, true).importedFiles.map((found) => found.fileName);
  return names.filter((name) => name.startsWith('.')).flatMap((name) => {
    const path = join(dirname(file), name.replace(/\.js$/, ''));
    return [path, `${path}.ts`, `${path}.tsx`].filter((one) => /\.tsx?$/.test(one) && existsSync(one));
  });
}

/** The first circle of imports that is found, as the files on it. */
function circle(files: string[], imports: (file: string) => string[]): string[] {
  const done = new Set<string>();
  const visit = (file: string, way: string[]): string[] => {
    if (way.includes(file)) return [...way.slice(way.indexOf(file)), file];
    if (done.has(file)) return [];
    for (const next of imports(file)) {
      const found = visit(next, [...way, file]);
      if (found.length > 0) return found;
    }
    done.add(file);
    return [];
  };
  return files.map((file) => visit(file, [])).find((found) => found.length > 0) ?? [];
}

test('a circle is found', () => {
  const imports: Record<string, string[]> = { a: ['b'], b: ['c', 'd'], c: [], d: ['b'] };
  expect(circle(Object.keys(imports), (file) => imports[file]!)).toEqual(['b', 'd', 'b']);
});

test.each(['web/src', 'clients/typescript/src'])('no circles among the imports of %s', (dir) => {
  const names = readdirSync(join(root, dir), { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name));
  const files = names.map((name) => join(root, dir, name));
  expect(files.length).toBeGreaterThan(5);
  expect(files.flatMap(importsOf).length).toBeGreaterThan(5);
  expect(circle(files, importsOf)).toEqual([]);
});
