package js

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path"
	"testing"
)

// The archive has what is in the directory; if it has not, third_party/update.sh
// was not run.
func TestThirdParty(t *testing.T) {
	dir := os.DirFS(".")
	want := map[string]bool{}
	err := fs.WalkDir(dir, "third_party", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".js" {
			return err
		}
		want[name] = true
		text, err := fs.ReadFile(dir, name)
		if err != nil {
			return err
		}
		if carried, err := fs.ReadFile(FS(), name); err != nil || !bytes.Equal(carried, text) {
			t.Errorf("%s is not the same in the archive: %v", name, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range packages().File {
		if !want[f.Name] {
			t.Errorf("the archive has %s", f.Name)
		}
	}
	if len(want) < 50 {
		t.Errorf("there are %d files", len(want))
	}
}

func TestModules(t *testing.T) {
	for name, want := range map[string]string{
		"@google/adk": "adk/google.cjs", "@google/adk/agents/llm": "adk/google.cjs", "@google/adk-other": "",
		"fs": "node/fs.cjs", "fs/promises": "node/fs/promises.cjs", "sqlite": "", "zod": "", "uuid": "", "node-fetch": "",
	} {
		if file, ok := Module(name); file != want || ok != (want != "") {
			t.Errorf("Module(%q) = %q, %v, want %q", name, file, ok, want)
		}
	}
	for name, want := range map[string]string{"zod": "third_party/zod/index.js", "zod/v4": "third_party/zod/v4/index.js", "zodiac": "", "zod/none": "", "uuid": "uuid.cjs", "uuid/x": "", "dotenv/config": "dotenv.cjs", "node-fetch": "node-fetch.cjs"} {
		if file, ok := Fallback(name); file != want || ok != (want != "") {
			t.Errorf("Fallback(%q) = %q, %v, want %q", name, file, ok, want)
		}
	}
	all := maps.Clone(modules)
	maps.Copy(all, fallbacks)
	for name, file := range all {
		if _, err := fs.Stat(FS(), path.Clean(file)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
