package e2e

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley/internal/testkit/nodejs"
)

// The stock UI is in the package of the tools that it comes with. Those need
// hundreds of other packages, and the UI none: only the archive is fetched, and
// what is in it is what it was when this was written.
const (
	adkWeb    = "@google/adk-devtools@2.0.0"
	adkWebSum = "9q88zzLjSE5DQg+42JWBVZjEi4byuhKFod9T4jcgYj3IysulqDaEh+cObFe/54LJUI9RvpjFfAWxrC46BggYqQ=="
)

// TestStockUI drives the UI that people know from other servers, as it is
// published, on ours.
func TestStockUI(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a minute")
	}
	install(t)
	newStage(t, adkWebDir(t)).browse(t, "STOCK=1")
}

// adkWebDir is the directory of the stock UI. It is fetched when it is not there.
func adkWebDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join(web, "node_modules", ".adk-web", adkWebSum[:12]))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "index.html")); err == nil {
		return dir
	}
	fetched := t.TempDir()
	nodejs.Run(t, fetched, nodejs.Program(t, "npm", "npm", "npm"), "pack", "--ignore-scripts", adkWeb)
	archives, err := filepath.Glob(filepath.Join(fetched, "*.tgz"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("npm pack left %v, %v", archives, err)
	}
	packed, err := os.ReadFile(archives[0])
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha512.Sum512(packed); base64.StdEncoding.EncodeToString(sum[:]) != adkWebSum {
		t.Fatalf("%s is not what it was", adkWeb)
	}
	half := filepath.Join(fetched, "browser")
	unpack(t, strings.NewReader(string(packed)), "package/dist/browser/", half)
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(half)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// unpack writes the files of an archive that are below prefix.
func unpack(t *testing.T, archive io.Reader, prefix, dir string) {
	t.Helper()
	zip, err := gzip.NewReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(zip); ; {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		name, ok := strings.CutPrefix(head.Name, prefix)
		if !ok || head.Typeflag != tar.TypeReg || !filepath.IsLocal(name) {
			continue
		}
		content, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
