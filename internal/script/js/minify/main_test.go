package main

import (
	"archive/zip"
	"os"
	"path/filepath"
	"testing"
)

func TestMinify(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a", "b.js")
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(code string) {
		if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for code, want := range map[string]string{
		"// A comment.\nexport function named(first) {\n  return first();\n}\n":             "export function named(first){return first()}\n",
		"// A comment.\nexport const a = {\n  b: /*@__PURE__*/ c(),\n};\n":                  "export const a = {\nb: /* @__PURE__ */ c()\n};\n",
		"export function f() {\n  g();\n}\nexport const c = /* @__PURE__ */ f(`a\n  b`);\n": "export function f() {\n  g();\n}\nexport const c = /* @__PURE__ */ f(`a\n  b`);\n",
	} {
		write(code)
		for range 2 { // what is small stays as it is
			if err := minify(dir); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(file); err != nil || string(got) != want {
				t.Errorf("%q, %v, want %q", got, err, want)
			}
		}
	}
	archive := filepath.Join(t.TempDir(), "a.zip")
	if err := pack(filepath.Join(dir, "a"), archive); err != nil {
		t.Fatal(err)
	}
	r, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	if len(r.File) != 1 || r.File[0].Name != "a/b.js" {
		t.Errorf("the archive has %d files", len(r.File))
	}
	write("export {")
	if err := minify(dir); err == nil {
		t.Error("a file that is not JavaScript was accepted")
	}
}
