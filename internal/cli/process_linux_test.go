package cli

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A process that an agent starts has the same user as the server, and must not
// read the server's environment in /proc.
func TestProcessIsHidden(t *testing.T) {
	dumpable := func(call, to uintptr) uintptr {
		is, _, errno := syscall.Syscall(syscall.SYS_PRCTL, call, to, 0)
		if errno != 0 {
			t.Fatal(errno)
		}
		return is
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.ts"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]uintptr{"--allow_processes": 0, "--allow_processes=false": 1} {
		dumpable(syscall.PR_SET_DUMPABLE, 1)
		command(t, nil, "run", dir, flag)
		if got := dumpable(syscall.PR_GET_DUMPABLE, 0); got != want {
			t.Errorf("%s: dumpable is %d, want %d", flag, got, want)
		}
	}
}
