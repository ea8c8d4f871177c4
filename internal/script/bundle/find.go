package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// App is an application in a directory, which may have others.
type App struct {
	Name  string
	Dir   string
	Entry string // the path of the file that it starts with
}

// extensions of files with code, in order of precedence.
var extensions = []string{".ts", ".mts", ".cts", ".tsx", ".js", ".mjs", ".cjs"}

// yamlEntry is the file of an application without code.
const yamlEntry = "root_agent.yaml"

// entries are the files that an application may start with, in order of
// precedence.
func entries() []string {
	var list []string
	for _, dir := range []string{"", "src"} {
		for _, base := range []string{"index", "app", "agent"} {
			for _, ext := range extensions {
				list = append(list, filepath.Join(dir, base+ext))
			}
		}
	}
	return append(list, yamlEntry)
}

const whatIsFound = "an application is a directory with an index.ts (or app.ts, agent.ts) that exports rootAgent, or a file such as my_agent.ts that does"

// Find finds applications: the file that path names, the directory itself if it
// has an entry file, or else its sub-directories that have one and its files that
// export a root agent. name, if not empty, is the name of a single application.
// root is the directory without symbolic links.
func Find(path, name string) (root string, found []App, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return "", nil, err
	}
	path = resolveLinks(path)
	info, err := os.Stat(path)
	switch {
	case err == nil && info.Mode().IsRegular():
		found, err = fileAt(path)
	case err != nil || !info.IsDir():
		err = fmt.Errorf("the agent directory %s is not there", path)
	default:
		found, err = findIn(path)
	}
	switch {
	case err != nil:
		return "", nil, err
	case len(found) > 1 && name != "":
		return "", nil, fmt.Errorf("%s has %d applications, which cannot all be called %s", path, len(found), name)
	case name != "":
		found[0].Name = name
	}
	root = path
	if info.Mode().IsRegular() {
		root = found[0].Dir
	}
	return root, found, nil
}

// fileAt returns the application that starts with a file.
func fileAt(file string) ([]App, error) {
	dir, base := filepath.Split(file)
	dir = filepath.Clean(dir)
	for _, d := range []string{filepath.Dir(dir), dir} { // it may be below src
		if entryOf(d) == file {
			return []App{{filepath.Base(d), d, file}}, nil
		}
	}
	ext := filepath.Ext(base)
	if base != yamlEntry && !slices.Contains(extensions, ext) {
		return nil, fmt.Errorf("%s is not an agent: %s", file, whatIsFound)
	}
	return []App{{strings.TrimSuffix(base, ext), dir, file}}, nil
}

// findIn finds the applications in a directory.
func findIn(dir string) (found []App, err error) {
	if entry := entryOf(dir); entry != "" {
		return []App{{filepath.Base(dir), dir, entry}}, nil
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	named := func(name string) bool {
		return slices.ContainsFunc(found, func(one App) bool { return one.Name == name })
	}
	for _, one := range list {
		if strings.HasPrefix(one.Name(), ".") || one.Name() == "node_modules" {
			continue
		}
		sub := filepath.Join(dir, one.Name())
		if entry := entryOf(sub); entry != "" {
			found = append(found, App{one.Name(), sub, entry})
		}
	}
	for _, ext := range extensions {
		for _, one := range list {
			name, ok := strings.CutSuffix(one.Name(), ext)
			file := filepath.Join(dir, one.Name())
			if ok && name != "" && !strings.Contains(name, ".") && !named(name) && exportsAgent(file) {
				found = append(found, App{name, dir, file})
			}
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no agent was found in %s: %s; make one with parley create my_agent", dir, whatIsFound)
	}
	slices.SortFunc(found, func(a, b App) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// maxLoose is the size limit of a file that is read to see what it exports.
const maxLoose = 1 << 20

// rootExport matches the export of a root agent by a CommonJS module.
var rootExport = regexp.MustCompile(`\bexports\.(?:rootAgent|root_agent)\b|\bmodule\.exports\s*=\s*\{[^}]*\b(?:rootAgent|root_agent)\b`)

// exportsAgent reports whether a file exports a root agent. It does not run the
// file.
func exportsAgent(file string) bool {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxLoose {
		return false
	}
	text, err := os.ReadFile(file) //nolint:gosec // it is in the directory that is served
	if err != nil || !bytes.Contains(text, []byte("rootAgent")) && !bytes.Contains(text, []byte("root_agent")) {
		return false
	}
	loader := api.LoaderTS
	if strings.HasSuffix(file, "x") {
		loader = api.LoaderTSX
	}
	result := api.Build(api.BuildOptions{
		Stdin: &api.StdinOptions{Contents: string(text), Loader: loader}, Format: api.FormatESModule, Metafile: true, LogLevel: api.LogLevelSilent,
	})
	var meta struct {
		Outputs map[string]struct{ Exports []string }
	}
	if len(result.Errors) > 0 || json.Unmarshal([]byte(result.Metafile), &meta) != nil {
		return rootExport.Match(text) || bytes.Contains(text, []byte("export")) // loading it says what is wrong
	}
	for _, out := range meta.Outputs {
		if slices.Contains(out.Exports, "rootAgent") || slices.Contains(out.Exports, "root_agent") {
			return true
		}
	}
	return rootExport.Match(text)
}

func entryOf(dir string) string {
	if file := MainFile(dir); file != "" {
		return filepath.Join(dir, file)
	}
	return ""
}

// MainFile returns the file that the application in a directory starts with,
// relative to the directory; empty if there is no application.
func MainFile(dir string) string {
	for _, file := range entries() {
		if info, err := os.Stat(filepath.Join(dir, file)); err == nil && info.Mode().IsRegular() {
			return file
		}
	}
	return ""
}
