package testkit

import (
	"context"
	"fmt"
	"os"
	"os/exec"
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
	if !MayInstall() {
		tb.Fatalf("%s was not found. Install it (on Debian: apt-get install %s), or let the tests do it, as root on Debian, with PARLEY_TEST_INSTALL=1", what, pkg)
	}
	if err := Install(tb.Context(), pkg); err != nil {
		tb.Fatal(err)
	}
	path := search(names)
	if path == "" {
		tb.Fatalf("%s was installed and still is not there", what)
	}
	return path
}

// MayInstall reports whether tests may install Debian packages, and can. CI is set by
// the usual services for continuous integration.
func MayInstall() bool {
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return false
	}
	for _, name := range []string{"PARLEY_TEST_INSTALL", "CI"} {
		if yes, err := strconv.ParseBool(os.Getenv(name)); err == nil && yes { //nolint:forbidigo // of tests
			return true
		}
	}
	return false
}

// Install installs a Debian package. The tests of several packages run at the same time:
// flock has them do it one after the other, since apt-get waits for others only while it
// unpacks, and fails if another one reads the lists or downloads.
func Install(ctx context.Context, pkg string) error {
	const script = `apt-get -q update && apt-get -q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$0"`
	cmd := exec.CommandContext(ctx, "flock", "/var/lib/dpkg", "sh", "-c", script, pkg) //nolint:gosec // the packages are ours
	cmd.Env = append(cmd.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("installing the package %s: %w\n%s", pkg, err, out[max(0, len(out)-2000):])
	}
	return nil
}

func search(names []string) string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
