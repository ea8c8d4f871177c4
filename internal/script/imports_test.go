package script

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/agentrt"
)

// Schemas of an application's own zod are described by that.
func TestOwnZod(t *testing.T) {
	dir := write(t, map[string]string{
		"node_modules/zod/package.json":     `{"name":"zod","version":"4.0.0","type":"module","exports":{".":"./index.js","./v4/core":"./v4/core/index.js"}}`,
		"node_modules/zod/index.js":         `export const z = { object: () => ({ _zod: {}, safeParse: (data) => ({ success: true, data }) }) };`,
		"node_modules/zod/v4/core/index.js": `export const toJSONSchema = () => ({ type: "object", properties: { own: { type: "string" } } });`,
		"index.ts": `import { FunctionTool, LlmAgent } from '@google/adk';
import { z } from 'zod';
const fine = new FunctionTool({ name: 'fine', description: '?', parameters: z.object(), execute: () => 1 });
export const rootAgent = new LlmAgent({ name: 'root', model: 'scripted', tools: [fine] });
`,
	})
	info, _ := agentrt.InfoOf(rootOf(t, loadApps(t, dir), "app"))
	if len(info.Tools) != 1 || !strings.Contains(string(info.Tools[0].Parameters), `"own"`) {
		t.Errorf("the tools are %+v", info.Tools)
	}
}

// Of what it carries, the binary gives an application what it imports, in
// whatever way.
func TestImportsOfTheLibrary(t *testing.T) {
	dir := write(t, map[string]string{
		"package.json": `{"type":"module"}`,
		"index.ts": `import zod, { z } from 'zod';
import * as all from 'zod';
import * as core from 'zod/v4/core';
import path, { join } from 'node:path';
import { readFileSync as read } from 'fs';
export * from 'uuid';
const { EventEmitter } = await import('node:events');
const names = [Response, Request, URL, Event, DOMException, EventEmitter, LlmAgent].map((c) => c.name).join();
` + source(`return [zod.string().parse('a'), z.string().parse('b'), all.string().parse('c'), typeof core.toJSONSchema, path.join('d', 'e'), join('f'), typeof read, names]`),
	})
	want := `{"results":["a","b","c","function","d/e","f","function","Response,Request,URL,Event,DOMException,EventEmitter,LlmAgent"]}`
	if got := result(t, rootOf(t, loadApps(t, dir), "app"), "fine"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Compiled code, and packages that are there but not built, have errors that say
// what to do.
func TestImportsThatCannotWork(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"packages/shared/package.json":         `{"name":"@org/shared","main":"dist/index.js"}`,
		"packages/shared/src/index.ts":         "export const n = 1;",
		"node_modules/part/package.json":       `{"name":"part","exports":{"./one":"./one.js"}}`,
		"node_modules/part/one.js":             "",
		"node_modules/native/package.json":     `{"name":"native","main":"index.js"}`,
		"node_modules/native/index.js":         "module.exports = require('./build/addon.node');",
		"node_modules/native/build/addon.node": "\x7fELF",
		"node_modules/tries/package.json":      `{"name":"tries","main":"index.js"}`,
		"node_modules/tries/index.js":          "try { require('native'); } catch (e) { exports.code = e.code; }",
		"linked/index.ts":                      "import '@org/shared';",
		"later/index.ts":                       source("return [await import('@org/shared').catch((e) => e.message)]"),
		"part/index.ts":                        "import 'part/two';",
		"absent/index.ts":                      "import '@org/none';",
		"native/index.ts":                      "import 'native';",
		"tries/index.ts":                       "import { code } from 'tries';\n" + source("return [code]"),
	})
	if err := os.MkdirAll(filepath.Join(dir, "node_modules", "@org"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("..", "..", "packages", "shared"), filepath.Join(dir, "node_modules", "@org", "shared")); err != nil {
		t.Skip(err)
	}
	apps := loadApps(t, dir)
	for name, want := range map[string]string{
		"linked": `the package "@org/shared" is linked, but the files that its package.json names are missing: build it first`,
		"part":   `the package "part/two" is installed, but its package.json names no file for this import`,
		"absent": `the package "@org/none" is not installed: run npm install`,
		"native": `addon.node of the package "native" is a native addon, which QuickJS does not run: use a package without native code, or put "parley": {"engine": "node"} into the package.json of the agent`,
	} {
		if _, _, err := apps.Agent(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if got := result(t, rootOf(t, apps, "tries"), "fine"); got != `{"results":["ERR_DLOPEN_FAILED"]}` {
		t.Error(got)
	}
	if got := result(t, rootOf(t, apps, "later"), "fine"); !strings.Contains(got, "is linked, but") {
		t.Error(got)
	}
}

// What import is given may be computed. It finds files of the application's
// directory, which share their variables with all others.
func TestComputedImports(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"app/shared.ts":       "export const seen: string[] = [];",
		"app/plugins/a.ts":    "import { seen } from '../shared.js'; seen.push('a'); export default { name: 'a' };",
		"app/plugins/b.mjs":   "await 1; export const name = 'b';",
		"app/plugins/c.json":  `{"name":"c"}`,
		"app/plugins/bad.ts":  "import 'not-there'; export default 1;",
		"app/plugins/odd.ts":  "export default ;",
		"app/plugins/uses.ts": "import odd from './odd.js'; export default odd;",
		"outside.ts":          "export default 'secret';",
		"app/index.ts": `import { seen } from './shared';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
const text = "import(name)"; // import(name)
const load = async (name: string) => import(name).then((m) => m.default?.name ?? m.name ?? m.default, (e) => e.code + ' ' + e.message.replaceAll(import.meta.dirname, ''));
` + source(`
  const dir = join(import.meta.dirname, 'plugins');
  const same = (await import(join(dir, 'a.ts'))).default === (await import('./plugins/' + 'a.js')).default;
  return [readdirSync(dir).length, text, same, await load('./plugins/a.js'), await load(pathToFileURL(join(dir, 'a.ts')).href + '?v=1'), await load(join(dir, 'b.mjs')), await load('./plugins/c.json'), seen,
    await load('./plugins/none.js'), await load('../outside.ts'), await load('lodash'), (await load('./plugins/bad.ts')).includes('is not installed'), (await load('./plugins/odd.ts')).includes('odd.ts:1:'), (await load('./plugins/uses.ts')).includes('odd.ts:1:')]`),
	})
	want := `{"results":[6,"import(name)",true,"a","a","b","c",["a"],"ERR_MODULE_NOT_FOUND Cannot find module '/plugins/none.js' imported from /index.ts",` +
		`"ERR_MODULE_NOT_FOUND Cannot find module '` + dir + `/outside.ts' imported from /index.ts: it is not below the directory of the application, ",` +
		`"ERR_MODULE_NOT_FOUND Cannot find package 'lodash' imported from /index.ts: packages are imported by a name that is written in the code",true,true,true]}`
	if got := result(t, rootOf(t, loadApps(t, filepath.Join(dir, "app")), "app"), "fine"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Files on Windows have other paths.
func TestComputedImportsOnWindows(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"app/index.ts": source(`
  const all = globalThis as any;
  all.__files = { dir: 'C:\\app', run: { 'C:\\app\\plugins\\a.ts': async () => 'a' } };
  const load = (id: string) => all.__import(id, 'C:\\app\\lib\\index.ts').catch((e: any) => e.message);
  return [await load('../plugins/a.js'), await load('file:///C:/app/plugins/a.ts'), await load('C:\\app\\plugins\\a.ts'), await load('../../b.ts')]`)})
	want := `{"results":["a","a","a","Cannot find module 'C:/b.ts' imported from C:\\app\\lib\\index.ts: it is not below the directory of the application, C:\\app"]}`
	if got := result(t, rootOf(t, loadApps(t, filepath.Join(dir, "app")), "app"), "fine"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
