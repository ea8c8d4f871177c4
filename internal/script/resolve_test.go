package script

import (
	"strings"
	"testing"
)

// Libraries ask for what they can do without. Only what is not asked for in
// code that can catch it has to be there when the application is bundled.
func TestOptionalPackages(t *testing.T) {
	dir := write(t, map[string]string{
		"node_modules/lib/package.json": `{"name":"lib","main":"index.js"}`,
		"node_modules/lib/index.js": `exports.tried = ['not-there', 'node:sqlite', '@org/native/sub'].map((name, i) => [0, 1].map(() => {
  try { return i === 0 ? require('not-there') : i === 1 ? require('node:sqlite') : require('@org/native/sub'); } catch (e) { return e.code; }
}));
try { exports.found = require.resolve('not-there'); } catch (e) { exports.found = 'no'; }
exports.lazy = () => require('not-there');
`,
		"index.ts": `import lib from 'lib';
` + source(`return [lib.tried.flat().join(), lib.found, await import('not-there').catch((e) => e.code + ' ' + e.message), await import('not-there').then(() => 'it is there', (e) => e.code), (() => { try { lib.lazy() } catch (e) { return e.message } })()]`),
	})
	want := `{"results":["` + strings.TrimSuffix(strings.Repeat("MODULE_NOT_FOUND,", 6), ",") + `","no",` +
		`"MODULE_NOT_FOUND Cannot find module 'not-there': the package \"not-there\" is not installed: run npm install in the directory of the agent","MODULE_NOT_FOUND",` +
		`"Cannot find module 'not-there': the package \"not-there\" is not installed: run npm install in the directory of the agent"]}`
	if got := result(t, rootOf(t, loadApps(t, dir), "app"), "fine"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Files keep the settings of their tsconfig.json, and packages what they say of
// side effects, however they are imported.
func TestSettingsOfImports(t *testing.T) {
	t.Parallel()
	const service = `function twice(_: any, __: string, d: PropertyDescriptor) { const f = d.value; d.value = () => 2 * f(); }
export class Service { @twice n() { return 21; } }`
	apps := loadApps(t, write(t, map[string]string{
		"tsconfig.json":                   `{"compilerOptions": {"experimentalDecorators": true, "paths": {"@lib/*": ["./lib/*"]}}}`,
		"package.json":                    `{"imports": {"#lib/*": "./lib/*.ts"}}`,
		"lib/path.ts":                     service,
		"lib/import.ts":                   service,
		"node_modules/quiet/package.json": `{"main": "index.js", "sideEffects": false}`,
		"node_modules/quiet/index.js":     `export * from "./loud.js"; export const n = 42;`,
		"node_modules/quiet/loud.js":      `throw new Error("not needed"); export const loud = 1;`,
		"index.ts": appOf(`import { Service as A } from "@lib/path"; import { Service as B } from "#lib/import"; import { n } from "quiet";`,
			`sum: () => new A().n() + new B().n() + n`),
	}))
	if got := result(t, rootOf(t, apps, "app"), "sum"); !strings.Contains(got, "126") {
		t.Errorf("the sum is %s", got)
	}
}
