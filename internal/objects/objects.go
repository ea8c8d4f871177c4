// Package objects is what package artifact and its object stores share. It knows
// none of them, so that they may know it.
package objects

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"
)

// Objects keeps bytes under keys; see artifact.Objects.
type Objects interface {
	Put(ctx context.Context, key string, content io.Reader, fresh bool) error
	Get(ctx context.Context, key string) (io.ReadSeekCloser, error)
	List(ctx context.Context, prefix string) ([]string, error)
	Remove(ctx context.Context, key string) error
}

// Errors of Objects.
var (
	ErrExists  = errors.New("the object exists already")
	ErrMissing = errors.New("the object is not there")
)

// Opener opens what a URL names.
type Opener func(at *url.URL) (Objects, error)

// Prefix is what the keys in a bucket begin with: the path of its URL.
func Prefix(at *url.URL) string {
	if dir := strings.Trim(at.Path, "/"); dir != "" {
		return dir + "/"
	}
	return ""
}

// CheckBucket refuses a URL that names no bucket, or that holds credentials.
func CheckBucket(at *url.URL) error {
	if at.Host == "" {
		return errors.New(at.Scheme + ": needs the name of a bucket, as in " + at.Scheme + "://bucket")
	}
	if at.User != nil {
		return errors.New("it must hold no credentials: they come from the environment")
	}
	return nil
}
