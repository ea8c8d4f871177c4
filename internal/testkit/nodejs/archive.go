package nodejs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/testkit"
)

// Archive writes the files below prefix in the archive of a package, such as
// name@1.0.0, into the directory to, unless that is there. What the package needs
// is not fetched. The archive must have the sum, as npm prints it, unless that is empty.
func Archive(tb testing.TB, pkg, sum, prefix, to string) {
	tb.Helper()
	if _, err := os.Stat(to); err == nil {
		return
	}
	fetched := tb.TempDir()
	Run(tb, fetched, testkit.Program(tb, "npm", "npm", "npm"), "pack", "--ignore-scripts", pkg)
	archives, err := filepath.Glob(filepath.Join(fetched, "*.tgz"))
	if err != nil || len(archives) != 1 {
		tb.Fatalf("npm pack left %v, %v", archives, err)
	}
	packed, err := os.ReadFile(archives[0])
	if err != nil {
		tb.Fatal(err)
	}
	if is := sha512.Sum512(packed); sum != "" && base64.StdEncoding.EncodeToString(is[:]) != sum {
		tb.Fatalf("%s is not what it was", pkg)
	}
	half := filepath.Join(fetched, "files") // so that to is whole or not there
	unpack(tb, bytes.NewReader(packed), prefix, half)
	if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
		tb.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(half)); err != nil {
		tb.Fatal(err)
	}
}

// unpack writes the files of an archive that are below prefix.
func unpack(tb testing.TB, archive io.Reader, prefix, dir string) {
	tb.Helper()
	zip, err := gzip.NewReader(archive)
	if err != nil {
		tb.Fatal(err)
	}
	for files := tar.NewReader(zip); ; {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			tb.Fatal(err)
		}
		name, ok := strings.CutPrefix(head.Name, prefix)
		if !ok || head.Typeflag != tar.TypeReg || !filepath.IsLocal(name) {
			continue
		}
		content, err := io.ReadAll(files)
		if err != nil {
			tb.Fatal(err)
		}
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil { //nolint:gosec // of a package that a lock file names
			tb.Fatal(err)
		}
		if err := os.WriteFile(file, content, 0o600); err != nil { //nolint:gosec // as above
			tb.Fatal(err)
		}
	}
}
