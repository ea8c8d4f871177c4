package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPack(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	put := func(dir, name string, content []byte) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	have := func() map[string]string {
		t.Helper()
		all := map[string]string{}
		if err := walk(to, func(file, name string) error {
			content, err := os.ReadFile(file)
			all[filepath.ToSlash(name)] = string(content)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return all
	}
	repack := func() {
		t.Helper()
		if err := pack(from, to); err != nil {
			t.Fatal(err)
		}
	}
	long := []byte(strings.Repeat("a line\n", 1000))
	for _, name := range []string{"index.html", "assets/a.js", "assets/f.woff2", "p.png"} {
		put(from, name, long)
	}
	put(from, "small.js", []byte("1"))
	put(to, "assets/old.js.gz", []byte("old"))
	repack()
	first := have()
	if len(first) != 5 || first["index.html"] != string(long) || first["assets/f.woff2"] != string(long) || first["p.png"] != string(long) || first["small.js"] != "1" {
		t.Errorf("packed are %d files, and what is not compressed is not as it was", len(first))
	}
	if packed := first["assets/a.js.gz"]; len(packed) > 200 || string(decompress([]byte(packed))) != string(long) {
		t.Errorf("the script is packed as %q", packed)
	}

	// What another compressor has made of the same content stays.
	var other bytes.Buffer
	zip := gzip.NewWriter(&other)
	zip.Name = "another"
	if _, err := zip.Write(long); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	put(to, "assets/a.js.gz", other.Bytes())
	repack()
	if have()["assets/a.js.gz"] != other.String() {
		t.Error("a file with the same content was written again")
	}
	// And what has another content, or is broken, does not.
	for _, broken := range [][]byte{compress([]byte("other")), []byte("broken"), other.Bytes()[:40]} {
		put(to, "assets/a.js.gz", broken)
		repack()
		if have()["assets/a.js.gz"] != first["assets/a.js.gz"] {
			t.Errorf("%q was kept", broken)
		}
	}
	if err := pack(t.TempDir(), to); err == nil {
		t.Error("an empty bundle replaces the one that is there")
	}
}
