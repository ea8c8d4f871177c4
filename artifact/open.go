package artifact

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"time"
)

// NewMemory is a store that lives and dies with the process.
func NewMemory() *Store { return newStore(&memory{data: map[string][]byte{}}) }

// NewDir is a store in a directory, which is made when there is something to
// save.
func NewDir(where string) *Store { return newStore(&dir{where: where}) }

// OpenDir is NewDir for a directory that is made at once.
func OpenDir(where string) (*Store, error) {
	d := &dir{where: where}
	if _, err := d.open(true); err != nil {
		return nil, fmt.Errorf("the directory cannot be used: %w", err)
	}
	return newStore(d), nil
}

// Open opens what an address names: memory://, file:///path, s3://bucket/prefix
// or gs://bucket/prefix. It does not look whether a bucket is there.
func Open(address string) (*Store, error) {
	at, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("it is not a URL")
	}
	switch at.Scheme {
	case "memory":
		return NewMemory(), nil
	case "file":
		path := at.Host + at.Path // file://dir is one in the working directory
		if path == "" || path == "/" {
			return nil, errors.New("file: needs the path of a directory, as in file:///path/to/artifacts")
		}
		return OpenDir(filepath.FromSlash(path))
	case "s3", "gs":
		if at.Host == "" {
			return nil, fmt.Errorf("%s: needs the name of a bucket, as in %s://bucket", at.Scheme, at.Scheme)
		}
		if at.User != nil {
			return nil, errors.New("it must hold no credentials: they come from the environment")
		}
	default:
		return nil, errors.New("it must be memory://, file:///path/to/directory, s3://bucket or gs://bucket")
	}
	var o objects
	if strings.EqualFold(at.Scheme, "s3") {
		o, err = openS3(at)
	} else {
		o, err = openGCS(at)
	}
	if err != nil {
		return nil, err
	}
	return newStore(o), nil
}

func newStore(o objects) *Store { return &Store{objects: o, now: time.Now} }

// Close gives back what the store has opened.
func (s *Store) Close() error {
	if s == nil {
		return nil
	}
	if c, ok := s.objects.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
