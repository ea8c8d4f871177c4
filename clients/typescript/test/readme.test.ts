// What the README shows is run as it is, on the package as it is published.
// Its examples are in readme/, where they were checked together with the tests.
import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import ts from 'typescript';
import { expect, test } from 'vitest';

import { base } from './kit.js';

const run = promisify(execFile);
const dir = new URL('readme/', import.meta.url);

const says = ['The weather in New York', 'The weather in London', 'weather', '80 euros are on their way back', '404 Session not found: no-such-session'];

test('the README has as many examples as are known', async () => {
  expect((await readdir(dir)).filter((name) => name.endsWith('.ts'))).toHaveLength(says.length);
});

test.each(says.map((want, i) => [want, i] as const))('%s', async (want, i) => {
  const source = (await readFile(new URL(`${i}.ts`, dir), 'utf8')).replaceAll('http://127.0.0.1:8000', base);
  const program = new URL(`${i}.mjs`, dir);
  await writeFile(program, ts.transpile(source, { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext }));
  const { stdout } = await run(process.execPath, [fileURLToPath(program)]);
  expect(stdout).toContain(want);
});
