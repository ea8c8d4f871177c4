//go:build unix

package bundle

import (
	"os"
	"syscall"
)

// private reports whether only the user of this process can write to a
// directory.
func private(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm()&0o022 != 0 {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
