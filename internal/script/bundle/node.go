package bundle

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/parley-run/parley/internal/script/js"
)

// A bundle for Node.js has the author's files only. Node.js loads its own modules
// and the packages in node_modules, which may look for files next to theirs.

// forNode changes the options of the bundler.
func forNode(o *api.BuildOptions) {
	o.Platform, o.MainFields, o.Conditions = api.PlatformNode, []string{"main"}, []string{}
}

// insideNode is inside for the library.
func insideNode(file string) api.OnResolveResult {
	file, module := js.ForNode(file)
	if module != "" {
		return api.OnResolveResult{Path: "node:" + module, External: true}
	}
	return inside(file)
}

// nodeImport resolves the import of what Node.js loads. ok is false for what is
// resolved as for QuickJS: what the binary carries in place of packages, packages
// that are not installed, and those that are part of the bundle.
func nodeImport(b api.PluginBuild, dir string, within Bounds, a api.OnResolveArgs) (result api.OnResolveResult, ok bool) {
	name, prefixed := strings.CutPrefix(a.Path, "node:")
	file, carried := js.Module(name)
	if prefixed || carried && strings.HasPrefix(file, "node/") {
		return api.OnResolveResult{Path: "node:" + name, External: true}, true
	}
	if carried && name != "node-fetch" { // the package works where Node.js runs it
		return api.OnResolveResult{}, false
	}
	from := a.ResolveDir
	if from == "" {
		from = dir
	}
	found := b.Resolve(a.Path, api.ResolveOptions{ResolveDir: from, Kind: a.Kind, Importer: a.Importer, PluginData: own{}})
	if len(found.Errors) > 0 || found.Namespace != "file" || !within.contain(found.Path) {
		return api.OnResolveResult{}, false
	}
	pkg, isModule := packageOf(found.Path)
	switch ext := filepath.Ext(found.Path); {
	case pkg == nil || pkg.usesADK(), ext != ".node" && ext != ".js" && ext != ".cjs" && ext != ".mjs":
		if carried {
			return api.OnResolveResult{Path: found.Path, Namespace: "file"}, true
		}
		return api.OnResolveResult{}, false
	case isModule && (a.Kind == api.ResolveJSImportStatement || a.Kind == api.ResolveJSDynamicImport):
		at := &url.URL{Scheme: "file", Path: filepath.ToSlash(found.Path)}
		return api.OnResolveResult{Path: at.String(), External: true}, true
	}
	return api.OnResolveResult{Path: found.Path, Namespace: "parley-package"}, true
}

// loadPackage loads a package that is not part of the bundle. The bundler makes
// all members of a CommonJS module available to import, and Node.js only those
// that it finds without running the module.
func loadPackage(a api.OnLoadArgs) (api.OnLoadResult, error) {
	code := "module.exports = globalThis.require(" + quote(a.Path) + ");"
	return api.OnLoadResult{Contents: &code, Loader: api.LoaderJS}, nil
}

// manifest is the package.json of a package.
type manifest struct {
	Type             string            `json:"type"`
	Dependencies     map[string]string `json:"dependencies"`
	PeerDependencies map[string]string `json:"peerDependencies"`
}

// usesADK reports whether a package imports what the binary carries in place of
// other packages: it must be in the bundle to get that.
func (m *manifest) usesADK() bool {
	for _, list := range []map[string]string{m.Dependencies, m.PeerDependencies} {
		for name := range list {
			if file, ok := js.Module(name); ok && strings.HasPrefix(file, "adk/") {
				return true
			}
		}
	}
	return false
}

// packageOf returns the manifest of the package in node_modules that a file belongs
// to, nil if it belongs to none, and whether Node.js loads the file as an
// ECMAScript module.
func packageOf(file string) (pkg *manifest, isModule bool) {
	name := packageName(file)
	if name == "" {
		return nil, false
	}
	const dir = "/node_modules/"
	path := filepath.ToSlash(file)
	root := filepath.FromSlash(path[:strings.LastIndex(path, dir)+len(dir)] + name)
	pkg = readManifest(root)
	if pkg == nil {
		pkg = &manifest{}
	}
	if ext := filepath.Ext(file); ext != ".js" {
		return pkg, ext == ".mjs"
	}
	// The nearest package.json decides, which may be that of a directory of it.
	for dir := filepath.Dir(file); dir != root && len(dir) > len(root); dir = filepath.Dir(dir) {
		if nearest := readManifest(dir); nearest != nil {
			return pkg, nearest.Type == "module"
		}
	}
	return pkg, pkg.Type == "module"
}

func readManifest(dir string) *manifest {
	text, err := os.ReadFile(filepath.Join(dir, "package.json")) //nolint:gosec // of an installed package
	m := &manifest{}
	if err != nil || json.Unmarshal(text, m) != nil {
		return nil
	}
	return m
}
