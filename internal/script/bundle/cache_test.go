package bundle

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCache(t *testing.T) {
	dir := write(t, map[string]string{"index.ts": "import { n } from './n';\n" + "export const rootAgent = n;", "n.ts": "export const n = 1;"})
	cache := filepath.Join(t.TempDir(), "cache")
	entry := filepath.Join(dir, "index.ts")
	first, err := Build(QuickJS, cache, entry, NewBounds(filepath.Dir(entry), filepath.Dir(entry)))
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(cache, "*.bundle"))
	if len(files) != 1 {
		t.Fatalf("the cache holds %v", files)
	}
	if readCache(files[0]) == nil {
		t.Error("the cache is not used")
	}
	again, err := Build(QuickJS, cache, entry, NewBounds(filepath.Dir(entry), filepath.Dir(entry)))
	if err != nil || again.Code != first.Code || !cmp.Equal(again.Files, first.Files) {
		t.Errorf("the second build differs: %v", err)
	}
	for name, text := range map[string]string{"n.ts": "export const n = 2;", "package.json": "{}", "tsconfig.json": "{}"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if readCache(files[0]) != nil {
			t.Errorf("a change of %s is not noticed", name)
		}
		if _, err := Build(QuickJS, cache, entry, NewBounds(filepath.Dir(entry), filepath.Dir(entry))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(files[0], []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Build(QuickJS, cache, entry, NewBounds(filepath.Dir(entry), filepath.Dir(entry))); err != nil {
		t.Errorf("a broken cache: %v", err)
	}
}

// A file that is saved while it is bundled may be another one than what was read.
func TestCacheOfWhatWasRead(t *testing.T) {
	dir := write(t, map[string]string{"index.ts": "import { n } from './n';\n" + "export const rootAgent = n;", "n.ts": "export const n = 1;"})
	entry, file := filepath.Join(dir, "index.ts"), filepath.Join(t.TempDir(), "kept")
	for _, name := range []string{"", "n.ts", "index.ts"} {
		b, err := build(QuickJS, entry, NewBounds(filepath.Dir(entry), filepath.Dir(entry)))
		if err != nil {
			t.Fatal(err)
		}
		if name != "" {
			text, _ := os.ReadFile(filepath.Join(dir, name))
			if err := os.WriteFile(filepath.Join(dir, name), append(text, "\n// saved again"...), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		writeCache(file, entry, b)
		if used := readCache(file) != nil; used != (name == "") {
			t.Errorf("when %q was changed, the old bundle is used: %v", name, used)
		}
	}
}

// What decides over a bundle is not only what is in it: where imports lead, and
// how code is compiled.
func TestCacheKnowsWhatDecides(t *testing.T) {
	files := map[string]string{
		"apps/a/index.ts":                        "import { n } from './conf';\nimport { m } from '../../shared/m';\nimport { k } from 'kit';\n" + "export const rootAgent = n + m + k;",
		"apps/a/conf.js":                         "export const n = 1;",
		"apps/a/data.db":                         "",
		"apps/a/tsconfig.json":                   "{\n  // ours\n  \"extends\": [\"../../tsconfig.base.json\", \"@org/config\"],\n}",
		"tsconfig.base.json":                     `{"extends": "./tsconfig.root"}`,
		"tsconfig.root.json":                     `{"compilerOptions": {"target": "ES2020"}}`,
		"shared/m.ts":                            "export const m = 1;",
		"shared/tsconfig.json":                   "{}",
		"node_modules/kit/index.js":              "export const k = 1;",
		"node_modules/@org/config/tsconfig.json": "{}",
	}
	for _, change := range []struct {
		name string
		old  bool // whether the bundle is still good
	}{
		{"tsconfig.base.json", false},
		{"tsconfig.root.json", false},
		{"node_modules/@org/config/tsconfig.json", false},
		{"shared/tsconfig.json", false},
		{"shared/package.json", false},
		{"apps/a/conf.ts", false},
		{"shared/m.tsx", false},
		{"apps/a/data.db-wal", true},
		{"apps/a/data.db", true},
		{"node_modules/kit/other.js", true},
	} {
		t.Run(change.name, func(t *testing.T) {
			dir := write(t, files)
			cache := filepath.Join(t.TempDir(), "cache")
			if _, err := Build(QuickJS, cache, filepath.Join(dir, "apps/a/index.ts"), NewBounds(dir, dir)); err != nil {
				t.Fatal(err)
			}
			kept, _ := filepath.Glob(filepath.Join(cache, "*.bundle"))
			if len(kept) != 1 || readCache(kept[0]) == nil {
				t.Fatalf("the cache %v is not used", kept)
			}
			if err := os.WriteFile(filepath.Join(dir, change.name), []byte("{ }"), 0o644); err != nil {
				t.Fatal(err)
			}
			if got := readCache(kept[0]) != nil; got != change.old {
				t.Errorf("the old bundle is used: %v", got)
			}
		})
	}
}

// The bytecode of the library is read from the cache, if it is what was written.
func TestLibraryCache(t *testing.T) {
	b := &Bundle{Builtin: []string{"uuid.cjs"}}
	first := filepath.Join(t.TempDir(), "cache")
	want, err := b.Library(first)
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(first, "*.pack"))
	if len(files) != 1 {
		t.Fatalf("the cache holds %v", files)
	}
	written, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	// A cache in another directory is that of another process.
	again := func(text []byte) (string, []byte) {
		t.Helper()
		dir := t.TempDir()
		file := filepath.Join(dir, filepath.Base(files[0]))
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := b.Library(dir)
		if err != nil {
			t.Fatal(err)
		}
		return file, got
	}
	if _, got := again(written); !bytes.Equal(got, want) {
		t.Error("the bytecode from the cache differs")
	}
	// Bytecode that is not what was written must never reach the engine.
	broken := bytes.Clone(written)
	broken[len(broken)/2] ^= 0xff
	file, got := again(broken)
	if !bytes.Equal(got, want) {
		t.Error("broken bytecode is used")
	}
	if after, _ := os.ReadFile(file); !bytes.Equal(after, written) {
		t.Error("the broken file is not replaced")
	}
}

// What others can write to is not read.
func TestCacheIsPrivate(t *testing.T) {
	dir := t.TempDir()
	if cacheFile(dir, "key", ".pack") == "" {
		t.Error("a directory of our own is not used")
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "windows" {
		return // there are no such permissions
	}
	if file := cacheFile(dir, "key", ".pack"); file != "" {
		t.Errorf("it would use %s", file)
	}
}
