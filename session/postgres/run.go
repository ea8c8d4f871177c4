package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/session"
)

const (
	runColumns = `r.number, r.id, r.status, r.stop, r.epoch, r.attempt, r.first, r.last, r.resumes, r.resumed_by, r.failure, r.usage, r.models, r.request, r.created, r.ended, r.owner`

	// No row means that there is no session, and a row without a number that there
	// is no run.
	sqlRun = `SELECT s.ordinal, ` + runColumns + ` FROM parley_sessions s
		LEFT JOIN parley_runs r ON r.session = s.ordinal AND r.id = $2::text
		WHERE s.digest = $1`

	sqlRuns = `SELECT s.ordinal, ` + runColumns + ` FROM parley_sessions s
		LEFT JOIN LATERAL (
			SELECT * FROM parley_runs r WHERE r.session = s.ordinal AND r.number < $2::bigint
			ORDER BY r.number DESC LIMIT $3::bigint) AS r ON true
		WHERE s.digest = $1 ORDER BY r.number DESC`

	sqlRecent = `SELECT s.id, ` + runColumns + ` FROM (
			SELECT id, ordinal FROM parley_sessions
			WHERE (owner, ordinal) < ($1::bytea, 9223372036854775807) AND owner >= $1::bytea AND NOT hidden
				AND EXISTS (SELECT 1 FROM parley_runs r WHERE r.session = ordinal)
			ORDER BY owner DESC, ordinal DESC LIMIT $2::bigint) AS s
		JOIN LATERAL (
			SELECT * FROM parley_runs r WHERE r.session = s.ordinal ORDER BY r.number DESC LIMIT $3::bigint) AS r ON true
		ORDER BY r.number DESC`

	sqlStop = `WITH r AS (
			UPDATE parley_runs r SET
				status = CASE WHEN r.status = 'queued' THEN 'cancelled' ELSE r.status END,
				ended = CASE WHEN r.status = 'queued' THEN clock_timestamp() END,
				request = CASE WHEN r.status = 'queued' THEN NULL ELSE r.request END,
				stop = CASE WHEN r.status = 'running' AND r.stop <> 'rollback' THEN $3::text ELSE r.stop END
			FROM parley_sessions s
			WHERE s.digest = $1 AND r.session = s.ordinal AND r.id = $2::text AND r.status IN ('queued', 'running')
			RETURNING r.session, r.id, r.status),
		s AS (
			UPDATE parley_sessions s SET queued = s.queued - 1 FROM r WHERE s.ordinal = r.session AND r.status = 'cancelled'
			RETURNING s.ordinal, s.app, s.subscriptions)
		` + putEnds + ` SELECT t.*, r.id, r.status, clock_timestamp(), clock_timestamp() FROM r, s CROSS JOIN LATERAL ` + receivers
)

// runRow is a scanned run. All columns may be null.
type runRow struct {
	number, epoch, first, last *int64
	id, status, stop           *string
	resumes, resumedBy, owner  *string
	attempt                    *int
	failure, usage, models     []byte
	request                    []byte
	created, ended             *time.Time
}

func (r *runRow) targets() []any {
	return []any{
		&r.number, &r.id, &r.status, &r.stop, &r.epoch, &r.attempt, &r.first, &r.last, &r.resumes, &r.resumedBy,
		&r.failure, &r.usage, &r.models, &r.request, &r.created, &r.ended, &r.owner,
	}
}

// run converts a row that has a run.
func (r *runRow) run(key session.Key) (*session.Run, error) {
	run := &session.Run{
		ID: *r.id, Key: key, Number: *r.number, Status: session.Status(*r.status), Stop: session.Stop(*r.stop),
		Epoch: *r.epoch, Attempt: *r.attempt, First: *r.first, Last: *r.last, Resumes: *r.resumes, ResumedBy: *r.resumedBy,
		Request: r.request, Created: *r.created,
	}
	_, run.Worker, _ = strings.Cut(*r.owner, "\n")
	if r.ended != nil {
		run.Ended = *r.ended
	}
	if r.failure != nil {
		run.Failure = &session.Failure{}
		if err := json.Unmarshal(r.failure, run.Failure); err != nil {
			return nil, fmt.Errorf("reading the failure of the run %s: %w", run.ID, err)
		}
	}
	if r.usage != nil {
		if err := json.Unmarshal(r.usage, &run.Usage); err != nil {
			return nil, fmt.Errorf("reading the usage of the run %s: %w", run.ID, err)
		}
	}
	models, err := sessionrt.DecodeModels(r.models)
	if err != nil {
		return nil, fmt.Errorf("reading the usage of the run %s by model: %w", run.ID, err)
	}
	run.Models = models
	return run, nil
}

// scanRun reads a row of runColumns.
func scanRun(row pgx.Row, key session.Key) (*session.Run, error) {
	var r runRow
	if err := row.Scan(r.targets()...); err != nil {
		return nil, err
	}
	return r.run(key)
}

// scanFound reads a row of sqlRun.
func scanFound(row pgx.Row, key session.Key) (*session.Run, error) {
	var ordinal int64
	var r runRow
	err := row.Scan(append([]any{&ordinal}, r.targets()...)...)
	switch {
	case none(err):
		return nil, session.ErrNotFound
	case err != nil:
		return nil, fmt.Errorf("reading a run: %w", err)
	case r.number == nil:
		return nil, session.ErrRunNotFound
	}
	return r.run(key)
}

// wellFormed replaces an id that cannot be stored by one that is never found.
func wellFormed(id string) string {
	if !utf8.ValidString(id) || strings.Contains(id, "\x00") {
		return ""
	}
	return id
}

// Run implements session.Runs.
func (s *backend) Run(ctx context.Context, key session.Key, id string) (run *session.Run, err error) {
	digest := key.Digest()
	err = s.read(ctx, "reading a run", func(ctx context.Context, conn *pgxpool.Conn) (err error) {
		run, err = scanFound(conn.QueryRow(ctx, sqlRun, digest[:], wellFormed(id)), key)
		return err
	})
	return run, err
}

// StopRun implements session.Runs. It is idempotent, so it may be repeated.
func (s *backend) StopRun(ctx context.Context, key session.Key, id string, how session.Stop) (run *session.Run, err error) {
	digest := key.Digest()
	delivers := false
	err = s.write(ctx, "stopping a run", func(ctx context.Context, conn *pgxpool.Conn, _ bool) (err error) {
		b := &pgx.Batch{}
		b.Queue(sqlLockRow, digest[:])
		b.Queue(sqlStop, digest[:], wellFormed(id), string(how))
		b.Queue(sqlRun, digest[:], wellFormed(id))
		results := conn.SendBatch(ctx, b)
		defer func() { _ = results.Close() }()
		for range 2 {
			added, err := results.Exec()
			if err != nil {
				return err
			}
			delivers = added.Insert() && added.RowsAffected() > 0
		}
		if run, err = scanFound(results.QueryRow(), key); err != nil {
			return err
		}
		return results.Close()
	})
	if err != nil {
		return nil, err
	}
	s.changed(key)
	s.notifyAdded(delivers)
	return run, nil
}

// ListRuns implements session.Runs.
func (s *backend) ListRuns(ctx context.Context, key session.Key, page session.Page) ([]*session.Run, string, error) {
	below, err := page.Below()
	if err != nil {
		return nil, "", err
	}
	digest := key.Digest()
	var runs []*session.Run
	err = s.read(ctx, "listing runs", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, sqlRuns, digest[:], below, page.Limit())
		if err != nil {
			return err
		}
		defer rows.Close()
		runs = []*session.Run{}
		there := false
		for rows.Next() {
			there = true
			var ordinal int64
			var r runRow
			if err := rows.Scan(append([]any{&ordinal}, r.targets()...)...); err != nil {
				return fmt.Errorf("reading a run: %w", err)
			}
			if r.number == nil {
				continue
			}
			run, err := r.run(key)
			if err != nil {
				return err
			}
			runs = append(runs, run)
		}
		if err := rows.Err(); err != nil {
			return err
		}
		if !there {
			return session.ErrNotFound
		}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	runs, next := session.Cut(&page, runs, func(r *session.Run) int64 { return r.Number })
	return runs, next, nil
}

// RecentRuns implements session.Runs.
func (s *backend) RecentRuns(ctx context.Context, app, user string, sessions, each int) ([]*session.Run, error) {
	owner := session.Key{App: app, User: user}.OwnerDigest()
	var runs []*session.Run
	err := s.read(ctx, "listing recent runs", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, sqlRecent, owner[:], max(sessions, 0), max(each, 1))
		if err != nil {
			return err
		}
		runs, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*session.Run, error) {
			key := session.Key{App: app, User: user}
			var r runRow
			if err := row.Scan(append([]any{&key.ID}, r.targets()...)...); err != nil {
				return nil, fmt.Errorf("reading a run: %w", err)
			}
			return r.run(key)
		})
		return err
	})
	return runs, err
}
