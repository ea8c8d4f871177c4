package parley

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/agentengine"
	"github.com/parley-run/parley/session/postgres"
	"github.com/parley-run/parley/session/sqlite"
)

const (
	// defaultLease is how long a run may be without a sign of life from the
	// process that works on it.
	defaultLease = 10 * time.Second
	// minLease is what still can be renewed in time.
	minLease = 500 * time.Millisecond
	// cacheBytes is how much of the logs of hot sessions is kept in memory in
	// front of a database.
	cacheBytes = 64 << 20
)

// openStore opens what Sessions.URL names. lease is 0 for a store that only this
// process can use.
func openStore(ctx context.Context, cfg *Config) (store session.Store, lease time.Duration, err error) {
	if inMemory(cfg.Sessions.URL) {
		return session.NewMemory(0), 0, nil
	}
	if inEngine(cfg.Sessions.URL) {
		store, err = agentengine.Open(ctx, agentengine.Options{
			URL: cfg.Sessions.URL, Log: cfg.Log,
			Getenv: os.Getenv, //nolint:forbidigo // where the tools of Google Cloud look for the project, too
		})
		return store, 0, err // it is a memory of the sessions in use itself, and so needs no cache
	}
	lease = cmp.Or(cfg.Sessions.RunLease, defaultLease)
	opts := session.Options{Owner: owner(), Lease: lease, Log: cfg.Log}
	kind, rest, _ := strings.Cut(cfg.Sessions.URL, ":")
	switch kind {
	case "sqlite":
		path, err := sqlitePath(rest)
		if err != nil {
			return session.Store{}, 0, err
		}
		store, err = sqlite.Open(ctx, path, opts)
		if err != nil {
			return session.Store{}, 0, err
		}
	case "postgres", "postgresql":
		store, err = postgres.Open(ctx, cfg.Sessions.URL, opts)
		if err != nil {
			return session.Store{}, 0, err
		}
	default:
		return session.Store{}, 0, errors.New("it must be empty for memory, sqlite:///path/to/file.db, postgres://user@host/database, or agentengine://ID")
	}
	return session.Cached(store, cacheBytes), lease, nil
}

// inMemory reports whether sessions are gone with the process.
func inMemory(url string) bool { return url == "" || strings.HasPrefix(url, "memory:") }

// inEngine reports whether a managed service keeps sessions, and this process
// what belongs to them.
func inEngine(url string) bool { return strings.HasPrefix(url, agentengine.Scheme+":") }

// openArtifacts opens what Artifacts.URL names. It is nil when there is no place
// that is as lasting as the sessions, and as far to be reached.
func openArtifacts(cfg *Config) (*artifact.Store, error) {
	rest, isSQLite := strings.CutPrefix(cfg.Sessions.URL, "sqlite:")
	switch {
	case cfg.Artifacts.URL != "":
		return artifact.Open(cfg.Artifacts.URL)
	case inMemory(cfg.Sessions.URL):
		return artifact.NewMemory(), nil
	case isSQLite:
		path, err := sqlitePath(rest)
		if err != nil {
			return nil, err
		}
		return artifact.NewDir(path + ".artifacts"), nil
	}
	return nil, nil
}

// openExisting opens a database that is there: nothing is made of a name with a
// mistake in it.
func openExisting(ctx context.Context, url string) (session.Store, error) {
	if rest, isSQLite := strings.CutPrefix(url, "sqlite:"); isSQLite {
		path, err := sqlitePath(rest)
		if err != nil {
			return session.Store{}, err
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return session.Store{}, fmt.Errorf("there is no database %q", path)
		}
	}
	store, _, err := openStore(ctx, &Config{Sessions: SessionConfig{URL: url}, Log: slog.New(slog.DiscardHandler)})
	return store, err
}

// sqlitePath is the file of a URL such as sqlite:///var/lib/parley.db, or
// sqlite://parley.db, sqlite:parley.db and sqlite:///./parley.db for one in the
// working directory.
func sqlitePath(rest string) (string, error) {
	path, _, _ := strings.Cut(strings.TrimPrefix(rest, "//"), "?")
	if strings.HasPrefix(path, "/./") || strings.HasPrefix(path, "/../") {
		path = path[1:] // other tools take the third slash for the end of a host name
	}
	path, err := url.PathUnescape(path)
	if err != nil || path == "" || path == "/" || strings.HasPrefix(path, ":") {
		return "", errors.New("sqlite: needs the path of a file, as in sqlite:///path/to/file.db")
	}
	return path, nil
}

// owner names this process among all that share a store.
func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d/%s", host, os.Getpid(), event.NewID())
}
