package bundle

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/parley-run/parley/internal/script/js"
)

// own marks a look-up that this plugin must not handle again.
type own struct{}

// resolveApp resolves the imports of an application: to what the binary carries,
// to the application's node_modules, or to an error that says what to do. read
// reads the author's files within bounds; all, if not nil, are those that code may
// import by a computed name.
func resolveApp(b api.PluginBuild, target Target, dir string, within Bounds, read *sources, all *files) {
	b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: "file"}, within.refuse)
	if all != nil {
		b.OnResolve(api.OnResolveOptions{Filter: `^parley:files$`}, func(api.OnResolveArgs) (api.OnResolveResult, error) {
			return api.OnResolveResult{Path: "all", Namespace: "parley-files", SideEffects: api.SideEffectsTrue}, nil
		})
		b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: "parley-files"}, func(api.OnLoadArgs) (api.OnLoadResult, error) {
			code := all.module()
			return api.OnLoadResult{Contents: &code, Loader: api.LoaderJS, ResolveDir: dir}, nil
		})
		b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: "file"}, all.load)
	}
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
		if target == Node {
			if result, ok := nodeImport(b, dir, within, a); ok {
				return result, nil
			}
		}
		return external(b, dir, within, a)
	})
	// The library runs before the bundle, and has these modules.
	b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: "parley"}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		if _, err := fs.Stat(js.FS(), a.Path); err != nil {
			return api.OnLoadResult{}, err
		}
		code := "module.exports = __builtin(" + quote(a.Path) + ");"
		return api.OnLoadResult{Contents: &code, Loader: api.LoaderJS, ResolveDir: dir}, nil
	})
	// Schemas are described by the zod that has made them: another version may
	// keep their descriptions elsewhere.
	b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: "parley-zod"}, func(api.OnLoadArgs) (api.OnLoadResult, error) {
		code := ""
		if found := b.Resolve("zod/v4/core", api.ResolveOptions{ResolveDir: dir, Kind: api.ResolveJSImportStatement, PluginData: own{}}); len(found.Errors) == 0 && within.contain(found.Path) {
			from := found.Path
			if target == Node {
				from = "zod/v4/core" // which is not part of the bundle, as the author's is not
			}
			code = `import { useZod } from "parley:runtime"; import { toJSONSchema } from ` + quote(from) + `; useZod(toJSONSchema);`
		}
		return api.OnLoadResult{Contents: &code, Loader: api.LoaderJS, ResolveDir: dir}, nil
	})
	b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: "parley-absent"}, func(a api.OnLoadArgs) (api.OnLoadResult, error) { return loadAbsent(within, a) })
	b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: "parley-package"}, loadPackage)
	addon := loadAddon
	if target == Node {
		addon = loadPackage
	}
	b.OnLoad(api.OnLoadOptions{Filter: `\.node$`, Namespace: "file"}, addon)
	b.OnLoad(api.OnLoadOptions{Filter: `\.[cm]?[jt]sx?$`, Namespace: "file"}, read.load)
	b.OnLoad(api.OnLoadOptions{Filter: `\.ya?ml$`, Namespace: "file"}, read.loadYAML)
}

// resolveLibrary resolves the imports of what the binary carries, all of which is
// in package js.
func resolveLibrary(b api.PluginBuild, target Target) {
	resolveLocales(b)
	place := inside
	if target == Node {
		place = insideNode
	}
	b.OnResolve(api.OnResolveOptions{Filter: `.*`}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		file, ok := js.Resolve(a.Importer, a.Path)
		if !ok {
			return api.OnResolveResult{}, fmt.Errorf("the binary does not carry %q", a.Path)
		}
		return place(file), nil
	})
	b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: "parley"}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		text, err := fs.ReadFile(js.FS(), a.Path)
		if err != nil {
			return api.OnLoadResult{}, err
		}
		code := js.Prefix(a.Path) + string(text)
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

// sideEffects reports what the bundler may leave out: parts of zod, whose package
// declares so.
func sideEffects(file string) api.SideEffects {
	if strings.HasPrefix(file, "third_party/") {
		return api.SideEffectsFalse
	}
	return api.SideEffectsTrue
}

// external resolves the import of a package.
func external(b api.PluginBuild, dir string, within Bounds, a api.OnResolveArgs) (api.OnResolveResult, error) {
	name := strings.TrimPrefix(a.Path, "node:")
	if file, ok := js.Module(name); ok {
		return inside(file), nil
	}
	from := a.ResolveDir
	if from == "" {
		from = dir
	}
	fallback, carried := js.Fallback(name)
	if !strings.HasPrefix(a.Path, "node:") {
		found := b.Resolve(a.Path, api.ResolveOptions{ResolveDir: from, Kind: a.Kind, Importer: a.Importer, PluginData: own{}})
		switch installed := len(found.Errors) == 0; {
		case !installed, carried && !within.contain(found.Path):
		case a.ResolveDir != "":
			return api.OnResolveResult{}, nil // the bundler finds it again, with its settings
		default:
			return api.OnResolveResult{Path: found.Path, Namespace: found.Namespace, External: found.External, PluginData: found.PluginData}, nil
		}
	}
	if carried {
		return inside(fallback), nil
	}
	// Code that imports a package while it runs may work without it.
	if a.Kind == api.ResolveJSRequireCall || a.Kind == api.ResolveJSRequireResolve || a.Kind == api.ResolveJSDynamicImport {
		return api.OnResolveResult{Path: a.Path, Namespace: "parley-absent", PluginData: from}, nil
	}
	return api.OnResolveResult{Errors: []api.Message{{Text: whyAbsent(from, within, a.Path)}}}, nil
}

// whyAbsent explains to the author why a package cannot be imported by a file in
// the directory from.
func whyAbsent(from string, within Bounds, name string) string {
	if strings.HasPrefix(name, "node:") {
		return fmt.Sprintf("%q is not available in this runtime: do without it, or %s, and Node.js runs it", name, UseNode)
	}
	link := installed(from, within, name)
	if link == "" {
		return fmt.Sprintf("the package %q is not installed: run npm install in the directory of the agent", name)
	}
	if info, err := os.Lstat(link); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Sprintf("the package %q is linked, but the files that its package.json names are missing: build it first, for example with npm run build in its directory", name)
	}
	return fmt.Sprintf("the package %q is installed, but its package.json names no file for this import that exists", name)
}

// installed returns the directory of a package that a file in the directory from
// can import; empty if it is not installed.
func installed(from string, within Bounds, name string) string {
	parts := strings.SplitN(name, "/", 3)
	if !strings.HasPrefix(name, "@") || len(parts) == 1 {
		parts = parts[:1]
	} else {
		parts = parts[:2]
	}
	for dir := from; ; dir = filepath.Dir(dir) {
		file := filepath.Join(dir, "node_modules", filepath.Join(parts...), "package.json")
		if _, err := os.Stat(file); err == nil && within.contain(file) {
			return filepath.Dir(file)
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// loadAbsent loads a module in place of a package that is not installed.
func loadAbsent(within Bounds, a api.OnLoadArgs) (api.OnLoadResult, error) {
	from, _ := a.PluginData.(string)
	return throws(fmt.Sprintf("Cannot find module '%s': %s", a.Path, whyAbsent(from, within, a.Path)), "MODULE_NOT_FOUND")
}

// loadAddon loads a module in place of compiled code. Many packages do without it.
func loadAddon(a api.OnLoadArgs) (api.OnLoadResult, error) {
	of := ""
	if name := packageName(a.Path); name != "" {
		of = fmt.Sprintf(" of the package %q", name)
	}
	return throws(fmt.Sprintf("%s%s is a native addon, which QuickJS does not run: use a package without native code, or %s, and Node.js runs it", filepath.Base(a.Path), of, UseNode), "ERR_DLOPEN_FAILED")
}

// throws returns a module that throws each time it is required, as Node.js does; a
// module that throws itself runs only once.
func throws(text, code string) (api.OnLoadResult, error) {
	module := `Object.defineProperty(module, "exports", { get() { throw Object.assign(new Error(` + quote(text) + `), { code: ` + quote(code) + ` }); } });`
	return api.OnLoadResult{Contents: &module, Loader: api.LoaderJS}, nil
}
