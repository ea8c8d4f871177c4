package keyring

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/tink-crypto/tink-go/v2/keyset"

	"github.com/parley-run/parley/internal/broker/vault"
)

// largest exceeds the size of any keyset.
const largest = 1 << 20

// unwrapWithin is the timeout of a key management service.
const unwrapWithin = 30 * time.Second

// File is a keyset in a file.
type File struct {
	Path string
	// KMS is the URL of the key with which a key management service wraps the keyset. Without it, the keyset is in
	// clear, and only the owner may have access to the file.
	KMS string
	// Log reports a changed file that cannot be read.
	Log *slog.Logger
}

// Open opens a vault with the keyset. When the file changes, so does the vault, so keys can be rotated while it is in
// use.
func (f File) Open(ctx context.Context) (*vault.Vault, error) {
	w := &watched{path: f.Path, load: f.load, log: f.Log}
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	var err error
	if w.ring, w.seen, err = f.load(ctx); err != nil {
		return nil, err
	}
	return vault.FromRing(w.current, w.settled), nil
}

// Create is like Open, and creates the file if there is none. If several processes do so concurrently, one of them
// creates the file and all use its keyset; none sees a partial file.
func (f File) Create(ctx context.Context) (*vault.Vault, error) {
	v, err := f.Open(ctx)
	if !errors.Is(err, fs.ErrNotExist) {
		return v, err
	}
	if err := f.New(ctx); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return f.Open(ctx)
}

// New creates the file with a new key. It returns fs.ErrExist if the file exists.
func (f File) New(ctx context.Context) error {
	handle, err := newHandle()
	if err != nil {
		return err
	}
	text, err := f.write(ctx, handle)
	if err != nil {
		return err
	}
	if err := put(f.Path, text, os.Link); err != nil {
		return fmt.Errorf("vault: the keyset cannot be stored in a file: %w: "+
			"choose a writable directory, or set the key in the configuration", err)
	}
	return nil
}

// Prepare adds a key that is not used for sealing yet. Servers with copies of the keyset must have a key before any of
// them uses it.
func (f File) Prepare(ctx context.Context) error { return f.change(ctx, prepared) }

// Rotate changes the primary key: to the one that Prepare added, or else to a new one. The other keys stay, so that
// what they have sealed still opens. A process without the new keyset cannot open what the new key seals.
func (f File) Rotate(ctx context.Context) error { return f.change(ctx, rotated) }

// Prune removes all keys but the primary one. What the others have sealed can no longer be opened.
func (f File) Prune(ctx context.Context) error { return f.change(ctx, pruned) }

// change replaces the keyset.
func (f File) change(ctx context.Context, how func(*keyset.Handle) (*keyset.Handle, error)) error {
	handle, _, err := f.read(ctx)
	if err != nil {
		return err
	}
	if handle, err = how(handle); err != nil {
		return err
	}
	text, err := f.write(ctx, handle)
	if err != nil {
		return err
	}
	if err := put(f.Path, text, os.Rename); err != nil {
		return fmt.Errorf("vault: the keyset cannot be replaced: %w", err)
	}
	return nil
}

// write encodes a keyset for the file.
func (f File) write(ctx context.Context, handle *keyset.Handle) ([]byte, error) {
	if f.KMS == "" {
		return write(handle)
	}
	ctx, cancel := context.WithTimeout(ctx, unwrapWithin)
	defer cancel()
	return wrap(ctx, handle, f.KMS)
}

// read reads the keyset, and the file's metadata.
func (f File) read(ctx context.Context) (*keyset.Handle, os.FileInfo, error) {
	text, info, err := readFile(f.Path, f.KMS == "")
	if err != nil {
		return nil, nil, err
	}
	var handle *keyset.Handle
	if f.KMS == "" {
		handle, err = parse(text)
	} else {
		ctx, cancel := context.WithTimeout(ctx, unwrapWithin)
		defer cancel()
		handle, err = unwrap(ctx, text, f.KMS)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w (in the file %s)", err, f.Path)
	}
	return handle, info, nil
}

func (f File) load(ctx context.Context) (*vault.Ring, os.FileInfo, error) {
	handle, info, err := f.read(ctx)
	if err != nil {
		return nil, nil, err
	}
	r, err := newRing(handle)
	if err != nil {
		return nil, nil, fmt.Errorf("%w (in the file %s)", err, f.Path)
	}
	return r, info, nil
}

// readFile reads a file. If private is true, only its owner may have access. Where file modes do not control access, it
// accepts any.
func readFile(path string, private bool) ([]byte, os.FileInfo, error) {
	file, err := os.Open(path) //nolint:gosec // the operator says where the keyset is
	if err != nil {
		return nil, nil, fmt.Errorf("vault: the keyset cannot be read: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, fmt.Errorf("vault: the keyset cannot be read: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("vault: %s is not a file that could hold a keyset", path)
	}
	if mode := info.Mode().Perm(); private && mode&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, nil, fmt.Errorf("vault: others than its owner have access to the keyset in %s (its mode is %04o): "+
			"run chmod 600 %s, and rotate the keys if others may have read it", path, mode, path)
	}
	text, err := io.ReadAll(io.LimitReader(file, largest))
	if err != nil {
		return nil, nil, fmt.Errorf("vault: the keyset cannot be read: %w", err)
	}
	return text, info, nil
}

// put writes a temporary file and then names it in one step: with os.Link, which fails if the name exists, or with
// os.Rename, which replaces the file.
func put(path string, text []byte, name func(from, to string) error) error {
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
	if err := name(file.Name(), path); err != nil {
		return err
	}
	syncDir(dir)
	return nil
}

// syncDir makes a new name in a directory durable. Not every system supports that, so errors are ignored.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil { //nolint:gosec // the operator says where the keyset is
		_ = d.Sync()
		_ = d.Close()
	}
}
