package testkit

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
)

// Program is the path of the first of some programs that is found. A missing one
// is installed, from the Debian package pkg, only where the environment allows it:
// a test should not change the machine that it runs on unasked. Otherwise the test
// fails, and says which command installs it.
func Program(tb testing.TB, what, pkg string, names ...string) string {
	tb.Helper()
	if path := search(names); path != "" {
		return path
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 || !MayInstall() {
		tb.Fatalf("%s was not found. Install it (on Debian: apt-get install %s), or let the tests do it, as root on Debian, with PARLEY_TEST_INSTALL=1", what, pkg)
	}
	wait := []string{"-o", "DPkg::Lock::Timeout=300", "-q"} // other tests install things, too
	for _, args := range [][]string{{"update"}, {"install", "-y", "--no-install-recommends", pkg}} {
		cmd := exec.CommandContext(tb.Context(), apt, append(slices.Clone(wait), args...)...) //nolint:gosec // the arguments are ours
		cmd.Env = append(cmd.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			tb.Fatalf("apt-get %v: %v\n%s", args, err, out[max(0, len(out)-2000):])
		}
	}
	path := search(names)
	if path == "" {
		tb.Fatalf("%s was installed and still is not there", what)
	}
	return path
}

// MayInstall reports whether tests may install system packages. CI is set by the
// usual services for continuous integration.
func MayInstall() bool {
	for _, name := range []string{"PARLEY_TEST_INSTALL", "CI"} {
		if yes, err := strconv.ParseBool(os.Getenv(name)); err == nil && yes { //nolint:forbidigo // of tests
			return true
		}
	}
	return false
}

func search(names []string) string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
