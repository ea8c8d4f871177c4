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
)

// dir is objects that are files. Nothing is reached outside of its directory,
// whatever the keys are.
type dir struct{ root *os.Root }

// openDir makes the directory, if it is not there, for nobody else to read.
func openDir(where string) (*dir, error) {
	if err := os.MkdirAll(where, 0o700); err != nil {
		return nil, plain(err)
	}
	root, err := os.OpenRoot(where)
	if err != nil {
		return nil, plain(err)
	}
	return &dir{root}, nil
}

// plain is an error without the path, which is not for everybody.
func plain(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}

// making is where files are that are not whole yet.
const making = "tmp"

// attempts is how often a directory is made again that somebody has just found
// empty and removed.
const attempts = 100

func (d *dir) put(ctx context.Context, key string, content io.Reader, fresh bool) error {
	temp := making + "/" + rand.Text()
	if err := d.write(ctx, temp, content); err != nil {
		_ = d.root.Remove(temp)
		return plain(err)
	}
	defer func() { _ = d.root.Remove(temp) }() // which a rename has done already
	var err error
	for range attempts {
		if err = d.root.MkdirAll(path.Dir(key), 0o700); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return plain(err)
		}
		if fresh {
			err = d.root.Link(temp, key) // of many that do it, one succeeds
		} else {
			err = d.root.Rename(temp, key)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if errors.Is(err, fs.ErrExist) {
		return errExists
	}
	if err != nil {
		return fmt.Errorf("write a file: %w", plain(err))
	}
	return nil
}

func (d *dir) write(ctx context.Context, name string, content io.Reader) error {
	if err := d.root.MkdirAll(making, 0o700); err != nil {
		return err
	}
	f, err := d.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err == nil {
		err = f.Sync() // as lasting as the sessions are
	}
	return errors.Join(err, f.Close(), ctx.Err())
}

func (d *dir) get(_ context.Context, key string) (io.ReadSeekCloser, error) {
	f, err := d.root.Open(key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errMissing
	}
	if err != nil {
		return nil, plain(err)
	}
	return f, nil
}

func (d *dir) list(_ context.Context, prefix string) ([]string, error) {
	var keys []string
	err := fs.WalkDir(d.root.FS(), strings.TrimSuffix(prefix, "/"), func(key string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it may go while we look
		}
		if err == nil && !entry.IsDir() {
			keys = append(keys, key)
		}
		return err
	})
	return keys, plain(err)
}

func (d *dir) remove(_ context.Context, key string) error {
	if err := d.root.Remove(key); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return plain(err)
	}
	for up := path.Dir(key); up != "."; up = path.Dir(up) {
		if d.root.Remove(up) != nil { // it is not empty
			break
		}
	}
	return nil
}

func (d *dir) Close() error { return d.root.Close() }
