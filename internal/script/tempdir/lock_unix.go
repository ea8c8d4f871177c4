//go:build unix && !aix && !solaris

package tempdir

import (
	"os"
	"syscall"
)

// lockFile creates a file if there is none, and locks it until it is closed or the
// process ends. It fails if another process has locked it.
func lockFile(name string) (*os.File, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600) //nolint:gosec // below the directory of temporary files
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}
