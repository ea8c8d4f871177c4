package script

import (
	"encoding/base64"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// linked makes links in a directory, by their names.
func linked(t *testing.T, dir string, links map[string]string) string {
	t.Helper()
	for name, target := range links {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.FromSlash(target), at); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// An agent is made of files in the directory that the operator serves. What
// leads to others is refused, and nothing of them is shown.
func TestImportsFromOutside(t *testing.T) {
	t.Parallel()
	const tool = `return secret`
	for name, test := range map[string]struct {
		files, links map[string]string
		code         string // of index.ts, before the agent
		want         string
	}{
		"json":            {code: `import secret from '../outside/secret.json';`, want: `index.ts:1:20: '../outside/secret.json' leads out`},
		"text":            {code: `import secret from '../outside/secret.txt';`, want: `'../outside/secret.txt' leads out`},
		"typescript":      {code: `import { secret } from '../outside/secret';`, want: `'../outside/secret' leads out`},
		"absolute":        {code: `import secret from 'DIR/../outside/secret.json';`, want: `/outside/secret.json' leads out`},
		"attribute":       {code: `import secret from '../outside/secret.json' with { type: 'json' };`, want: `leads out`},
		"require":         {code: `const secret = require('../outside/secret.json');`, want: `'../outside/secret.json' leads out`},
		"dynamic":         {code: `const { default: secret } = await import('../outside/secret.json');`, want: `'../outside/secret.json' leads out`},
		"computed":        {code: "const name = 'secret'; const { default: secret } = await import(`../outside/${name}.json`);", want: "index.ts:1:65: `../outside/${name}.json` leads out"},
		"another file":    {files: map[string]string{"lib/a.ts": `export { default } from '../../outside/secret.json';`}, code: `import secret from './lib/a';`, want: `lib/a.ts:1:25: '../../outside/secret.json' leads out`},
		"tsconfig paths":  {files: map[string]string{"tsconfig.json": `{"compilerOptions":{"paths":{"@x/*":["../outside/*"]}}}`}, code: `import secret from '@x/secret.json';`, want: `'@x/secret.json' leads out`},
		"tsconfig base":   {files: map[string]string{"tsconfig.json": `{"extends":"../outside/tsconfig.json"}`}, code: `import secret from '@x/secret.json';`, want: `'@x/secret.json' leads out`},
		"link":            {links: map[string]string{"secret.json": "../outside/secret.json"}, code: `import secret from './secret.json';`, want: `'./secret.json' leads out`},
		"linked link":     {links: map[string]string{"a.json": "b.json", "b.json": "../outside/secret.json"}, code: `import secret from './a.json';`, want: `'./a.json' leads out`},
		"computed link":   {links: map[string]string{"data/secret.json": "../../outside/secret.json"}, code: "const name = 'secret'; const { default: secret } = await import(`./data/${name}.json`);", want: "leads out"},
		"linked folder":   {links: map[string]string{"lib": "../outside"}, code: `import secret from './lib/secret.json';`, want: `'./lib/secret.json' leads out`},
		"linked package":  {links: map[string]string{"node_modules/pkg": "../../outside"}, code: `import secret from 'pkg/secret.json';`, want: `'pkg/secret.json' leads out`},
		"linked packages": {links: map[string]string{"node_modules": "../outside"}, code: `import secret from 'secret.json';`, want: `'secret.json' leads out`},
		"package":         {files: map[string]string{"node_modules/pkg/package.json": `{"main":"../../../outside/secret.json"}`}, code: `import secret from 'pkg';`, want: `'pkg' leads out`},
		"linked settings": {files: map[string]string{"lib/a.ts": `export default 1;`}, links: map[string]string{"lib/package.json": "../../outside/secret.txt"}, code: `import secret from './lib/a';`, want: `lib/package.json: it leads out`},
		"linked entry":    {links: map[string]string{"index.ts": "../outside/index.ts"}, want: `the entry file leads out`},
		"linked .env":     {links: map[string]string{".env": "../outside/env"}, code: `const secret = process.env.SECRET;`, want: `.env leads out`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{
				"README.md": "", "../outside/secret.json": `{"secret":"hunter2"}`, "../outside/secret.txt": "hunter2", "../outside/secret.ts": "export const secret = 'hunter2';",
				"../outside/tsconfig.json": `{"compilerOptions":{"paths":{"@x/*":["./*"]}}}`, "../outside/index.ts": "// hunter2\n" + source("return 1"), "../outside/env": "SECRET=hunter2",
			}
			maps.Copy(files, test.files)
			dir := write(t, files)
			if test.code != "" {
				if err := os.WriteFile(filepath.Join(dir, "index.ts"), []byte(strings.ReplaceAll(test.code, "DIR", dir)+"\n"+source(tool)), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			apps := loadApps(t, linked(t, dir, test.links))
			root, _, err := apps.Agent("app")
			if err == nil {
				t.Fatalf("it is loaded, and shows %s", result(t, root, "fine"))
			}
			if text := err.Error(); !strings.Contains(text, test.want) || strings.Contains(text, "hunter2") || !strings.Contains(text, "--agent_dir") {
				t.Errorf("the error is %s", text)
			}
		})
	}
}

// What is within the directory that is served can be shared by the applications
// in it, and linked as package managers do.
func TestImportsFromWorkspaces(t *testing.T) {
	t.Parallel()
	const value = `export const value = 'here';`
	for name, test := range map[string]struct {
		files, links map[string]string
		code         string
	}{
		"shared file":     {files: map[string]string{"shared/a.ts": value}, code: `import { value } from '../shared/a';`},
		"shared settings": {files: map[string]string{"shared/a.ts": value, "tsconfig.json": `{"compilerOptions":{"paths":{"@shared/*":["./shared/*"]}}}`}, code: `import { value } from '@shared/a';`},
		"extended settings": {
			files: map[string]string{"shared/a.ts": value, "base.json": `{"compilerOptions":{"paths":{"@shared/*":["./shared/*"]}}}`, "one/tsconfig.json": `{"extends":"../base.json"}`},
			code:  `import { value } from '@shared/a';`,
		},
		"shared packages": {files: map[string]string{"node_modules/pkg/index.js": value}, code: `import { value } from 'pkg';`},
		"pnpm": {
			files: map[string]string{"node_modules/.pnpm/pkg@1/node_modules/pkg/index.js": `export { value } from 'dep';`, "node_modules/.pnpm/dep@1/node_modules/dep/index.js": value},
			links: map[string]string{"one/node_modules/pkg": "../../node_modules/.pnpm/pkg@1/node_modules/pkg", "node_modules/.pnpm/pkg@1/node_modules/dep": "../../dep@1/node_modules/dep"},
			code:  `import { value } from 'pkg';`,
		},
		"workspace":      {files: map[string]string{"shared/index.ts": value, "shared/package.json": `{"main":"index.ts"}`}, links: map[string]string{"node_modules/@acme/shared": "../../shared"}, code: `import { value } from '@acme/shared';`},
		"packages above": {files: map[string]string{"../node_modules/.pnpm/pkg@1/index.js": value}, links: map[string]string{"../node_modules/pkg": ".pnpm/pkg@1"}, code: `import { value } from 'pkg';`},
		"computed":       {files: map[string]string{"shared/a.ts": value}, code: "const name = 'a'; const { value } = await import(`../shared/${name}.ts`);"},
		"linked inside":  {files: map[string]string{"shared/a.ts": value}, links: map[string]string{"one/lib": "../shared"}, code: `import { value } from './lib/a';`},
		"linked application": {
			files: map[string]string{"../elsewhere/linked/a.ts": value, "../elsewhere/linked/index.ts": `import { value } from './a';` + "\n" + source(`return value`), "../elsewhere/linked/.env": "A=1"},
			links: map[string]string{"two": "../elsewhere/linked"},
			code:  `const value = 'here';`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"one/index.ts": test.code + "\n" + source(`return value`)}
			maps.Copy(files, test.files)
			apps := loadApps(t, linked(t, write(t, files), test.links))
			for _, app := range apps.Names() {
				if app == "shared" {
					continue // which has an index.ts of its own
				}
				if got := result(t, rootOf(t, apps, app), "fine"); got != `{"result":"here"}` {
					t.Errorf("%s gives %s", app, got)
				}
			}
		})
	}
}

// A cached bundle counts for the directory that was served when it was made.
func TestImportsFromOutsideAreNotCached(t *testing.T) {
	dir := write(t, map[string]string{"shared/a.ts": `export const value = 1;`, "one/index.ts": "import { value } from '../shared/a';\n" + source(`return value`)})
	cache := func(o *Options) { o.CacheDir = filepath.Join(dir, ".cache") }
	rootOf(t, loadApps(t, dir, cache), "one")
	if _, _, err := loadApps(t, filepath.Join(dir, "one"), cache).Agent("one"); err == nil || !strings.Contains(err.Error(), "leads out") {
		t.Errorf("the error is %v", err)
	}
}

// A source map names files, which the bundler reads to show their lines in
// errors.
func TestSourceMapsFromOutside(t *testing.T) {
	doc := base64.StdEncoding.EncodeToString([]byte(`{"version":3,"sources":["../outside/secret.txt"],"names":[],"mappings":"AAAA"}`))
	for name, code := range map[string]string{
		"inline": "throw new Error('oh');\n//# sourceMappingURL=data:application/json;base64," + doc,
		"file":   "throw new Error('oh');\n//# sourceMappingURL=lib.js.map",
	} {
		t.Run(name, func(t *testing.T) {
			apps, log := loadLogged(t, map[string]string{
				"../outside/secret.txt": "hunter2\n", "lib.js": code, "lib.js.map": `{"version":3,"sources":["../outside/secret.txt"],"names":[],"mappings":"AAAA"}`,
				"index.ts": "import './lib.js';\n" + source(`return 1`),
			})
			_, _, err := apps.Agent("app")
			if err == nil || !strings.Contains(err.Error(), "oh") || !strings.Contains(err.Error(), "outside/secret.txt") {
				t.Errorf("the error is %v", err)
			}
			if err != nil && strings.Contains(err.Error()+log, "hunter2") {
				t.Errorf("it shows the file: %v", err)
			}
		})
	}
}
