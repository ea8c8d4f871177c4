package bundle

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/parley-run/parley/internal/script/tssig"
)

// The argument of import may be computed while the code runs. Where that is so,
// the bundle has all files of the application's directory, each as a function
// that runs it.

// maxFiles is how many files such a bundle has at most.
const maxFiles = 1000

// retries is how often a bundle is made again without the files that have errors.
const retries = 10

// importName is the variable that such an import calls.
const importName = "__import_file"

// computedImports replaces the imports of a file whose argument is computed.
func (s *sources) computedImports(file, code string) string {
	if strings.Contains(filepath.ToSlash(file), "/node_modules/") {
		return code
	}
	offsets := tssig.Imports(code)
	if len(offsets) == 0 {
		return code
	}
	s.computed.Store(true)
	for _, at := range slices.Backward(offsets) {
		code = code[:at] + importName + code[at+len("import"):]
	}
	return "var " + importName + " = (id) => globalThis.__import(String(id), " + quote(file) + "); " + code
}

// files are the files of an application that code may import by a computed name.
type files struct {
	dir    string
	dirs   []string // with those below it
	list   []string
	needed map[string]bool   // those that the application imports anyway
	broken map[string]string // the errors of others
}

// filesBelow lists the files with code below a directory.
func filesBelow(dir string, within Bounds) *files {
	f := &files{dir: dir, needed: map[string]bool{}, broken: map[string]string{}}
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // what cannot be read cannot be imported
		case entry.IsDir() && path != dir && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules"):
			return fs.SkipDir
		case entry.IsDir():
			f.dirs = append(f.dirs, path)
		case len(f.list) == maxFiles:
			return fs.SkipAll
		case strings.HasSuffix(path, ".d.ts") || !slices.Contains(append(extensions, ".json"), filepath.Ext(path)):
		case entry.Type().IsRegular() && within.contain(path):
			f.list = append(f.list, path)
		}
		return nil
	})
	return f
}

// module is the code of the module that has the functions.
func (f *files) module() string {
	var b strings.Builder
	b.WriteString("globalThis.__files = { dir: " + quote(f.dir) + ", run: {\n")
	for _, file := range f.list {
		b.WriteString(quote(file) + ": () => import(" + quote(file) + "),\n")
	}
	b.WriteString("} };\n")
	return b.String()
}

// load loads a file with an error as a module that throws it. Others are loaded as
// usual.
func (f *files) load(a api.OnLoadArgs) (api.OnLoadResult, error) {
	if text, ok := f.broken[a.Path]; ok {
		return throws(text, "ERR_MODULE_NOT_FOUND")
	}
	return api.OnLoadResult{}, nil
}

// drop marks the files that messages are about as broken. It reports whether the
// bundle can be made without them.
func (f *files) drop(dir string, within Bounds, messages []api.Message) bool {
	before := len(f.broken)
	for _, m := range messages {
		if m.Location == nil {
			return false
		}
		file := absolute(dir, filepath.FromSlash(m.Location.File))
		if f.needed[file] {
			return false
		}
		f.broken[file] = newError(dir, within, []api.Message{m}).Error()
	}
	return len(f.broken) > before
}
