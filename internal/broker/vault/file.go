package vault

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// largest is more than any keyset needs.
const largest = 1 << 20

// OpenFile makes a vault of the keyset in a file. Nobody but the owner may have
// access to the file.
func OpenFile(path string) (*Vault, error) {
	text, err := readFile(path)
	if err != nil {
		return nil, err
	}
	v, err := New(text)
	if err != nil {
		return nil, fmt.Errorf("%w (in the file %s)", err, path)
	}
	return v, nil
}

// CreateFile makes a vault of the keyset in a file, and the file if there is
// none. When several processes do so at once, one of them makes the file and all
// use its keyset; none ever sees a part of it.
func CreateFile(path string) (*Vault, error) {
	v, err := OpenFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return v, err
	}
	text, err := Generate()
	if err != nil {
		return nil, err
	}
	if err := createFile(path, text); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("vault: the keyset cannot be kept in a file: %w: "+
			"choose a place where files can be made, or give the key in the configuration", err)
	}
	return OpenFile(path)
}

// readFile reads a file that only its owner may touch. Where the modes of files
// say nothing about access, it takes any.
func readFile(path string) ([]byte, error) {
	file, err := os.Open(path) //nolint:gosec // the operator says where the keyset is
	if err != nil {
		return nil, fmt.Errorf("vault: the keyset cannot be read: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("vault: the keyset cannot be read: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("vault: %s is not a file that could hold a keyset", path)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, fmt.Errorf("vault: others than its owner have access to the keyset in %s (its mode is %04o): "+
			"run chmod 600 %s, and rotate the keys if somebody may have read it", path, mode, path)
	}
	text, err := io.ReadAll(io.LimitReader(file, largest))
	if err != nil {
		return nil, fmt.Errorf("vault: the keyset cannot be read: %w", err)
	}
	return text, nil
}

// createFile writes a file beside the path and then gives it its name, unless
// the name is taken. A link does that in one step, and fails if somebody else
// was first.
func createFile(path string, text []byte) error {
	dir := filepath.Dir(path)
	file, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*") // its mode is 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.Write(text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Link(file.Name(), path); err != nil {
		return err
	}
	syncDir(dir)
	return nil
}

// syncDir makes sure that a new name in a directory outlives a power failure. Not
// every system can do that, and it is no reason to go without the file.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil { //nolint:gosec // the operator says where the keyset is
		_ = d.Sync()
		_ = d.Close()
	}
}
