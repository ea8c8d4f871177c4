//go:build unix

package host

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe in the directory would keep the engine waiting forever.
func TestFilesPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := newFiles(dir, nil).do(fileRequest{Op: "read", Path: "pipe", Call: "open", Shown: "pipe"})
	if err == nil || !strings.HasPrefix(err.Error(), "EACCES") {
		t.Errorf("got %v", err)
	}
}
