// Package bundle finds applications in directories, and bundles the code of each
// into one module, together with the packages that it imports. The JavaScript
// that the binary carries is not part of a bundle: it is compiled to bytecode
// once, and run before.
//
// A bundle contains only files within the bounds of its application.
package bundle

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/go-sourcemap/sourcemap"

	"github.com/parley-run/parley/internal/script/tssig"
	"github.com/parley-run/parley/internal/wire"
)

// Bundle is the code of one application, in one module.
type Bundle struct {
	Code      string
	SourceMap []byte
	Files     []string // the sources, to be watched for changes
	Builtin   []string // the files of package js that it imports
	Target    Target

	read      *sources // nil if it comes from the cache
	parse     sync.Once
	positions *sourcemap.Consumer
}

// Target is what runs a bundle.
type Target int

// The targets.
const (
	QuickJS Target = iota
	Node           // a process of Node.js
)

// Name is the name of the module in stack traces.
const Name = "bundle.js"

// build bundles an application with everything that it imports.
func build(target Target, entry string, within Bounds) (*Bundle, error) {
	return module(target, filepath.Dir(entry), within, `import { start } from "parley:runtime"; import "parley:zod"; import * as app from `+quote(entry)+`; start(app);`)
}

// mainName is the name of the module that a bundle begins with.
const mainName = "parley:main"

// defines are the expressions that the bundler replaces.
var defines = map[string]string{
	"require.main": "undefined", "global": "globalThis",
	"import.meta.url": "__meta_url", "import.meta.dirname": "__meta_dirname", "import.meta.filename": "__meta_filename", // see load
}

// options are the options of the bundler, for applications and the library.
func options(main, dir string, resolve func(api.PluginBuild)) api.BuildOptions {
	return api.BuildOptions{
		Stdin:  &api.StdinOptions{Contents: main, ResolveDir: dir, Sourcefile: mainName, Loader: api.LoaderJS},
		Bundle: true, Write: false, Outfile: Name,
		// Packages are taken as Node.js takes them. The bundler has a platform for it,
		// which leaves the modules of Node.js out, too.
		Format: api.FormatESModule, Platform: api.PlatformNeutral, Target: api.ES2023,
		MainFields: []string{"main", "module"}, Conditions: []string{"node"}, // with import or require, as the case is
		KeepNames: true, Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsNone, LogLevel: api.LogLevelSilent,
		Define:  defines,
		Plugins: []api.Plugin{{Name: "parley", Setup: resolve}},
	}
}

// Module bundles a module for QuickJS, whose text is main, with everything that it
// imports. Its imports are relative to dir.
func Module(dir string, within Bounds, main string) (*Bundle, error) {
	return module(QuickJS, dir, within, main)
}

func module(target Target, dir string, within Bounds, main string) (*Bundle, error) {
	read := &sources{}
	result := run(target, dir, within, main, read, nil)
	if len(result.Errors) == 0 && read.computed.Load() {
		all := filesBelow(home(dir), within)
		inputs, _, err := inputsOf(dir, result)
		if err != nil {
			return nil, err
		}
		for _, file := range inputs {
			all.needed[file] = true
		}
		read.dirs = all.dirs
		for range retries {
			result = run(target, dir, within, `import "parley:files"; `+main, read, all)
			if len(result.Errors) == 0 || !all.drop(dir, within, result.Errors) {
				break
			}
		}
	}
	if len(result.Errors) > 0 {
		return nil, newError(dir, within, result.Errors)
	}
	out := &Bundle{Target: target, read: read}
	for _, f := range result.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			out.SourceMap = f.Contents
		} else {
			out.Code = string(f.Contents)
		}
	}
	if target == QuickJS {
		out.Code = dropNames(out.Code)
	}
	var err error
	if out.SourceMap, err = within.strip(dir, out.SourceMap); err != nil {
		return nil, err
	}
	out.Files, out.Builtin, err = inputsOf(dir, result)
	return out, err
}

// home is the directory of the application whose entry file is in dir.
func home(dir string) string {
	if filepath.Base(dir) == "src" {
		return filepath.Dir(dir)
	}
	return dir
}

// run runs the bundler. all are the files that code may import by a computed name;
// nil for none.
func run(target Target, dir string, within Bounds, main string, read *sources, all *files) api.BuildResult {
	o := options(main, dir, func(b api.PluginBuild) { resolveApp(b, target, dir, within, read, all) })
	o.Sourcemap, o.SourcesContent = api.SourceMapExternal, api.SourcesContentInclude
	o.Metafile, o.AbsWorkingDir = true, dir
	if target == Node {
		forNode(&o)
		return api.Build(o)
	}
	// The engine leaves a for await loop before the iterator is closed.
	o.Supported = map[string]bool{"for-await": false}
	return api.Build(o)
}

// inputsOf returns the files that a bundle consists of, and those of package js.
func inputsOf(dir string, result api.BuildResult) (files, builtin []string, err error) {
	var meta struct{ Inputs map[string]struct{} }
	if err := json.Unmarshal([]byte(result.Metafile), &meta); err != nil {
		return nil, nil, err
	}
	for input := range meta.Inputs {
		switch file, inside := strings.CutPrefix(input, "parley:"); {
		case inside && file != "main":
			builtin = append(builtin, file)
		case !strings.Contains(input, ":"):
			files = append(files, filepath.Join(dir, filepath.FromSlash(input)))
		}
	}
	slices.Sort(files)
	slices.Sort(builtin)
	return files, builtin, nil
}

func quote(s string) string { return string(wire.Quote(nil, s)) }

// Error is an error of the code that prevents bundling.
type Error struct {
	error
	Files []string // that contain errors
}

// maxErrors is how many errors are shown: a pattern in an import may match many
// files.
const maxErrors = 20

// newError describes each error to the author: the file, the line number, and
// the line itself. It shows nothing of files that are out of bounds.
func newError(dir string, within Bounds, messages []api.Message) *Error {
	var (
		all   []error
		texts []string
		files []string
	)
	for _, m := range messages {
		text := m.Text
		if at := m.Location; at != nil {
			_, refused := m.Detail.(outside)
			file := at.File
			if !filepath.IsAbs(file) {
				file = filepath.Clean(file)
				files = append(files, filepath.Join(dir, file))
			}
			switch {
			case refused && at.File == mainName: // which imports the entry file
				text = "the entry file " + whyOutside
			case refused:
				text = fmt.Sprintf("%s:%d:%d: %s %s", file, at.Line, at.Column+1, importIn(at), whyOutside)
			case !within.contain(absolute(dir, file)):
				text = file + ": it " + whyOutside
			default:
				text = fmt.Sprintf("%s:%d:%d: %s\n\t%s", file, at.Line, at.Column+1, m.Text, strings.TrimSpace(at.LineText))
			}
		}
		if slices.Contains(texts, text) {
			continue
		}
		if len(texts) == maxErrors {
			all = append(all, errors.New("and more"))
			break
		}
		texts, all = append(texts, text), append(all, errors.New(text))
	}
	return &Error{errors.Join(all...), files}
}

// requireResolve is require.resolve of a file that is named by a relative path.
var requireResolve = regexp.MustCompile(`\brequire\.resolve\(\s*("\.{1,2}/[^"\n]*"|'\.{1,2}/[^'\n]*')\s*\)`)

var meta = regexp.MustCompile(`\bimport\.meta\.(?:url|dirname|filename)\b`)

// declaration matches code that declares or imports a name.
func declaration(name string) *regexp.Regexp {
	return regexp.MustCompile(`\b(?:const|let|var)\s*(?:\{[^}]*)?\b` + name + `\b|(?m:^|[;}])\s*import\b[^'"(;]*\b` + name + `\b\s*(?:[,}]|from\b)`)
}

var declarations = map[string]*regexp.Regexp{"__dirname": declaration("__dirname"), "__filename": declaration("__filename")}

// lacks reports whether code uses one of the names of declarations, and does not declare
// it. The expression is matched around each use of the name, between characters that no
// declaration contains: some packages are files of several megabytes.
func lacks(code, name string) bool {
	uses := false
	for end := 0; ; uses = true {
		next := strings.Index(code[end:], name)
		if next < 0 {
			return uses
		}
		at := end + next
		end = at + len(name)
		start := max(0, min(strings.LastIndexByte(code[:at], '}'), strings.LastIndexAny(code[:at], `'"(;`)))
		after := strings.TrimLeft(code[end:], " \t\n\f\r")
		if declarations[name].MatchString(code[start : len(code)-len(after)+min(len(after), len("from "))]) {
			return false
		}
	}
}

// sources reads the author's files and records their checksums: the files may
// change before the bundle is complete.
type sources struct {
	sums     sync.Map
	computed atomic.Bool // an import has a computed argument
	dirs     []string    // in which it may find a file
}

func (s *sources) file(name string) ([]byte, error) {
	text, err := os.ReadFile(name) //nolint:gosec // a source of the agent's
	if err == nil {
		s.sums.Store(name, sha256.Sum256(text))
	}
	return text, err
}

// load reads a source file, and declares the variables that hold its path in
// Node.js. Line numbers do not change.
func (s *sources) load(a api.OnLoadArgs) (api.OnLoadResult, error) {
	text, err := s.file(a.Path)
	if err != nil {
		return api.OnLoadResult{}, err
	}
	code := string(text)
	if strings.HasPrefix(code, "#!") {
		code = "//" + code // a declaration may be put before it
	}
	if lacks(code, "__dirname") {
		code = "var __dirname = " + quote(filepath.Dir(a.Path)) + "; " + code
	}
	if lacks(code, "__filename") {
		code = "var __filename = " + quote(a.Path) + "; " + code
	}
	if strings.Contains(code, "import.meta") && meta.MatchString(code) { // the expression is slow on megabytes
		at := &url.URL{Scheme: "file", Path: filepath.ToSlash(a.Path)}
		code = "var __meta_url = " + quote(at.String()) + ", __meta_dirname = " + quote(filepath.Dir(a.Path)) + ", __meta_filename = " + quote(a.Path) + "; " + code
	}
	if strings.Contains(code, "wasm_on_headers_complete") { // of undici, whose parser is WebAssembly
		code = `var { WebAssembly } = require("parley:http/llhttp"); ` + code
	}
	if strings.Contains(code, "require.resolve") {
		// What the call is given stays as it is written: it may be a part of a string.
		if replaced := requireResolve.ReplaceAllString(code, "__resolve($1)"); replaced != code {
			code = "var __resolve = (path, at = " + quote(filepath.ToSlash(filepath.Dir(a.Path))) + ") => { for (const part of path.split('/')) " +
				"{ if (part === '..') at = at.slice(0, at.lastIndexOf('/')); else if (part !== '.') at += '/' + part; } return at; }; " + replaced
		}
	}
	code = s.computedImports(a.Path, tssig.Annotate(a.Path, code))
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
