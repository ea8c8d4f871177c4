package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/session"
)

const (
	sweepBatch = 1000
	sweepChunk = 50 // sessions that are deleted by one transaction

	over = ` NOT s.busy AND s.queued = 0 AND coalesce(nullif(s.ttl, 0), $2::bigint) > 0
		AND clock_timestamp() - s.updated > coalesce(nullif(s.ttl, 0), $2::bigint) * interval '1 microsecond'`

	// One more than is visited, which shows whether there are others.
	sqlSweep = `SELECT s.ordinal,` + over + ` FROM parley_sessions s WHERE s.ordinal > $1::bigint ORDER BY s.ordinal LIMIT $3::bigint`

	// Sessions that are currently in use are skipped.
	sqlSweepLock = `SELECT s.ordinal, s.app, s.usr, s.id FROM parley_sessions s WHERE s.ordinal = ANY ($1::bigint[]) AND` + over + `
		ORDER BY s.ordinal FOR UPDATE SKIP LOCKED`

	sqlSweepDelete = `WITH s AS (DELETE FROM parley_sessions WHERE ordinal = ANY ($1::bigint[]) RETURNING ordinal),` + deleteRest

	sqlForgetTries = `DELETE FROM parley_tries WHERE made < clock_timestamp() - interval '1 day'`

	sqlWalk = `SELECT ordinal, app, usr, id FROM parley_sessions WHERE ordinal > $1::bigint ORDER BY ordinal LIMIT $2::bigint`

	sqlRebuildLock = `SELECT ordinal, busy, seq, rewound, title, labels FROM parley_sessions WHERE digest = $1 FOR UPDATE`

	sqlRebuild = `UPDATE parley_sessions SET seq = $2::bigint, rewound = $3::bigint, title = $4::bytea, labels = $5::bytea[] WHERE ordinal = $1`

	sqlRebuildState = `INSERT INTO parley_state (owner, name, value)
		SELECT int8send($1::bigint), u.name, u.value FROM unnest($2::bytea[], $3::bytea[]) AS u (name, value)
		ON CONFLICT (owner, digest) DO UPDATE SET value = excluded.value`
)

// cursor is the position where Sweep continues.
type cursor struct {
	sync.Mutex
	ordinal int64
}

// Sweep implements session.Upkeep.
func (s *backend) Sweep(ctx context.Context, ttl time.Duration) (deleted []session.Key, done bool, err error) {
	s.swept.Lock()
	defer s.swept.Unlock()
	type candidate struct {
		Ordinal int64
		Over    bool
	}
	var batch []candidate
	err = s.read(ctx, "looking for old sessions", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, sqlSweep, s.swept.ordinal, micros(ttl), int64(sweepBatch+1))
		if err != nil {
			return err
		}
		batch, err = pgx.CollectRows(rows, pgx.RowToStructByPos[candidate])
		return err
	})
	if err != nil {
		return nil, false, err
	}
	done = len(batch) <= sweepBatch
	batch = batch[:min(len(batch), sweepBatch)]
	var old []int64
	for _, c := range batch {
		if c.Over {
			old = append(old, c.Ordinal)
		}
	}
	for chunk := range slices.Chunk(old, sweepChunk) {
		gone, err := s.sweep(ctx, chunk, micros(ttl))
		deleted = append(deleted, gone...)
		if err != nil {
			return deleted, false, err
		}
	}
	s.swept.ordinal = 0
	if !done {
		s.swept.ordinal = batch[len(batch)-1].Ordinal
		return deleted, false, nil
	}
	err = s.write(ctx, "tidying up", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		_, err := conn.Exec(ctx, sqlForgetTries)
		return err
	})
	return deleted, true, err
}

// sweep deletes those of the sessions that are still expired.
func (s *backend) sweep(ctx context.Context, ordinals []int64, ttl int64) ([]session.Key, error) {
	var gone []session.Key
	err := s.write(ctx, "deleting old sessions", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		gone = nil
		return transact(ctx, conn, func(tx pgx.Tx) error {
			rows, err := tx.Query(ctx, sqlSweepLock, ordinals, ttl)
			if err != nil {
				return err
			}
			var locked []int64
			var ordinal int64
			var key session.Key
			_, err = pgx.ForEachRow(rows, []any{&ordinal, &key.App, &key.User, &key.ID}, func() error {
				locked, gone = append(locked, ordinal), append(gone, key)
				return nil
			})
			if err != nil || len(locked) == 0 {
				return err
			}
			_, err = tx.Exec(ctx, sqlSweepDelete, locked)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	for _, key := range gone {
		s.changed(key)
	}
	return gone, nil
}

// Walk implements session.Upkeep.
func (s *backend) Walk(ctx context.Context, page session.Page) ([]session.Key, string, error) {
	after, err := page.After()
	if err != nil {
		return nil, "", err
	}
	found, err := s.walk(ctx, after, page.Limit())
	if err != nil {
		return nil, "", err
	}
	found, next := session.Cut(&page, found, func(w walked) int64 { return w.ordinal })
	keys := make([]session.Key, len(found))
	for i, w := range found {
		keys[i] = w.key
	}
	return keys, next, nil
}

// walked is a session that walk has found.
type walked struct {
	ordinal int64
	key     session.Key
}

func (s *backend) walk(ctx context.Context, after, limit int64) (found []walked, err error) {
	err = s.read(ctx, "listing all sessions", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, sqlWalk, after, limit)
		if err != nil {
			return err
		}
		found, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (w walked, err error) {
			return w, row.Scan(&w.ordinal, &w.key.App, &w.key.User, &w.key.ID)
		})
		return err
	})
	return found, err
}

// Rebuild implements session.Upkeep.
func (s *backend) Rebuild(ctx context.Context, key session.Key) (changed bool, err error) {
	err = s.write(ctx, "rebuilding a session", func(ctx context.Context, conn *pgxpool.Conn, again bool) error {
		return transact(ctx, conn, func(tx pgx.Tx) error {
			found, err := rebuild(ctx, tx, key)
			if err == nil && found {
				digest := key.Digest()
				_, err = tx.Exec(ctx, sqlResetIndex, digest[:])
			}
			changed = found || again && changed // a problem that an earlier attempt found may be repaired by now
			return err
		})
	})
	if err != nil {
		return false, err
	}
	if changed {
		s.changed(key)
	}
	return changed, nil
}

func rebuild(ctx context.Context, tx pgx.Tx, key session.Key) (bool, error) {
	digest := key.Digest()
	var ordinal, seq, rewound int64
	var busy bool
	var title []byte
	var labels [][]byte
	err := tx.QueryRow(ctx, sqlRebuildLock, digest[:]).Scan(&ordinal, &busy, &seq, &rewound, &title, &labels)
	switch {
	case none(err):
		return false, session.ErrNotFound
	case err != nil:
		return false, err
	case busy:
		return false, session.ErrFenced
	}
	initial, log, own, err := contents(ctx, tx, ordinal)
	if err != nil {
		return false, err
	}
	var last, back int64
	for _, e := range log {
		if e.Damaged() { // the log cannot be decoded
			return false, &session.CorruptError{Key: key, Seq: e.Seq}
		}
		last = e.Seq
		if ev, err := e.Decode(); err == nil && ev.Actions.RewindBeforeInvocationID != "" {
			back = e.Seq
		}
	}
	state := session.StateOf(initial, log)
	name, tags := searchable(state)
	same := maps.EqualFunc(state, own, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
	if same && last == seq && back == rewound && bytes.Equal(name, title) && slices.EqualFunc(tags, labels, bytes.Equal) {
		return false, nil
	}
	// The session also changes if only its state is wrong; see sqlTakeTogether.
	if _, err := tx.Exec(ctx, sqlRebuild, ordinal, last, back, name, tags); err != nil {
		return false, fmt.Errorf("correcting a session: %w", err)
	}
	if same {
		return true, nil
	}
	c := &changes{}
	for name := range own {
		if _, ok := state[name]; !ok {
			state[name] = nil // which deletes it
		}
	}
	c.put(nil, state)
	if _, err := tx.Exec(ctx, sqlRebuildState, ordinal, c.names, c.values); err != nil {
		return false, fmt.Errorf("correcting a state: %w", err)
	}
	return true, nil
}

// contents are the initial state of a session, its log, and its own state.
func contents(ctx context.Context, tx pgx.Tx, ordinal int64) (initial session.State, log []*session.Entry, own session.State, err error) {
	var names, values [][]byte
	err = tx.QueryRow(ctx, `SELECT names, vals FROM parley_initial WHERE session = $1`, ordinal).Scan(&names, &values)
	if err != nil && !none(err) {
		return nil, nil, nil, fmt.Errorf("reading the state that a session began with: %w", err)
	}
	initial = session.State{}
	merge(initial, names, values)

	rows, err := tx.Query(ctx, `SELECT seq, json, sum FROM parley_events WHERE session = $1 ORDER BY seq`, ordinal)
	if err == nil {
		log, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*session.Entry, error) {
			var seq int64
			var text, sum []byte
			err := row.Scan(&seq, &text, &sum)
			return session.Load(seq, text, sum), err
		})
	}
	if err != nil {
		return nil, nil, nil, fmt.Errorf("reading a log: %w", err)
	}

	own = session.State{}
	names, values = nil, nil
	err = tx.QueryRow(ctx, `SELECT array_agg(name), array_agg(value) FROM parley_state WHERE owner = int8send($1::bigint)`, ordinal).Scan(&names, &values)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("reading a state: %w", err)
	}
	merge(own, names, values)
	return initial, log, own, nil
}
