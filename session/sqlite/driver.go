package sqlite

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/parley-run/parley/session"
)

func init() {
	session.Register("sqlite", session.Driver{
		Shared: true, File: fileOf,
		Open: func(ctx context.Context, url string, o session.Options) (session.Store, error) {
			path, err := fileOf(url)
			if err != nil {
				return session.Store{}, err
			}
			return Open(ctx, path, o)
		},
	})
}

// fileOf returns the file of a URL such as sqlite:///var/lib/parley.db, or
// sqlite://parley.db, sqlite:parley.db and sqlite:///./parley.db for one in the
// working directory.
func fileOf(address string) (string, error) {
	path, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(address, "sqlite:"), "//"), "?")
	if strings.HasPrefix(path, "/./") || strings.HasPrefix(path, "/../") {
		path = path[1:] // other tools take the third slash for the end of a host name
	}
	path, err := url.PathUnescape(path)
	if err != nil || path == "" || path == "/" || strings.HasPrefix(path, ":") {
		return "", errors.New("sqlite: needs the path of a file, as in sqlite:///path/to/file.db")
	}
	return path, nil
}
