package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// tools are the programs that the tests run.
type tools struct{ node, chromium string }

// install finds the programs and, where that is the custom, gets those that are
// missing. Then it gets the JavaScript packages, unless they are there.
func install(t *testing.T, browser bool) *tools {
	t.Helper()
	found := &tools{node: program(t, "Node.js", "nodejs", "node", "nodejs")}
	npm := program(t, "npm", "npm", "npm")
	if browser {
		found.chromium = program(t, "Chromium", "chromium", "chromium", "chromium-browser", "google-chrome")
	}
	remember(t)
	lock, err := os.ReadFile(filepath.Join(web, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(lock)
	mark, stamp := filepath.Join(web, "node_modules", ".parley"), []byte(hex.EncodeToString(sum[:]))
	if have, err := os.ReadFile(mark); err == nil && bytes.Equal(have, stamp) {
		return found
	}
	run(t, web, npm, "ci")
	if err := os.WriteFile(mark, stamp, 0o600); err != nil {
		t.Fatal(err)
	}
	return found
}

// program is the path of the first of some programs that is there.
func program(t *testing.T, what, pkg string, names ...string) string {
	t.Helper()
	if path := search(names); path != "" {
		return path
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		t.Fatalf("%s was not found: install it, on Debian with apt-get install %s, and put it into PATH", what, pkg)
	}
	wait := []string{"-o", "DPkg::Lock::Timeout=300", "-q"} // other tests install things, too
	run(t, ".", apt, append(slices.Clone(wait), "update")...)
	run(t, ".", apt, append(wait, "install", "-y", "--no-install-recommends", pkg)...)
	path := search(names)
	if path == "" {
		t.Fatalf("%s was installed and still is not there", what)
	}
	return path
}

func search(names []string) string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out[max(0, len(out)-2000):])
	}
}

// remember looks at the sources of the tests, so that go test knows that what it
// has kept of their last run is not good any more when they have changed.
func remember(t *testing.T) {
	t.Helper()
	for _, dir := range []string{"src", "e2e"} {
		err := filepath.WalkDir(filepath.Join(web, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			_, err = os.Stat(path)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
