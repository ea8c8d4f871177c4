package eval

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/wire"
)

// Where sets and results are, in the directory of an application. The names are
// those of other tools.
const (
	setFile    = ".evalset.json"
	historyDir = ".adk/eval_history"
	resultFile = ".evalset_result.json"
)

// maxFile is the largest set or result that is read.
const maxFile = 64 << 20

// maxLatest is how many results are searched for a session.
const maxLatest = 100

// names are what sets and results may be called: no way leads out of a directory.
var names = regexp.MustCompile(`^[\p{L}\p{N}_][\p{L}\p{N}_. -]*$`)

// isName reports whether a name is one of those. The expression does not count: it
// would hold all letters that there are once for each character, which is megabytes.
func isName(name string) bool {
	return utf8.RuneCountInString(name) <= maxLetters && names.MatchString(name)
}

// maxLetters and maxName are how long a name may be, in characters and in bytes, so
// that that of its file is not too long for file systems.
const (
	maxLetters = 151
	maxName    = 220
)

func checkName(what, name string) error {
	if len(name) > maxName {
		return invalid("Invalid %s: it is longer than %d bytes", what, maxName)
	}
	if !isName(name) {
		return invalid("Invalid %s %q: use letters, digits, _, - and .", what, name)
	}
	return nil
}

// files are those of one application.
type files struct{ dir string }

// open opens the directory; what is done there stays there, wherever links lead.
func (f files) open() (*os.Root, error) {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, fmt.Errorf("open the application's directory: %w", err)
	}
	return root, nil
}

// list are the names in a directory with an ending, without it, sorted.
func (f files) list(dir, ending string) ([]string, error) {
	root, err := f.open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	found := []string{}
	for _, one := range entries {
		if name, ok := strings.CutSuffix(one.Name(), ending); ok && !one.IsDir() && isName(name) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found, nil
}

// read is a file of the directory. what and id are for the error when it is not
// there.
func (f files) read(name, what, id string) ([]byte, error) {
	root, err := f.open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	in, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing(what, id)
	}
	if err != nil {
		return nil, err
	}
	defer in.Close()
	doc, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err == nil && len(doc) > maxFile {
		err = invalid("%s %s is larger than %d bytes", what, id, maxFile)
	}
	return doc, err
}

// write puts a file in place at once: who reads it gets all of it, or what was
// there before.
func (f files) write(name string, doc []byte) error {
	root, err := f.open()
	if err != nil {
		return err
	}
	defer root.Close()
	if err := replace(root, name, doc); err != nil {
		return &Error{Kind: Unwritable, Cause: err, Message: "The application's directory cannot be written; evaluation sets and results are kept in it"}
	}
	return nil
}

func replace(root *os.Root, name string, doc []byte) error {
	dir := path.Dir(name)
	if err := root.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	scratch := path.Join(dir, "."+event.NewID()+".tmp")
	defer func() { _ = root.Remove(scratch) }() // gone when all went well
	if err := root.WriteFile(scratch, doc, 0o644); err != nil {
		return err
	}
	return root.Rename(scratch, name)
}

func (f files) set(id string) (*Set, error) {
	if err := checkName("eval set id", id); err != nil {
		return nil, err
	}
	doc, err := f.read(id+setFile, "Eval set", id)
	if err != nil {
		return nil, err
	}
	set, err := ReadSet(doc, id)
	if err != nil {
		return nil, invalid("The eval set %s cannot be read: %v", id, err)
	}
	set.ID = id // the file is what it is found by
	return set, nil
}

func (f files) writeSet(set *Set) error {
	doc, err := json.Marshal(set)
	if err != nil {
		return err
	}
	return f.write(set.ID+setFile, file(doc, setShape))
}

func (f files) deleteSet(id string) error {
	if err := checkName("eval set id", id); err != nil {
		return err
	}
	root, err := f.open()
	if err != nil {
		return err
	}
	defer root.Close()
	switch err := root.Remove(id + setFile); {
	case errors.Is(err, fs.ErrNotExist):
		return missing("Eval set", id)
	case err != nil:
		return &Error{Kind: Unwritable, Cause: err, Message: "The application's directory cannot be written; evaluation sets and results are kept in it"}
	}
	return nil
}

// latest are the ids of the results that were kept last, the newest first: no more
// than are quickly read.
func (f files) latest() ([]string, error) {
	root, err := f.open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), historyDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var found []fs.FileInfo
	for _, one := range entries {
		if info, err := one.Info(); err == nil && info.Mode().IsRegular() && strings.HasSuffix(one.Name(), resultFile) {
			found = append(found, info)
		}
	}
	slices.SortFunc(found, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	var (
		ids  []string
		size int64
	)
	for _, one := range found[:min(len(found), maxLatest)] {
		if size += one.Size(); size > maxFile {
			break
		}
		ids = append(ids, strings.TrimSuffix(one.Name(), resultFile))
	}
	return ids, nil
}

// result is a result as it is answered to clients.
func (f files) result(id string) (json.RawMessage, error) {
	if err := checkName("eval result id", id); err != nil {
		return nil, err
	}
	doc, err := f.read(path.Join(historyDir, id+resultFile), "Eval result", id)
	if err != nil {
		return nil, err
	}
	var inside string // some tools write JSON into a string of JSON
	if json.Unmarshal(doc, &inside) == nil {
		doc = []byte(inside)
	}
	compact, err := wire.Compact(nil, doc)
	if err != nil || compact[0] != '{' {
		return nil, invalid("The eval result %s cannot be read: it is not a JSON object", id)
	}
	return respell(compact, resultShape, wire.Camel), nil
}

// notName is what a name may not have.
var notName = regexp.MustCompile(`[^\p{L}\p{N}_. -]`)

// named makes a part of a name of anything.
func named(text string) string {
	runes := []rune(notName.ReplaceAllString(text, "_"))
	return string(runes[:min(len(runes), 60)])
}

// writeResult gives a result its id, and keeps it.
func (f files) writeResult(app string, result *SetResult) error {
	app = strings.TrimLeft(named(app), ". -")
	result.ID = fmt.Sprintf("%s_%s_%.6f", app, named(result.Set), result.Created) // a set that is from elsewhere may have any id
	result.Name = result.ID
	doc, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return f.write(path.Join(historyDir, result.ID+resultFile), file(doc, resultShape))
}
