package script

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

// bounds are the directories in which the files of an application may be,
// without links: the one that the operator serves, that of the application, if
// the operator has linked it from elsewhere, and the directories called
// node_modules above them, in which Node.js looks for packages.
type bounds []string

// boundsOf are those of the application in dir, which is in the directory root.
func boundsOf(root, dir string) bounds {
	var b bounds
	for _, one := range []string{root, dir} {
		one = withoutLinks(one)
		if !slices.Contains(b, one) {
			b = append(b, one)
		}
		for d := one; d != filepath.Dir(d); {
			d = filepath.Dir(d)
			// Those below are the author's, and must not lead elsewhere.
			if packages := filepath.Join(d, "node_modules"); !b.hold(packages) {
				if info, err := os.Stat(packages); err == nil && info.IsDir() {
					b = append(b, withoutLinks(packages))
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

func withoutLinks(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return path
}

// hold reports whether a path without links is within the bounds.
func (b bounds) hold(path string) bool {
	return slices.ContainsFunc(b, func(dir string) bool {
		rel, err := filepath.Rel(dir, path)
		return err == nil && filepath.IsLocal(rel)
	})
}

// check reports whether a file is within the bounds, wherever links lead. One that
// is not there is: others say so.
func (b bounds) check(path string) bool {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return b.hold(resolved)
}

// outside marks the message about an import that leads out of the bounds.
type outside struct{}

const whyOutside = "leads out of the agent directory: agents can import files below the directory that is served (--agent_dir), " +
	"and packages in node_modules. Serve a directory that contains both, or copy the file"

// refuse keeps the bundler from files outside of the bounds. It is asked for every
// file, however an import has led to it, and lets others load it.
func (b bounds) refuse(a api.OnLoadArgs) (api.OnLoadResult, error) {
	if b.check(a.Path) {
		return api.OnLoadResult{}, nil
	}
	return api.OnLoadResult{Errors: []api.Message{{Text: "it " + whyOutside, Detail: outside{}}}}, nil
}

// strip takes out of a source map the text of files outside of the bounds: the
// bundler reads what the source maps of the author's files name.
func (b bounds) strip(dir string, sourceMap []byte) ([]byte, error) {
	var doc struct {
		Sources []string `json:"sources"`
	}
	if err := json.Unmarshal(sourceMap, &doc); err != nil {
		return nil, err
	}
	leave := func(source string) bool {
		return b.check(absolute(dir, filepath.FromSlash(source)))
	}
	if !slices.ContainsFunc(doc.Sources, func(source string) bool { return !leave(source) }) {
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
		if i < len(texts) && !leave(source) {
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
