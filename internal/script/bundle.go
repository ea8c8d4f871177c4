package script

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/go-sourcemap/sourcemap"

	"github.com/parley-run/parley/internal/wire"
)

// builtin is the JavaScript that the binary carries: the runtime, the packages
// that agents are written against, and what they expect of Node.js.
//
//go:embed all:js
var builtin embed.FS

// bundle is the code of one application, in one module.
type bundle struct {
	Code      string
	SourceMap []byte
	Files     []string // what it was made of, to be watched for changes

	parse  sync.Once
	places *sourcemap.Consumer
}

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
}

// build bundles an application with everything that it imports.
func build(entry string) (*bundle, error) {
	dir := filepath.Dir(entry)
	result := api.Build(api.BuildOptions{
		Stdin: &api.StdinOptions{
			Contents:   `import { start } from "parley:runtime"; import * as app from ` + quote(entry) + `; start(app);`,
			ResolveDir: dir, Sourcefile: "parley:main", Loader: api.LoaderJS,
		},
		Bundle: true, Write: false, Outfile: "bundle.js",
		Format: api.FormatESModule, Platform: api.PlatformBrowser, Target: api.ES2023,
		MainFields: []string{"module", "main"}, Conditions: []string{"import", "module", "node", "default"},
		KeepNames: true, Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsNone,
		Sourcemap: api.SourceMapExternal, SourcesContent: api.SourcesContentInclude,
		Metafile: true, AbsWorkingDir: dir, LogLevel: api.LogLevelSilent,
		Define:  map[string]string{"require.main": "undefined", "global": "globalThis"},
		Plugins: []api.Plugin{{Name: "parley", Setup: func(b api.PluginBuild) { resolve(b, dir) }}},
	})
	if len(result.Errors) > 0 {
		return nil, buildError(dir, result.Errors)
	}
	out := &bundle{}
	for _, f := range result.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			out.SourceMap = f.Contents
		} else {
			out.Code = string(f.Contents)
		}
	}
	var meta struct{ Inputs map[string]struct{} }
	if err := json.Unmarshal([]byte(result.Metafile), &meta); err != nil {
		return nil, err
	}
	for input := range meta.Inputs {
		if !strings.Contains(input, ":") {
			out.Files = append(out.Files, filepath.Join(dir, filepath.FromSlash(input)))
		}
	}
	slices.Sort(out.Files)
	return out, nil
}

func quote(s string) string { return string(wire.Quote(nil, s)) }

// buildError shows what the author has to mend: the file, the line, and the
// line itself.
func buildError(dir string, messages []api.Message) error {
	var all []error
	for _, m := range messages {
		text := m.Text
		if at := m.Location; at != nil {
			file := at.File
			if rel, err := filepath.Rel(dir, filepath.Join(dir, file)); err == nil && !filepath.IsAbs(file) {
				file = rel
			}
			text = fmt.Sprintf("%s:%d:%d: %s\n\t%s", file, at.Line, at.Column+1, m.Text, strings.TrimSpace(at.LineText))
		}
		all = append(all, errors.New(text))
	}
	return errors.Join(all...)
}

// own marks a look-up that must not come back to this plugin.
type own struct{}

// resolve teaches esbuild where imports lead: to what the binary carries, to
// the agent's own node_modules, or to an error that says what to do.
func resolve(b api.PluginBuild, dir string) {
	b.OnResolve(api.OnResolveOptions{Filter: `^parley:`}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		return inside(strings.TrimPrefix(a.Path, "parley:") + ".js"), nil
	})
	// All languages of zod's messages are half of its size. English stays.
	b.OnResolve(api.OnResolveOptions{Filter: `locales/index\.js$`}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		if strings.Contains("/"+filepath.ToSlash(a.Importer), "/zod/v4/") {
			return inside("zod-locales.js"), nil
		}
		return api.OnResolveResult{}, nil
	})
	b.OnResolve(api.OnResolveOptions{Filter: `.*`, Namespace: "parley"}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		if strings.HasPrefix(a.Path, ".") {
			return inside(path.Join(path.Dir(a.Importer), a.Path)), nil
		}
		return external(b, dir, a)
	})
	b.OnResolve(api.OnResolveOptions{Filter: `^[^./]`}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
		if _, again := a.PluginData.(own); again || a.Namespace == "parley" || filepath.IsAbs(a.Path) {
			return api.OnResolveResult{}, nil
		}
		return external(b, dir, a)
	})
	b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: "parley"}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
		text, err := builtin.ReadFile(path.Join("js", a.Path))
		if err != nil {
			return api.OnLoadResult{}, err
		}
		code := string(text)
		return api.OnLoadResult{Contents: &code, Loader: api.LoaderJS, ResolveDir: dir}, nil
	})
	b.OnLoad(api.OnLoadOptions{Filter: `\.[cm]?[jt]sx?$`, Namespace: "file"}, load)
	b.OnLoad(api.OnLoadOptions{Filter: `\.ya?ml$`, Namespace: "file"}, loadYAML)
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
	if from == "" || a.Namespace == "parley" {
		from = dir
	}
	if !strings.HasPrefix(a.Path, "node:") {
		found := b.Resolve(a.Path, api.ResolveOptions{ResolveDir: from, Kind: a.Kind, Importer: a.Importer, PluginData: own{}})
		if len(found.Errors) == 0 {
			return api.OnResolveResult{Path: found.Path, Namespace: found.Namespace, External: found.External, PluginData: found.PluginData}, nil
		}
	}
	if file, ok := zodFile(name); ok {
		return inside(file), nil
	}
	text := fmt.Sprintf("the package %q is not installed: run npm install in the directory of the agent", a.Path)
	if strings.HasPrefix(a.Path, "node:") {
		text = fmt.Sprintf("%q is not available in this runtime: do without it, or run the agent with Node.js", a.Path)
	}
	return api.OnResolveResult{Errors: []api.Message{{Text: text}}}, nil
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

var (
	metaURL      = regexp.MustCompile(`\bimport\.meta\.url\b`)
	metaDirname  = regexp.MustCompile(`\bimport\.meta\.dirname\b`)
	metaFilename = regexp.MustCompile(`\bimport\.meta\.filename\b`)
	ownNames     = regexp.MustCompile(`\b(?:const|let|var)\s*(?:\{[^}]*)?\b__(?:dir|file)name\b`)
)

// load reads a source file, and puts in what Node.js would tell it about its
// place. Lines stay where they are.
func load(a api.OnLoadArgs) (api.OnLoadResult, error) {
	text, err := os.ReadFile(a.Path)
	if err != nil {
		return api.OnLoadResult{}, err
	}
	code := string(text)
	if strings.Contains(code, "import.meta.") {
		code = metaURL.ReplaceAllString(code, quote((&url.URL{Scheme: "file", Path: filepath.ToSlash(a.Path)}).String()))
		code = metaDirname.ReplaceAllString(code, quote(filepath.Dir(a.Path)))
		code = metaFilename.ReplaceAllString(code, quote(a.Path))
	}
	if strings.HasPrefix(code, "#!") {
		code = "//" + code // something may have to stand before it
	}
	if (strings.Contains(code, "__dirname") || strings.Contains(code, "__filename")) && !ownNames.MatchString(code) {
		code = "var __filename = " + quote(a.Path) + ", __dirname = " + quote(filepath.Dir(a.Path)) + "; " + code
	}
	code = withSignatures(a.Path, code)
	return api.OnLoadResult{Contents: &code, Loader: loaderOf(a.Path), ResolveDir: filepath.Dir(a.Path)}, nil
}

func loaderOf(file string) api.Loader {
	switch filepath.Ext(file) {
	case ".ts", ".mts", ".cts":
		return api.LoaderTS
	case ".tsx":
		return api.LoaderTSX
	case ".jsx":
		return api.LoaderJSX
	}
	return api.LoaderJS
}
