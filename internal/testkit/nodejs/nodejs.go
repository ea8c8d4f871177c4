// Package nodejs gets what tests of JavaScript need: programs, and the packages
// of a lock file. It is for tests.
package nodejs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/internal/testkit"
)

// Node is the path of Node.js.
func Node(tb testing.TB) string {
	tb.Helper()
	return testkit.Program(tb, "Node.js", "nodejs", "node", "nodejs")
}

// Install gets the packages that the lock file of a directory names, unless they
// are there.
func Install(tb testing.TB, dir string) {
	tb.Helper()
	npm := testkit.Program(tb, "npm", "npm", "npm")
	lock, err := os.ReadFile(filepath.Join(dir, "package-lock.json")) //nolint:gosec // of a test
	if err != nil {
		tb.Fatal(err)
	}
	sum := sha256.Sum256(lock)
	mark, stamp := filepath.Join(dir, "node_modules", ".parley"), []byte(hex.EncodeToString(sum[:]))
	if have, err := os.ReadFile(mark); err == nil && bytes.Equal(have, stamp) { //nolint:gosec // of a test
		return
	}
	Run(tb, dir, npm, "ci")
	if err := os.WriteFile(mark, stamp, 0o600); err != nil { //nolint:gosec // of a test
		tb.Fatal(err)
	}
}

// Run runs a program in a directory, and returns what it prints.
func Run(tb testing.TB, dir, name string, args ...string) string {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), name, args...) //nolint:gosec // of a test
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "DEBIAN_FRONTEND=noninteractive", "NO_COLOR=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("%s %v: %v\n%s", name, args, err, out[max(0, len(out)-2000):])
	}
	return string(out)
}

// Vitest runs the tests of a directory, with a configuration and an environment;
// only some, if go test is given their names, as in -args signin. A test that fails
// is a subtest, so that its name and its reason are among the last lines, not only
// in the middle of all that was printed.
func Vitest(t *testing.T, dir, config string, environ ...string) {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report.json")
	args := append([]string{
		"node_modules/vitest/vitest.mjs", "run", "--config", config,
		"--reporter=verbose", "--reporter=json", "--outputFile.json=" + report,
	}, flag.Args()...)
	cmd := exec.CommandContext(t.Context(), Node(t), args...) //nolint:gosec // of a test
	cmd.Dir = dir
	cmd.Env = append(append(cmd.Environ(), "NO_COLOR=1"), environ...)
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	cmd.WaitDelay = 10 * time.Second
	err := cmd.Run()
	if err == nil {
		return
	}
	t.Errorf("vitest: %v", err)
	encoded, err := os.ReadFile(report) //nolint:gosec // of a test
	if err != nil {
		t.Fatal(err)
	}
	failures(t, encoded)
}

// failures fails a subtest for each test that has failed by the report of vitest.
func failures(t *testing.T, report []byte) {
	t.Helper()
	type test struct {
		FullName, Status string
		FailureMessages  []string
	}
	var files struct {
		TestResults []struct {
			Name, Status, Message string
			AssertionResults      []test
		}
	}
	if err := json.Unmarshal(report, &files); err != nil {
		t.Fatal(err)
	}
	for _, file := range files.TestResults {
		name := filepath.Base(file.Name)
		if file.Status == "failed" && file.Message != "" {
			t.Run(name, func(t *testing.T) { t.Error(file.Message) })
		}
		for _, test := range file.AssertionResults {
			if test.Status == "failed" {
				t.Run(name+"/"+test.FullName, func(t *testing.T) { t.Error(strings.Join(test.FailureMessages, "\n")) })
			}
		}
	}
}

// Remember looks at all files of directories, so that go test knows that what it
// has kept of the last run is not good any more when they have changed.
func Remember(tb testing.TB, dirs ...string) {
	tb.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.Name() == "node_modules": // follows from a lock file, and another test may be installing it
				return filepath.SkipDir
			case d.IsDir():
				return nil
			}
			if _, err = os.Stat(path); path != dir && errors.Is(err, fs.ErrNotExist) {
				return nil // a file that another test has removed
			}
			return err
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
}
