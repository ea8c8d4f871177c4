package js

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
)

// The module proxy leaves out directories named vendor, and without their files go
// install of a version cannot build the program.
func TestNoVendorDirectory(t *testing.T) {
	err := fs.WalkDir(FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		if slices.Contains(strings.Split(name, "/"), "vendor") {
			t.Errorf("%s is in a directory named vendor", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
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
