package artifact

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"time"
)

// dir stores objects as files. No key can reach a file outside of its directory.
type dir struct {
	where string

	mu   sync.Mutex
	root *os.Root // nil until it is needed
}

// open opens the directory. If it does not exist, open creates it with access for the owner only or, if write is false,
// returns ErrMissing.
func (d *dir) open(write bool) (*os.Root, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.root != nil {
		return d.root, nil
	}
	if write {
		if err := os.MkdirAll(d.where, 0o700); err != nil {
			return nil, plain(err)
		}
	}
	root, err := os.OpenRoot(d.where)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrMissing
	}
	if err != nil {
		return nil, plain(err)
	}
	d.root = root
	return root, nil
}

// plain removes the path from an error, because clients may see it.
func plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}

// making is the directory of incomplete files.
const making = "tmp"

// abandonedAfter is the time without a write after which an incomplete file counts as abandoned. Other processes may
// share the directory, but none of them waits that long between writes.
const abandonedAfter = time.Hour

// sweep removes abandoned files.
func (d *dir) sweep(ctx context.Context, now time.Time) (removed int, err error) {
	root, err := d.open(false)
	if errors.Is(err, ErrMissing) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	entries, err := fs.ReadDir(root.FS(), making)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, plain(err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || now.Sub(info.ModTime()) < abandonedAfter {
			continue // it may be gone, or is in use
		}
		if err := root.Remove(making + "/" + entry.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return removed, plain(err)
		}
		if removed++; ctx.Err() != nil {
			return removed, ctx.Err()
		}
	}
	return removed, nil
}

// attempts is how often a directory is created again that another process has found empty and removed.
const attempts = 100

func (d *dir) Put(ctx context.Context, key string, content io.Reader, fresh bool) error {
	root, err := d.open(true)
	if err != nil {
		return err
	}
	temp := making + "/" + rand.Text()
	defer func() { _ = root.Remove(temp) }() // a rename has already removed it
	if err := write(ctx, root, temp, content); err != nil {
		return plain(err)
	}
	for range attempts {
		if err = root.MkdirAll(path.Dir(key), 0o700); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return plain(err)
		}
		if fresh {
			err = root.Link(temp, key) // only one of several concurrent calls succeeds
		} else {
			err = root.Rename(temp, key)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return ErrExists
	}
	if err != nil {
		return fmt.Errorf("write a file: %w", plain(err))
	}
	return nil
}

func write(ctx context.Context, root *os.Root, name string, content io.Reader) error {
	if err := root.MkdirAll(making, 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err == nil {
		err = f.Sync() // as durable as the sessions
	}
	return errors.Join(err, f.Close(), ctx.Err())
}

func (d *dir) Get(_ context.Context, key string) (io.ReadSeekCloser, error) {
	root, err := d.open(false)
	if err != nil {
		return nil, err
	}
	f, err := root.Open(key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrMissing
	}
	if err != nil {
		return nil, plain(err)
	}
	return f, nil
}

func (d *dir) List(_ context.Context, prefix string) ([]string, error) {
	root, err := d.open(false)
	if errors.Is(err, ErrMissing) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var keys []string
	err = fs.WalkDir(root.FS(), strings.TrimSuffix(prefix, "/"), func(key string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it may be deleted concurrently
		}
		if err == nil && !entry.IsDir() {
			keys = append(keys, key)
		}
		return err
	})
	return keys, plain(err)
}

func (d *dir) Remove(_ context.Context, key string) error {
	root, err := d.open(false)
	if errors.Is(err, ErrMissing) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := root.Remove(key); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return plain(err)
	}
	empty := func(dir string) bool { return dir != "." && root.Remove(dir) == nil } // directories that are not empty stay
	for up := path.Dir(key); empty(up); {
		up = path.Dir(up)
	}
	return nil
}

func (d *dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.root == nil {
		return nil
	}
	return d.root.Close()
}
