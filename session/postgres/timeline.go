package postgres

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/session"
)

const (
	// The timeline of a database is a part of the names of its WAL files. It increases
	// when a standby is promoted, and when a backup is restored.
	sqlTimeline = `SELECT system_identifier || ' ' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) FROM pg_control_system()`

	// Whether a session is still owned by an epoch, and lacks an entry that was
	// appended under it.
	sqlLost = `SELECT EXISTS (SELECT FROM parley_sessions s WHERE s.digest = $1 AND s.epoch = $2::bigint
		AND NOT EXISTS (SELECT FROM parley_events e WHERE e.session = s.ordinal AND e.seq = $3::bigint AND e.sum = $4::bytea))`
)

// timeline detects that the database may have lost changes that it had confirmed.
type timeline struct {
	number atomic.Int64 // of changes

	mu sync.Mutex
	id string // of the database; empty if it is not known
}

// Timeline implements session.Timeline.
func (s *backend) Timeline() int64 { return s.timeline.number.Load() }

// observe reads the timeline of the database. A new connection does, before it is used:
// the loss of a primary breaks those to it. Databases that are like Postgres may not
// have one.
func (s *backend) observe(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var id string
	if err := conn.QueryRow(ctx, sqlTimeline, pgx.QueryExecModeSimpleProtocol).Scan(&id); err != nil {
		if conn.IsClosed() || judge(err) == undone {
			return fmt.Errorf("%w: %w", errUnsent, err)
		}
		return nil
	}
	t := &s.timeline
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.id
	if t.id = id; before != "" && before != id {
		t.number.Add(1)
		s.log.Warn("another server has become the primary of the database, or a backup was restored: sessions are read again, "+
			"and runs whose last events are lost resume at the end of the log", "before", before, "now", id)
	}
	return nil
}

// epochs holds runs that are known to have written something, so that their entries
// need not be checked for the first one. Any of them may be evicted.
type epochs struct {
	mu    sync.Mutex
	known map[int64]*tail
}

// tail is the last entry that was appended, or read, under an epoch.
type tail struct {
	timeline int64 // when it was confirmed, or was found in the database
	seq      int64 // 0 if it is not known
	ordinal  int64 // of the session; 0 if it is not known
	sum      [4]byte
}

// mostEpochs bounds the number of epochs.
const mostEpochs = 10_000

// get returns what is known of an epoch, or nil.
func (e *epochs) get(epoch int64) *tail {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.known[epoch]
}

func (e *epochs) put(epoch int64, t *tail) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known == nil || len(e.known) >= mostEpochs {
		e.known = map[int64]*tail{}
	}
	e.known[epoch] = t
}

func (e *epochs) drop(epoch int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.known, epoch)
}

// confirmed notes the last one of entries for an epoch. since is the timeline before the
// call that appended or read it. ordinal is that of the session, or 0 for the one of the epoch.
func (s *backend) confirmed(epoch, since, ordinal int64, entries ...*session.Entry) {
	t := &tail{timeline: since, ordinal: ordinal}
	if ordinal == 0 {
		t.ordinal = s.ordinalOf(epoch)
	}
	if len(entries) > 0 {
		last := entries[len(entries)-1]
		t.seq, t.sum = last.Seq, [4]byte(session.Sum(last.JSON))
	}
	s.started.put(epoch, t)
}

// ordinalOf returns the ordinal of the session of an epoch, or 0.
func (s *backend) ordinalOf(epoch int64) int64 {
	if t := s.started.get(epoch); t != nil {
		return t.ordinal
	}
	return 0
}

// current reports whether the database has, without a look at it, what was appended
// under an epoch.
func (s *backend) current(epoch int64) bool {
	t := s.started.get(epoch)
	return t == nil || t.timeline == s.Timeline()
}

// check returns ErrFenced if the database has lost what was appended under an epoch. It
// then hands the run over, so that a server claims it and resumes at the end of the log.
func (s *backend) check(ctx context.Context, conn *pgxpool.Conn, key session.Key, epoch int64) error {
	t, now := s.started.get(epoch), s.Timeline()
	if t == nil || t.timeline == now {
		return nil
	}
	digest := key.Digest()
	var lost bool
	if err := conn.QueryRow(ctx, sqlLost, digest[:], epoch, t.seq, t.sum[:]).Scan(&lost); err != nil {
		return err
	}
	if !lost || t.seq == 0 {
		s.started.put(epoch, &tail{timeline: now, seq: t.seq, ordinal: t.ordinal, sum: t.sum})
		return nil
	}
	if _, err := conn.Exec(ctx, sqlHandOver, digest[:], epoch); err != nil {
		return err
	}
	s.started.drop(epoch)
	s.changed(key)
	return session.ErrFenced
}
