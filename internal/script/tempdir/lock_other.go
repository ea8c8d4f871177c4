//go:build !unix || aix || solaris

package tempdir

import "os"

// lockFile creates a file, which cannot be deleted until it is closed or the process
// ends. It fails if another process has it open.
func lockFile(name string) (*os.File, error) {
	if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
}
