package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/postgres"
	"github.com/parley-run/parley/session/sqlite"
)

// place is where a server keeps its sessions.
type place struct {
	url     string        // empty for memory
	lease   time.Duration // of runs; 0 for what the server has by itself
	program string        // this program of another version; empty for this one
}

// The kinds of places.
const (
	inMemory   = "memory"
	inSQLite   = "sqlite"
	inPostgres = "postgres"
)

// flags are how a child is told.
func (p place) flags() []string {
	if p.url == "" {
		return nil
	}
	return []string{"-db", p.url, "-lease", p.lease.String()}
}

// store opens the place without a server in front.
func (p place) store(ctx context.Context) (session.Store, error) {
	opts := session.Options{Owner: "bench", Lease: time.Minute}
	if path, ok := strings.CutPrefix(p.url, sqliteScheme); ok {
		return sqlite.Open(ctx, path, opts)
	}
	return postgres.Open(ctx, p.url, opts)
}

const sqliteScheme = "sqlite://"

// place makes an empty place. drop removes it.
func (b *bench) place(ctx context.Context, kind string) (p place, drop func(), err error) {
	switch kind {
	case inSQLite:
		dir, err := os.MkdirTemp("", "bench-*")
		if err != nil {
			return p, nil, err
		}
		return place{url: sqliteScheme + filepath.Join(dir, "parley.db")}, func() { _ = os.RemoveAll(dir) }, nil
	case inPostgres:
		server, err := b.postgres.get(ctx)
		if err != nil {
			return p, nil, err
		}
		if p.url, err = server.CreateDatabase(ctx); err != nil {
			return p, nil, err
		}
		return p, func() {
			if err := server.DropDatabase(context.WithoutCancel(ctx), p.url); err != nil {
				b.logf("%v", err)
			}
		}, nil
	}
	return place{}, func() {}, nil
}

// errNoPostgres means that there is no Postgres to compare with, or to keep
// sessions in.
var errNoPostgres = errors.New("there is no Postgres")

// lazyPostgres is a Postgres server of our own, started by who needs it first.
// It syncs to the disk, as one has to that is trusted.
type lazyPostgres struct {
	once   sync.Once
	server *pgtest.Server
	err    error
}

func (l *lazyPostgres) get(ctx context.Context) (*pgtest.Server, error) {
	l.once.Do(func() {
		l.server, l.err = pgtest.New(context.WithoutCancel(ctx), pgtest.Options{Settings: map[string]string{
			// For the statements of a run; see recordRun. Nothing else is logged.
			"logging_collector": "on", "log_destination": "csvlog", "log_checkpoints": "off", "log_autovacuum_min_duration": "-1",
		}})
		if l.err != nil {
			l.err = fmt.Errorf("%w: %w", errNoPostgres, l.err)
		}
	})
	return l.server, l.err
}

// Close ends the server, if there is one.
func (l *lazyPostgres) Close() error {
	if l.server == nil {
		return nil
	}
	return l.server.Close()
}

// turnsOn has a server in this process do turns of one session.
func turnsOn(ctx context.Context, where place, n int) error {
	srv, err := parleyServer(openGate(), runTurn, where)
	if err != nil {
		return err
	}
	defer srv.Close(ctx)
	const session = "recorded"
	requests := []request{create(weatherApp, user, session)}
	for range n {
		requests = append(requests, runTurn.request(session))
	}
	_, err = answers(ctx, srv.Handler(), requests...)
	return err
}
