// Package sqlite stores sessions and runs in a SQLite file, which several
// processes of one machine may share. A server uses it for a URL such as
// sqlite:///var/lib/agents.db in parley.Config.Sessions, if the program imports it:
//
//	import _ "github.com/parley-run/parley/session/sqlite"
//
// All writes go through one connection and one goroutine, which commits for all
// waiting callers together. Reads go through a few other connections, each in its
// own transaction: a read sees one snapshot, and neither waits for the writer nor
// blocks it.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	_ "github.com/parley-run/parley/credential/keyset" // the keyset that seals credentials is in a file beside the database
	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/session"
)

// backend is a session.Backend in a file.
type backend struct {
	db      *sql.DB
	writer  *writer
	readers chan *conn // the idle ones
	total   int        // number of them all
	opened  int64      // data version of the writer's connection; see Watch
	owner   string     // its name and, after a line break, its address
	lease   time.Duration

	health *sessionrt.Health // whether it can be written to

	added chan struct{} // holds a value after deliveries were added

	closing sync.Once
	closed  chan struct{} // set by Close

	sweeping sync.Mutex
	swept    int64 // ordinal of the last session that Sweep has visited

	indexing indexing
}

var _ session.Backend = (*backend)(nil)

// maxReaders bounds the number of concurrent reads. They are short and use cached
// pages, so more readers than cores do not help.
const maxReaders = 4

var errClosed = errors.New("the session store is closed")

// Open opens the database in the file at path, and creates the file if necessary.
func Open(ctx context.Context, path string, o session.Options) (session.Store, error) {
	s, err := open(ctx, path, o)
	if err != nil {
		return session.Store{}, fmt.Errorf("open the database %q: %w", path, explain(err))
	}
	store := session.NewStore(s)
	store.Keys = s
	return store, nil
}

func open(ctx context.Context, path string, o session.Options) (_ *backend, err error) {
	source, err := locate(path)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return nil, err
	}
	s := &backend{
		db: db, readers: make(chan *conn, maxReaders), closed: make(chan struct{}),
		owner: strings.TrimSuffix(o.Owner+"\n"+o.Address, "\n"), lease: o.Lease, added: make(chan struct{}, 1),
	}
	w, err := connect(ctx, db, writerPragma)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	// From here on Close releases everything.
	s.writer = newWriter(w, o.Log, s.indexing.grown.Add)
	s.health = sessionrt.NewHealth("the session database", o.Log, s.probe)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := s.writer.migrate(ctx); err != nil {
		return nil, err
	}
	if s.opened, err = s.version(ctx); err != nil {
		return nil, err
	}
	for range maxReaders {
		c, err := connect(ctx, db, readerPragma)
		if err != nil {
			return nil, err
		}
		s.readers <- c
		s.total++
	}
	return s, nil
}

// Close waits for active calls, and closes the file.
func (s *backend) Close() error {
	var err error
	s.closing.Do(func() {
		close(s.closed)
		s.health.Close()
		err = s.writer.close()
		for range s.total {
			c := <-s.readers // when its read has ended
			err = errors.Join(err, c.close())
		}
		err = errors.Join(err, s.db.Close())
	})
	return err
}

// now returns the time of the store. All its processes are on one machine, so they
// share a clock.
func now() int64 { return time.Now().UnixNano() }

// nanos returns t as it is stored. The bounds of a list may be out of range, and
// then have no effect.
func nanos(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// moment returns the time that is stored as n; 0 is none.
func moment(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}
