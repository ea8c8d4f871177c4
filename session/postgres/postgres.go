// Package postgres stores sessions and runs in a Postgres database, which any
// number of processes may share. A server uses it for a URL such as
// postgres://user@host/database in parley.Config.Sessions, if the program imports it:
//
//	import _ "github.com/parley-run/parley/session/postgres"
//
// A transaction that changes a session updates its row first, which makes all
// others wait; it then reads what the last one committed. All times, in particular
// of leases, are those of the database. If the response to a change was lost, the
// change is searched for before it is repeated.
package postgres

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/session"
)

// backend is a session.Backend in a Postgres database.
type backend struct {
	pool     *pgxpool.Pool
	free     func() // closes the pool
	address  *address
	pooled   atomic.Bool  // a pooler is at the address of the database
	owner    string       // its name and, after a line break, its address
	lease    int64        // microseconds
	patience atomic.Int64 // a time.Duration, which tests change while the store works; see patient
	log      *slog.Logger
	channel  string // of notifications
	sender   string // the name of this process there

	life  context.Context //nolint:containedctx // it ends with Close
	end   context.CancelFunc
	ended sync.WaitGroup

	db     *sessionrt.Health // whether it can be reached
	writes *sessionrt.Health // whether it can be written to

	added    chan struct{} // holds a value after deliveries were added
	pending  hints
	swept    cursor
	indexing indexing
	started  epochs
	timeline timeline
	group    group
	member   member // among several databases
}

var _ session.Backend = (*backend)(nil)

// Open opens the database at url, in the form of libpq, and updates its schema. The
// tables are in the current schema of its search_path. It waits for a while if the
// database does not respond yet.
//
// Several URLs, separated by commas, open a store in several databases, each with some
// of the users.
func Open(ctx context.Context, url string, o session.Options) (session.Store, error) {
	var parts interface {
		session.Backend
		session.APIKeys
	}
	if urls := sessionrt.URLs(url); len(urls) > 1 {
		m, err := openMany(ctx, urls, o)
		if err != nil {
			return session.Store{}, err
		}
		parts = m
	} else {
		s, err := open(ctx, url, o)
		if err != nil {
			return session.Store{}, err
		}
		if err := s.findMember(session.Insist(ctx)); err != nil {
			s.shut()
			return session.Store{}, err
		}
		parts = s
		if s.member.name != "" { // one of several: others may have the user
			if parts, err = combine(ctx, []*backend{s}); err != nil {
				return session.Store{}, err
			}
		}
	}
	store := session.NewStore(parts)
	store.Keys = parts
	return store, nil
}

func open(ctx context.Context, url string, o session.Options) (*backend, error) {
	at, err := parse(url)
	if err != nil {
		return nil, err
	}
	s := &backend{
		address: at, owner: strings.TrimSuffix(o.Owner+"\n"+o.Address, "\n"), lease: micros(o.Lease), log: o.Log, added: make(chan struct{}, 1),
		sender: base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, rand.Uint64())), //nolint:gosec // no secret
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.patience.Store(int64(patience))
	s.pooled.Store(at.listen != nil)
	at.pool.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
		s.setExecMode(c)
		return nil
	}
	at.pool.AfterConnect = s.observe
	if s.pool, s.free, err = newPool(ctx, at.pool); err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.db = sessionrt.NewHealth("the session database", s.log, s.reach)
	s.writes = sessionrt.NewHealth("the session database, for writing,", s.log, s.probe)
	s.pending.wake = make(chan struct{}, 1)
	// There is no timeout: migrating a large schema, or waiting for another process
	// that does, may take long.
	logged := false
	err = s.persist(session.Insist(ctx), "opening the database", false, func(*bool) error {
		err := s.with(ctx, s.prepare)
		if errors.Is(err, errPooler) {
			err = s.with(ctx, s.prepare)
		}
		if err != nil && judge(err) != final && !logged {
			s.log.Warn("the database does not answer yet; waiting for it", "up_to", s.patient(), "err", err)
			logged = true
		}
		return err
	})
	if err != nil {
		s.shut()
		return nil, err
	}
	s.ended.Go(s.notify)
	return s, nil
}

// newPool returns connections, and what closes them. Tests replace it.
var newPool = func(ctx context.Context, config *pgxpool.Config) (*pgxpool.Pool, func(), error) {
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, nil, err
	}
	return pool, pool.Close, nil
}

// prepare updates the schema.
func (s *backend) prepare(ctx context.Context, conn *pgxpool.Conn) error {
	if err := s.detect(ctx, conn.Conn()); err != nil {
		return err
	}
	if err := migrate(ctx, conn.Conn()); err != nil {
		return err
	}
	var schema string
	if err := conn.QueryRow(ctx, `SELECT current_schema()::text`).Scan(&schema); err != nil {
		return fmt.Errorf("reading the name of the schema: %w", err)
	}
	s.channel = channelOf(schema)
	return nil
}

// channelOf returns the notification channel of a schema. Channels belong to the
// whole database.
func channelOf(schema string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(schema))
	return fmt.Sprintf("parley_%08x", h.Sum32())
}

// micros returns a duration in the unit of the database; a non-zero one never
// becomes 0.
func micros(d time.Duration) int64 {
	if d > 0 {
		return int64((d-1)/time.Microsecond) + 1
	}
	if d < 0 {
		return int64((d+1)/time.Microsecond) - 1
	}
	return 0
}

// Close sends the pending notifications, and closes the connections.
func (s *backend) Close() error {
	s.shut()
	return nil
}

func (s *backend) shut() {
	s.end()
	s.ended.Wait()
	s.db.Close()
	s.writes.Close()
	s.free()
}

// isSentinel reports whether an error is one that callers act on.
func isSentinel(err error) bool {
	for _, known := range []error{
		session.ErrNotFound, session.ErrExists, session.ErrFenced, session.ErrBadToken,
		session.ErrRunNotFound, session.ErrRunExists, session.ErrIdle, session.ErrReused, session.ErrNoSecret, session.ErrChanged,
		session.ErrQueueFull, session.ErrNoAPIKey,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	_, busy := errors.AsType[*session.BusyError](err)
	return busy
}

// none reports that a statement returned no row.
func none(err error) bool { return errors.Is(err, pgx.ErrNoRows) }
