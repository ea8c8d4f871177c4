package parley

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

const (
	// defaultLease is how long the process that works on a run may go without
	// renewing its lease.
	defaultLease = 10 * time.Second
	// minLease is what still can be renewed in time.
	minLease = 500 * time.Millisecond
	// cacheBytes is how much of the logs of hot sessions is kept in memory in
	// front of a database.
	cacheBytes = 64 << 20
)

// openStore opens what Sessions.URL names. lease is 0 for a store that only this
// process can use. address is how others that share the store reach this process, if
// they do.
func openStore(ctx context.Context, cfg *Config, address string) (store session.Store, lease time.Duration, err error) {
	if inMemory(cfg.Sessions.URL) {
		return memstore.New(0), 0, nil
	}
	driver, err := driverOf(cfg.Sessions.URL)
	if err != nil {
		return session.Store{}, 0, err
	}
	if cfg.Sessions.Passive {
		if err := exists(cfg.Sessions.URL); err != nil {
			return session.Store{}, 0, err
		}
	}
	if driver.Shared {
		lease = cmp.Or(cfg.Sessions.RunLease, defaultLease)
	}
	if store, err = driver.Open(ctx, cfg.Sessions.URL, session.Options{Owner: owner(), Address: address, Lease: lease, Log: cfg.Log}); err != nil {
		return session.Store{}, 0, err
	}
	if driver.Shared {
		store = session.Cached(store, cacheBytes)
	}
	return store, lease, nil
}

// driverOf returns the driver of a URL, or of all URLs of a list.
func driverOf(list string) (session.Driver, error) {
	driver, err := session.DriverOf(list)
	if urls := sessionrt.URLs(list); err == nil && len(urls) > 1 {
		for _, url := range urls {
			if d, err := session.DriverOf(url); err != nil || d.Move == nil || driver.Move == nil {
				return session.Driver{}, errors.New("a list of databases must consist of postgres:// URLs")
			}
		}
	}
	return driver, err
}

// inMemory reports whether sessions are gone with the process.
func inMemory(url string) bool { return url == "" || strings.HasPrefix(url, "memory:") }

// volatile reports whether what belongs to sessions, such as logins and API keys,
// is gone with the process, whether or not the sessions are.
func volatile(url string) bool {
	if inMemory(url) {
		return true
	}
	driver, err := driverOf(url)
	return err == nil && driver.Volatile
}

// storeFile is the file of a store that is in one; empty if it is not.
func storeFile(url string) (string, error) {
	if inMemory(url) {
		return "", nil
	}
	driver, err := driverOf(url)
	if err != nil || driver.File == nil {
		return "", err
	}
	return driver.File(url)
}

// openArtifacts opens what Artifacts.URL names. It is nil when there is no place
// that is as lasting as the sessions, and as far to be reached.
func openArtifacts(cfg *Config) (*artifact.Store, error) {
	switch {
	case cfg.Artifacts.URL != "":
		return artifact.Open(cfg.Artifacts.URL)
	case inMemory(cfg.Sessions.URL):
		return artifact.NewMemory(), nil
	}
	path, err := storeFile(cfg.Sessions.URL)
	if err != nil || path == "" {
		return nil, err
	}
	return artifact.NewDir(path + ".artifacts"), nil
}

// openExisting opens a database that is there: nothing is made of a name with a
// mistake in it.
func openExisting(ctx context.Context, url string) (session.Store, error) {
	if err := exists(url); err != nil {
		return session.Store{}, err
	}
	store, _, err := openStore(ctx, &Config{Sessions: SessionConfig{URL: url}, Log: slog.New(slog.DiscardHandler)}, "")
	return store, err
}

// exists fails if the database of a URL is a file that is not there.
func exists(url string) error {
	path, err := storeFile(url)
	if err != nil || path == "" {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no database %q", path)
	}
	return nil
}

// owner names this process among all that share a store.
func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d/%s", host, os.Getpid(), event.NewID())
}
