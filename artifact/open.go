package artifact

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"time"

	"github.com/parley-run/parley/internal/registry"
)

// NewMemory returns a store in memory.
func NewMemory() *Store { return newStore(&memory{data: map[string][]byte{}}) }

// NewDir returns a store in a directory, which is created when the first file is saved.
func NewDir(where string) *Store { return newStore(&dir{where: where}) }

// OpenDir is like NewDir, but creates the directory immediately.
func OpenDir(where string) (*Store, error) {
	d := &dir{where: where}
	if _, err := d.open(true); err != nil {
		return nil, fmt.Errorf("the directory cannot be used: %w", err)
	}
	return newStore(d), nil
}

// Register adds a URL scheme for Open. It panics if the scheme is already registered. It is called from init functions.
func Register(scheme string, open func(at *url.URL) (Objects, error)) {
	registry.Register[opener](scheme, open)
}

// opener opens the object store of a URL.
type opener func(at *url.URL) (Objects, error)

// drivers maps known schemes to the packages that register them.
var drivers = map[string]string{
	"s3": "artifact/s3",
	"gs": "artifact/gcs",
}

// Open opens the store of a URL: memory://, file:///path or, if their packages are linked, s3://bucket/prefix,
// gs://bucket/prefix and what Register has added. It does not check whether a bucket exists.
func Open(address string) (*Store, error) {
	at, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("it is not a URL")
	}
	switch at.Scheme {
	case "memory":
		return NewMemory(), nil
	case "file":
		path := at.Host + at.Path // file://dir is in the working directory
		if path == "" || path == "/" {
			return nil, errors.New("file: needs the path of a directory, as in file:///path/to/artifacts")
		}
		return OpenDir(filepath.FromSlash(path))
	}
	open, ok := registry.Find[opener](at.Scheme)
	switch {
	case ok:
	case drivers[at.Scheme] != "":
		return nil, registry.Missing(at.Scheme+":", drivers[at.Scheme])
	default:
		return nil, errors.New("it must be memory://, file:///path/to/directory, s3://bucket or gs://bucket")
	}
	o, err := open(at)
	if err != nil {
		return nil, err
	}
	return newStore(o), nil
}

func newStore(o Objects) *Store { return &Store{objects: o, now: time.Now} }

// Close releases the resources of the store.
func (s *Store) Close() error {
	if s == nil {
		return nil
	}
	if c, ok := s.objects.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
