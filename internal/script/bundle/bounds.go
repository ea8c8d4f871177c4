package bundle

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// Bounds are the directories that may contain files of an application, without
// symbolic links: the one that is served, that of the application, which the
// operator may have linked from elsewhere, and the node_modules directories
// above them, where Node.js looks for packages.
type Bounds []string

// NewBounds returns the bounds of the application in dir, which is below root.
func NewBounds(root, dir string) Bounds {
	var b Bounds
	for _, one := range []string{root, dir} {
		one = resolveLinks(one)
		if !slices.Contains(b, one) {
			b = append(b, one)
		}
		for d := one; d != filepath.Dir(d); {
			d = filepath.Dir(d)
			// Those below are the author's, and must not link elsewhere.
			if packages := filepath.Join(d, "node_modules"); !b.hold(packages) {
				if info, err := os.Stat(packages); err == nil && info.IsDir() {
					b = append(b, resolveLinks(packages))
				}
			}
		}
	}
	return b
}

// absolute is a path that may be relative to dir.
func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// resolveLinks returns a path without symbolic links; path itself if it does not
// exist.
func resolveLinks(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return path
}

// hold reports whether a path without links is within the bounds.
func (b Bounds) hold(path string) bool {
	return slices.ContainsFunc(b, func(dir string) bool {
		rel, err := filepath.Rel(dir, path)
		return err == nil && filepath.IsLocal(rel)
	})
}

// contain reports whether the file that path resolves to is within the bounds. A
// file that does not exist is: opening it fails later.
func (b Bounds) contain(path string) bool {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return b.hold(resolved)
}

// ErrOutside means that a file is out of bounds. Its text follows the name of the
// file.
var ErrOutside = errors.New(whyOutside)

// Open opens a file within the bounds, and returns ErrOutside for others.
func (b Bounds) Open(path string) (*os.File, error) {
	if !b.contain(path) {
		return nil, ErrOutside
	}
	return os.Open(path) //nolint:gosec // it is within the bounds
}

// outside marks the message about an import that is out of bounds.
type outside struct{}

const whyOutside = "leads out of the agent directory: agents can import files below the directory that is served (--agent_dir), " +
	"and packages in node_modules. Serve a directory that contains both, or copy the file"

// refuse rejects files out of bounds. The bundler calls it for every file, however
// it was imported, before the functions that load files.
func (b Bounds) refuse(a api.OnLoadArgs) (api.OnLoadResult, error) {
	if b.contain(a.Path) {
		return api.OnLoadResult{}, nil
	}
	return api.OnLoadResult{Errors: []api.Message{{Text: "it " + whyOutside, Detail: outside{}}}}, nil
}

// strip removes the text of files out of bounds from a source map: the bundler
// reads the files that source maps of the author's files name.
func (b Bounds) strip(dir string, sourceMap []byte) ([]byte, error) {
	var doc struct {
		Sources []string `json:"sources"`
	}
	if err := json.Unmarshal(sourceMap, &doc); err != nil {
		return nil, err
	}
	keep := func(source string) bool {
		return b.contain(absolute(dir, filepath.FromSlash(source)))
	}
	if !slices.ContainsFunc(doc.Sources, func(source string) bool { return !keep(source) }) {
		return sourceMap, nil
	}
	var whole map[string]json.RawMessage
	var texts []*string
	if err := json.Unmarshal(sourceMap, &whole); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(whole["sourcesContent"], &texts); err != nil {
		return nil, err
	}
	for i, source := range doc.Sources {
		if i < len(texts) && !keep(source) {
			texts[i] = nil
		}
	}
	var err error
	if whole["sourcesContent"], err = json.Marshal(texts); err != nil {
		return nil, err
	}
	return json.Marshal(whole)
}

// importIn is the import that a location in the author's code points to.
func importIn(at *api.Location) string {
	if end := at.Column + at.Length; at.Column >= 0 && end <= len(at.LineText) && at.Length > 0 {
		return at.LineText[at.Column:end]
	}
	return strings.TrimSpace(at.LineText)
}
