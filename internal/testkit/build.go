package testkit

import (
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"testing"
)

// Build builds a program of this module as it is released, without cgo, into a
// directory of the test, and returns its path. The package is a path relative to
// that of the test.
func Build(tb testing.TB, pkg string) string {
	tb.Helper()
	program := filepath.Join(tb.TempDir(), path.Base(pkg))
	// The go command keeps programs that it has linked for go run, and not those of
	// go build: all packages and runs of tests share one.
	cmd := exec.CommandContext(tb.Context(), "go", "run", "-exec", "cp", pkg, program) //nolint:gosec // of a test
	if runtime.GOOS == "windows" {
		program += ".exe"
		cmd = exec.CommandContext(tb.Context(), "go", "build", "-o", program, pkg) //nolint:gosec // of a test
	}
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("building %s: %v\n%s", pkg, err, out)
	}
	return program
}
