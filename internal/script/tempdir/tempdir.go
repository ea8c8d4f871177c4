// Package tempdir makes temporary directories that do not outlive their process for
// long: one that was killed leaves its own, and the next process deletes them.
package tempdir

import (
	"os"
	"path/filepath"
	"time"
)

// Dir is a temporary directory of this process.
type Dir struct {
	Path string // absolute
	lock *os.File
}

// lockName is the file in a directory that its process has locked.
const lockName = "lock"

// New makes a directory, whose name begins with a prefix. It deletes those with the
// same prefix that processes have left.
func New(prefix string) (*Dir, error) {
	top, err := filepath.Abs(os.TempDir())
	if err != nil {
		return nil, err
	}
	removeAbandoned(top, prefix)
	dir, err := os.MkdirTemp(top, prefix)
	if err != nil {
		return nil, err
	}
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	lock, err := lockFile(filepath.Join(dir, lockName))
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return &Dir{dir, lock}, nil
}

// Close deletes the directory.
func (d *Dir) Close() error {
	err := os.RemoveAll(d.Path)
	_ = d.lock.Close()
	return err
}

// removeAbandoned deletes the directories of processes that were killed: those whose
// lock is free.
func removeAbandoned(top, prefix string) {
	old, err := filepath.Glob(filepath.Join(top, prefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range old {
		info, err := os.Lstat(filepath.Join(dir, lockName))
		if os.IsNotExist(err) { // a process was killed while it deleted the directory, and the lock was gone
			info, err = os.Lstat(dir)
		}
		// A young one may be in creation.
		if err != nil || time.Since(info.ModTime()) < time.Minute {
			continue
		}
		if lock, err := lockFile(filepath.Join(dir, lockName)); err == nil {
			_ = os.RemoveAll(dir)
			_ = lock.Close()
		}
	}
}
