// Command pack puts the files of a built bundle where the binary embeds them:
// compressed, where that helps, under their names with .gz at the end. A file that is
// there with the same content stays as it is, so that another version of the
// compressor changes nothing. Files that the bundle no longer has are deleted.
//
//	go run ./internal/webui/pack web/dist/ui internal/webui/dist
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 3 { //nolint:forbidigo // a tool of the build
		fmt.Fprintln(os.Stderr, "usage: pack from to") //nolint:forbidigo // likewise
		os.Exit(2)                                     //nolint:forbidigo // likewise
	}
	if err := pack(os.Args[1], os.Args[2]); err != nil { //nolint:forbidigo // likewise
		fmt.Fprintln(os.Stderr, "pack:", err) //nolint:forbidigo // likewise
		os.Exit(1)                            //nolint:forbidigo // likewise
	}
}

func pack(from, to string) error {
	packed := map[string]bool{}
	err := walk(from, func(file, name string) error {
		content, err := os.ReadFile(file) //nolint:gosec // of the bundle
		if err != nil {
			return err
		}
		stored := content
		if compressible(name, content) {
			name += ".gz"
			stored = compress(content)
		}
		packed[name] = true
		return write(filepath.Join(to, name), content, stored)
	})
	if err != nil {
		return err
	}
	if len(packed) == 0 {
		return fmt.Errorf("%s has no files: build the bundle first", from)
	}
	return walk(to, func(file, name string) error {
		if packed[name] {
			return nil
		}
		return os.Remove(file)
	})
}

// walk calls do with each file below dir, and its path in there.
func walk(dir string, do func(file, name string) error) error {
	return filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error { //nolint:gosec // the one that builds names it
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		return do(file, name)
	})
}

// compressible reports whether a file is stored compressed. The server changes the
// index with each request, and fonts and pictures are compressed already.
func compressible(name string, content []byte) bool {
	switch filepath.Ext(name) {
	case ".woff2", ".png":
		return false
	}
	return name != "index.html" && len(content) > 1024
}

// compress has no time and no name in what it returns: it depends on the content alone.
func compress(content []byte) []byte {
	var out bytes.Buffer
	zip, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is valid
	_, _ = zip.Write(content)                                 // writing to a buffer cannot fail
	_ = zip.Close()
	return out.Bytes()
}

// write stores a file, unless one with this content is there.
func write(file string, content, stored []byte) error {
	if have, err := os.ReadFile(file); err == nil { //nolint:gosec // of the bundle
		if filepath.Ext(file) == ".gz" {
			have = decompress(have)
		}
		if bytes.Equal(have, content) {
			return nil
		}
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil { //nolint:gosec // it is committed
		return err
	}
	return os.WriteFile(file, stored, 0o644) //nolint:gosec // it is committed
}

// decompress returns nothing for what is not compressed.
func decompress(stored []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(stored))
	if err != nil {
		return nil
	}
	content, err := io.ReadAll(r)
	if err != nil {
		return nil
	}
	return content
}
