package script

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// builtin is the JavaScript that the binary carries: the runtime, the packages
// that agents are written against, and what they expect of Node.js.
//
//go:embed all:js
var builtin embed.FS

// modules maps what an agent may import to the file under js/ that stands for
// it. A name that ends in /* stands for everything below it.
var modules = map[string]string{
	"@google/adk":      "adk/google.cjs",
	"@google/adk/*":    "adk/google.cjs",
	"adk-typescript":   "adk/typescript.cjs",
	"adk-typescript/*": "adk/typescript.cjs",
	"@google/genai":    "genai.cjs",
	"@google/genai/*":  "genai.cjs",
	"dotenv":           "dotenv.cjs",
	"dotenv/config":    "dotenv.cjs",
	"uuid":             "uuid.cjs",
	"node-fetch":       "node-fetch.cjs",
}

// own marks a look-up that must not come back to this plugin.
type own struct{}

// resolveApp teaches esbuild where the imports of an application lead: to what
// the binary carries, to the agent's own node_modules, or to an error that says
// what to do. The author's files are read by read, if they are within bounds.
func resolveApp(b api.PluginBuild, dir string, within bounds, read *sources) {
	b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: "file"}, within.refuse)
	b.OnResolve(api.OnResolveOptions{Filter: `^parley:`}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		if a.Path == "parley:zod" {
			return api.OnResolveResult{Path: "own", Namespace: "parley-zod"}, nil
		}
		return inside(strings.TrimPrefix(a.Path, "parley:") + ".js"), nil
	})
	resolveLocales(b)
	b.OnResolve(api.OnResolveOptions{Filter: `^[^./]`}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		if _, again := a.PluginData.(own); again || filepath.IsAbs(a.Path) {
			return api.OnResolveResult{}, nil
		}
		return external(b, dir, a)
	})
	// A pack has been run before; here it is only taken from there.
	b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: "parley"}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		if _, err := fs.Stat(builtin, path.Join("js", a.Path)); err != nil {
			return api.OnLoadResult{}, err
		}
		code := "module.exports = __builtin(" + quote(a.Path) + ");"
		return api.OnLoadResult{Contents: &code, Loader: api.LoaderJS, ResolveDir: dir}, nil
	})
	// Schemas are described by the zod that has made them: another version may
	// keep their descriptions elsewhere.
	b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: "parley-zod"}, func(api.OnLoadArgs) (api.OnLoadResult, error) {
		code := ""
		if found := b.Resolve("zod/v4/core", api.ResolveOptions{ResolveDir: dir, Kind: api.ResolveJSImportStatement, PluginData: own{}}); len(found.Errors) == 0 && within.check(found.Path) {
			code = `import { useZod } from "parley:runtime"; import { toJSONSchema } from ` + quote(found.Path) + `; useZod(toJSONSchema);`
		}
		return api.OnLoadResult{Contents: &code, Loader: api.LoaderJS, ResolveDir: dir}, nil
	})
	b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: "parley-absent"}, loadAbsent)
	b.OnLoad(api.OnLoadOptions{Filter: `\.[cm]?[jt]sx?$`, Namespace: "file"}, read.load)
	b.OnLoad(api.OnLoadOptions{Filter: `\.ya?ml$`, Namespace: "file"}, read.loadYAML)
}

// resolvePack teaches esbuild where the imports of what the binary carries
// lead: to more of it.
func resolvePack(b api.PluginBuild) {
	resolveLocales(b)
	b.OnResolve(api.OnResolveOptions{Filter: `.*`}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		if file, ok := strings.CutPrefix(a.Path, "parley:"); ok {
			return inside(file), nil
		}
		if strings.HasPrefix(a.Path, ".") {
			return inside(path.Join(path.Dir(a.Importer), a.Path)), nil
		}
		if file, ok := lookUp(strings.TrimPrefix(a.Path, "node:")); ok {
			return inside(file), nil
		}
		file, ok := zodFile(a.Path)
		if !ok {
			return api.OnResolveResult{}, fmt.Errorf("the binary does not carry %q", a.Path)
		}
		return inside(file), nil
	})
	b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: "parley"}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		text, err := builtin.ReadFile(path.Join("js", a.Path))
		if err != nil {
			return api.OnLoadResult{}, err
		}
		code := string(text)
		return api.OnLoadResult{Contents: &code, Loader: api.LoaderJS}, nil
	})
}

// resolveLocales leaves out all languages of zod's messages but English: they
// are half of its size.
func resolveLocales(b api.PluginBuild) {
	b.OnResolve(api.OnResolveOptions{Filter: `locales/index\.js$`}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		if strings.Contains("/"+filepath.ToSlash(a.Importer), "/zod/v4/") {
			return inside("zod-locales.js"), nil
		}
		return api.OnResolveResult{}, nil
	})
}

func inside(file string) api.OnResolveResult {
	return api.OnResolveResult{Path: file, Namespace: "parley", SideEffects: sideEffects(file)}
}

// sideEffects tells esbuild what it may leave out: zod, as its package says.
func sideEffects(file string) api.SideEffects {
	if strings.HasPrefix(file, "vendor/") {
		return api.SideEffectsFalse
	}
	return api.SideEffectsTrue
}

// external finds a package.
func external(b api.PluginBuild, dir string, a api.OnResolveArgs) (api.OnResolveResult, error) {
	name := strings.TrimPrefix(a.Path, "node:")
	if file, ok := lookUp(name); ok {
		return inside(file), nil
	}
	from := a.ResolveDir
	if from == "" {
		from = dir
	}
	if !strings.HasPrefix(a.Path, "node:") {
		found := b.Resolve(a.Path, api.ResolveOptions{ResolveDir: from, Kind: a.Kind, Importer: a.Importer, PluginData: own{}})
		if len(found.Errors) == 0 && a.ResolveDir != "" {
			return api.OnResolveResult{}, nil // the bundler finds it again, with its settings
		}
		if len(found.Errors) == 0 {
			return api.OnResolveResult{Path: found.Path, Namespace: found.Namespace, External: found.External, PluginData: found.PluginData}, nil
		}
	}
	if file, ok := zodFile(name); ok {
		return inside(file), nil
	}
	// What is asked for while code runs, that code may be able to do without.
	if a.Kind == api.ResolveJSRequireCall || a.Kind == api.ResolveJSRequireResolve || a.Kind == api.ResolveJSDynamicImport {
		return api.OnResolveResult{Path: a.Path, Namespace: "parley-absent"}, nil
	}
	return api.OnResolveResult{Errors: []api.Message{{Text: whyAbsent(a.Path)}}}, nil
}

func whyAbsent(name string) string {
	if strings.HasPrefix(name, "node:") {
		return fmt.Sprintf("%q is not available in this runtime: do without it, or run the agent with Node.js", name)
	}
	return fmt.Sprintf("the package %q is not installed: run npm install in the directory of the agent", name)
}

// loadAbsent stands for a package that is not there. It throws each time that it
// is asked for, as Node.js does; a module that fails is run but once.
func loadAbsent(a api.OnLoadArgs) (api.OnLoadResult, error) {
	text := fmt.Sprintf("Cannot find module '%s': %s", a.Path, whyAbsent(a.Path))
	code := `Object.defineProperty(module, "exports", { get() { throw Object.assign(new Error(` + quote(text) + `), { code: "MODULE_NOT_FOUND" }); } });`
	return api.OnLoadResult{Contents: &code, Loader: api.LoaderJS}, nil
}

// lookUp finds what the binary carries under a name.
func lookUp(name string) (string, bool) {
	if file, ok := modules[name]; ok {
		return file, true
	}
	for i := len(name); i > 0; i = strings.LastIndexByte(name[:i], '/') {
		if file, ok := modules[name[:i]+"/*"]; ok {
			return file, true
		}
	}
	if _, err := fs.Stat(builtin, "js/node/"+name+".cjs"); err == nil {
		return "node/" + name + ".cjs", true
	}
	return "", false
}

// zodFile is where the binary's own zod has what an agent imports.
func zodFile(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, "zod")
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	file := path.Join("vendor/zod", rest, "index.js")
	_, err := fs.Stat(builtin, "js/"+file)
	return file, err == nil
}
