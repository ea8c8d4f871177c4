package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/parley-run/parley/internal/testkit"
)

// tools are the programs that the tests run.
type tools struct{ node, chromium string }

// install finds the programs and, where that is the custom, gets those that are
// missing. Then it gets the JavaScript packages, unless they are there.
func install(t *testing.T, browser bool) *tools {
	t.Helper()
	found := &tools{node: testkit.Program(t, "Node.js", "nodejs", "node", "nodejs")}
	npm := testkit.Program(t, "npm", "npm", "npm")
	if browser {
		found.chromium = testkit.Program(t, "Chromium", "chromium", "chromium", "chromium-browser", "google-chrome")
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

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
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
