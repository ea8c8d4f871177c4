package script

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/internal/testkit/nodejs"
)

// Packages that many use can be used.
func TestPackages(t *testing.T) {
	if testing.Short() {
		t.Skip("it installs packages")
	}
	dir := filepath.Join("testdata", "packages")
	nodejs.Install(t, dir)
	log := &testkit.Buffer{}
	apps := loadApps(t, dir, func(o *Options) { o.Limits, o.Log = &generous, slog.New(slog.NewTextHandler(log, nil)) })
	want := `{"results":[{"a":1},"invalid signature",0,"TypeError: fetch failed"]}`
	if got := result(t, rootOf(t, apps, "packages"), "fine"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if text := log.String(); !strings.Contains(text, `{\"level\":30,\"from\":\"pino\",\"msg\":\"hello\"}`) {
		t.Errorf("the log says %s", text)
	}
}

// A package may have one form for import and another for require, which gets
// its own.
func TestFormsOfPackages(t *testing.T) {
	apps, _ := loadLogged(t, map[string]string{
		"node_modules/both/package.json": `{"name":"both","exports":{".":{"import":"./index.mjs","require":"./index.cjs"}}}`,
		"node_modules/both/index.mjs":    "export default class Both { form = 'import'; }",
		"node_modules/both/index.cjs":    "module.exports = class Both { form = 'require'; };",
		"node_modules/lib/package.json":  `{"name":"lib","main":"index.js"}`,
		"node_modules/lib/index.js":      "const Both = require('both'); exports.form = new (class extends Both {})().form;",
		"index.ts":                       "import Both from 'both';\nimport { form } from 'lib';\n" + source("return [new Both().form, form]"),
	})
	if got := result(t, rootOf(t, apps, "app"), "fine"); got != `{"results":["import","require"]}` {
		t.Error(got)
	}
}

// node-fetch need not be installed: it is the fetch that is there, then.
func TestNodeFetch(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"method":%q}`, r.Method)
	}))
	defer s.Close()
	apps, _ := loadLogged(t, map[string]string{
		"old.cjs": "const fetch = require('node-fetch'); module.exports = (url) => fetch(url).then((r) => r.buffer()).then((b) => b.length);",
		"index.ts": "import fetch, { FetchError, Headers } from 'node-fetch';\nimport old from './old.cjs';\n" + source(`
	const { method } = await (await fetch('`+s.URL+`/echo', { method: 'POST', body: 'x' })).json();
	const error = await fetch('http://127.0.0.1:1/').catch((e) => e);
	return [method, await old('`+s.URL+`/length'), new Headers({ a: 'b' }).get('a'), error instanceof FetchError, error.code]`),
	})
	if got := result(t, rootOf(t, apps, "app"), "fine"); got != `{"results":["POST",16,"b",true,"ECONNREFUSED"]}` {
		t.Error(got)
	}
}

// A file may import the names that Node.js gives to others.
func TestOwnNamesOfPlaces(t *testing.T) {
	apps, _ := loadLogged(t, map[string]string{
		"util.ts":  "export const __dirname = 'own'; export default 'file'; // not __filename",
		"a.ts":     "import __filename, {\n  __dirname,\n} from './util.js';\nexport const a = [__dirname, __filename];",
		"b.ts":     "import { __dirname as other } from './util.js'; export const b = [other, __dirname.split('/').pop(), __filename.split('/').pop()];",
		"c.ts":     "// what to import, __dirname and all\nimport path from 'path'; export const c = path.basename(__dirname);",
		"index.ts": "import { a } from './a'; import { b } from './b'; import { c } from './c';\n" + source("return [a, b, c]"),
	})
	if got := result(t, rootOf(t, apps, "app"), "fine"); got != `{"results":[["own","file"],["own","app","b.ts"],"app"]}` {
		t.Error(got)
	}
}

// A package may ask for the path of one of its files, or read one with JSON.
func TestFilesOfPackages(t *testing.T) {
	apps, _ := loadLogged(t, map[string]string{
		"node_modules/data/package.json": `{"name":"data","version":"1.2.3"}`,
		"node_modules/lib/package.json":  `{"name":"lib","main":"src/index.js"}`,
		"node_modules/lib/src/index.js":  "exports.worker = require.resolve('./worker.js'); exports.json = require.resolve(\"../package.json\"); exports.es = require('./es.mjs'); exports.text = \"use require.resolve('./x') here\";",
		"node_modules/lib/src/es.mjs":    "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url); export const all = [require('../package.json').name, require('data/package.json').version, require('node:path').sep];",
		"node_modules/lib/src/worker.js": "",
		"index.ts":                       "import { es, json, text, worker } from 'lib';\n" + source("return [worker.split('/').slice(-3).join('/'), json.split('/').slice(-2).join('/'), es.all, text.length]"),
	})
	if got := result(t, rootOf(t, apps, "app"), "fine"); got != `{"results":["lib/src/worker.js","lib/package.json",["lib","1.2.3","/"],25]}` {
		t.Error(got)
	}
}
