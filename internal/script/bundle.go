package script

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

	"github.com/evanw/esbuild/pkg/api"
	"github.com/go-sourcemap/sourcemap"

	"github.com/parley-run/parley/internal/script/tssig"
	"github.com/parley-run/parley/internal/wire"
)

// bundle is the code of one application, in one module. What it imports of the
// JavaScript that the binary carries is not in it: that is a pack.
type bundle struct {
	Code      string
	SourceMap []byte
	Files     []string // what it was made of, to be watched for changes
	Builtin   []string // what it needs of the binary's own, by file under js/

	read   *sources // nil when it comes from the cache
	parse  sync.Once
	places *sourcemap.Consumer
}

// build bundles an application with everything that it imports within bounds.
func build(entry string, within bounds) (*bundle, error) {
	return bundleOf(filepath.Dir(entry), within, `import { start } from "parley:runtime"; import "parley:zod"; import * as app from `+quote(entry)+`; start(app);`)
}

// mainName is what the module is called that a bundle begins with.
const mainName = "parley:main"

// defines are the expressions that the bundler replaces.
var defines = map[string]string{
	"require.main": "undefined", "global": "globalThis",
	"import.meta.url": "__meta_url", "import.meta.dirname": "__meta_dirname", "import.meta.filename": "__meta_filename", // see load
}

// options are those of everything that is bundled.
func options(main, dir string, resolve func(api.PluginBuild)) api.BuildOptions {
	return api.BuildOptions{
		Stdin:  &api.StdinOptions{Contents: main, ResolveDir: dir, Sourcefile: mainName, Loader: api.LoaderJS},
		Bundle: true, Write: false, Outfile: "bundle.js",
		Format: api.FormatESModule, Platform: api.PlatformBrowser, Target: api.ES2023,
		MainFields: []string{"module", "main"}, Conditions: []string{"module", "node", "default"}, // with import or require, as the case is
		KeepNames: true, Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsNone, LogLevel: api.LogLevelSilent,
		Define:  defines,
		Plugins: []api.Plugin{{Name: "parley", Setup: resolve}},
	}
}

// bundleOf bundles a module, whose text is given, with what it imports.
func bundleOf(dir string, within bounds, main string) (*bundle, error) {
	read := &sources{}
	o := options(main, dir, func(b api.PluginBuild) { resolveApp(b, dir, within, read) })
	o.Sourcemap, o.SourcesContent = api.SourceMapExternal, api.SourcesContentInclude
	o.Metafile, o.AbsWorkingDir = true, dir
	// The engine leaves a loop before what it iterates over has been closed.
	o.Supported = map[string]bool{"for-await": false}
	result := api.Build(o)
	if len(result.Errors) > 0 {
		return nil, newBuildError(dir, within, result.Errors)
	}
	out := &bundle{read: read}
	for _, f := range result.OutputFiles {
		if strings.HasSuffix(f.Path, ".map") {
			out.SourceMap = f.Contents
		} else {
			out.Code = string(f.Contents)
		}
	}
	var err error
	if out.SourceMap, err = within.strip(dir, out.SourceMap); err != nil {
		return nil, err
	}
	var meta struct{ Inputs map[string]struct{} }
	if err := json.Unmarshal([]byte(result.Metafile), &meta); err != nil {
		return nil, err
	}
	for input := range meta.Inputs {
		switch file, inside := strings.CutPrefix(input, "parley:"); {
		case inside && file != "main":
			out.Builtin = append(out.Builtin, file)
		case !strings.Contains(input, ":"):
			out.Files = append(out.Files, filepath.Join(dir, filepath.FromSlash(input)))
		}
	}
	slices.Sort(out.Files)
	slices.Sort(out.Builtin)
	return out, nil
}

func quote(s string) string { return string(wire.Quote(nil, s)) }

// buildError is why code could not be bundled, and the files in which that shows.
type buildError struct {
	error
	files []string
}

// mostErrors is how many errors are shown: a pattern of imports may lead to
// many files.
const mostErrors = 20

// newBuildError shows what the author has to mend: the file, the line, and the
// line itself. Of files that the application may not import, nothing is shown.
func newBuildError(dir string, within bounds, messages []api.Message) *buildError {
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
			case refused && at.File == mainName: // it is what the entry file leads to
				text = "the entry file " + whyOutside
			case refused:
				text = fmt.Sprintf("%s:%d:%d: %s %s", file, at.Line, at.Column+1, importIn(at), whyOutside)
			case !within.check(absolute(dir, file)):
				text = file + ": it " + whyOutside
			default:
				text = fmt.Sprintf("%s:%d:%d: %s\n\t%s", file, at.Line, at.Column+1, m.Text, strings.TrimSpace(at.LineText))
			}
		}
		if slices.Contains(texts, text) {
			continue
		}
		if len(texts) == mostErrors {
			all = append(all, errors.New("and more"))
			break
		}
		texts, all = append(texts, text), append(all, errors.New(text))
	}
	return &buildError{errors.Join(all...), files}
}

var meta = regexp.MustCompile(`\bimport\.meta\.(?:url|dirname|filename)\b`)

// declares finds out whether a file has a name of its own, which it may import.
func declares(name string) *regexp.Regexp {
	return regexp.MustCompile(`\b(?:const|let|var)\s*(?:\{[^}]*)?\b` + name + `\b|(?m:^|[;}])\s*import\b[^'"(;]*\b` + name + `\b\s*(?:[,}]|from\b)`)
}

var ownDirname, ownFilename = declares("__dirname"), declares("__filename")

// sources reads the author's files, and remembers what was in them: they may be
// others by the time that the bundle is made.
type sources struct{ sums sync.Map }

func (s *sources) file(name string) ([]byte, error) {
	text, err := os.ReadFile(name) //nolint:gosec // a source of the agent's
	if err == nil {
		s.sums.Store(name, sha256.Sum256(text))
	}
	return text, err
}

// load reads a source file, and puts in what Node.js would tell it about its
// place. Lines stay where they are.
func (s *sources) load(a api.OnLoadArgs) (api.OnLoadResult, error) {
	text, err := s.file(a.Path)
	if err != nil {
		return api.OnLoadResult{}, err
	}
	code := string(text)
	if strings.HasPrefix(code, "#!") {
		code = "//" + code // something may have to stand before it
	}
	if strings.Contains(code, "__dirname") && !ownDirname.MatchString(code) {
		code = "var __dirname = " + quote(filepath.Dir(a.Path)) + "; " + code
	}
	if strings.Contains(code, "__filename") && !ownFilename.MatchString(code) {
		code = "var __filename = " + quote(a.Path) + "; " + code
	}
	if meta.MatchString(code) {
		at := &url.URL{Scheme: "file", Path: filepath.ToSlash(a.Path)}
		code = "var __meta_url = " + quote(at.String()) + ", __meta_dirname = " + quote(filepath.Dir(a.Path)) + ", __meta_filename = " + quote(a.Path) + "; " + code
	}
	code = tssig.Annotate(a.Path, code)
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
