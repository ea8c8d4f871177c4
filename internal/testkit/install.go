package testkit

import (
	"os"
	"os/exec"
	"slices"
	"testing"
)

// Program is the path of the first of some programs that is there. Where that is
// the custom, what is missing is installed: the package of that name. Elsewhere
// the test fails, and says what is missing.
func Program(tb testing.TB, what, pkg string, names ...string) string {
	tb.Helper()
	if path := search(names); path != "" {
		return path
	}
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		tb.Fatalf("%s was not found: install it, on Debian with apt-get install %s, and put it into PATH", what, pkg)
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

func search(names []string) string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}
