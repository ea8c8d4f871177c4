package js

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// imported is what names another module: import and export statements, and calls of import and
// require. That the text of a comment or of a string may look like one does no harm.
var imported = regexp.MustCompile(`(?m)(?:^import |^import .*?\bfrom |^\} from |^export [^;]*?\bfrom |\bimport\(|\brequire\()"([^"$]+)"`)

// Modules of ours do not import each other in circles: in one, what a module has of another one
// is undefined until that has run, and neither can be read without the other. Packages of other
// authors may have circles.
func TestNoImportCircles(t *testing.T) {
	imports := map[string][]string{}
	err := fs.WalkDir(files, ".", func(name string, _ fs.DirEntry, err error) error {
		if kind := path.Ext(name); err != nil || kind != ".js" && kind != ".cjs" {
			return err
		}
		text, err := fs.ReadFile(files, name)
		for _, found := range imported.FindAllStringSubmatch(string(text), -1) {
			file, ok := Resolve(name, found[1])
			if !ok {
				t.Errorf("%s imports %s, which is not there", name, found[1])
			}
			if !strings.HasPrefix(file, thirdParty) {
				imports[name] = append(imports[name], file)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(imports); n < 100 {
		t.Errorf("only %d modules import others", n)
	}
	done := map[string]bool{}
	var visit func(name string, from []string)
	visit = func(name string, from []string) {
		if i := slices.Index(from, name); i >= 0 {
			t.Errorf("a circle: %s", strings.Join(append(from[i:], name), " imports "))
		}
		if done[name] {
			return
		}
		done[name] = true
		for _, file := range imports[name] {
			visit(file, append(slices.Clip(from), name))
		}
	}
	for name := range imports {
		visit(name, nil)
	}
}
