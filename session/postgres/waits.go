package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/session"
)

const (
	// $1 age, $2 and $3 the end and the number of the last run found, $4 limit.
	sqlWaits = `SELECT s.app, s.usr, s.id, ` + runColumns + ` FROM parley_runs r JOIN parley_sessions s ON s.ordinal = r.session
		WHERE r.status = 'waiting' AND r.ended < clock_timestamp() - $1::bigint * interval '1 microsecond'
			AND (r.ended, r.number) > (coalesce($2::timestamptz, '-infinity'), $3::bigint)
			AND NOT EXISTS (SELECT FROM parley_runs later
				WHERE later.session = r.session AND later.resumes = r.id AND later.status IN ('completed', 'waiting'))
		ORDER BY r.ended, r.number LIMIT $4::bigint`

	// $1 application or empty, $2 digest of the owner or null, $3 and $4 the end and the
	// number of the last run found, $5 age, $6 limit.
	sqlListWaiting = `SELECT s.app, s.usr, s.id, ` + runColumns + ` FROM parley_runs r JOIN parley_sessions s ON s.ordinal = r.session
		WHERE r.status = 'waiting' AND NOT s.hidden AND ($1::text = '' OR s.app = $1) AND ($2::bytea IS NULL OR s.owner = $2)
			AND (r.ended, r.number) > (coalesce($3::timestamptz, '-infinity'), $4::bigint)
			AND r.ended <= clock_timestamp() - $5::bigint * interval '1 microsecond'
		ORDER BY r.ended, r.number LIMIT $6::bigint`

	// $1 to $3 as in putEvents, $4 sequence, $5 ids of runs, $6 failure, $7 status.
	sqlExpire = `WITH s AS (
			UPDATE parley_sessions s SET` + setSeq + `
			WHERE s.digest = $1 AND s.seq = $4::bigint AND NOT s.busy AND s.queued = 0
			RETURNING s.ordinal, s.seq, s.app, s.subscriptions),
		` + putEvents + `,
		run AS (
			UPDATE parley_runs r SET status = $7, failure = $6::bytea, last = s.seq, ended = clock_timestamp()
			FROM s WHERE r.session = s.ordinal AND r.id = ANY ($5::text[]) AND r.status = 'waiting'
			RETURNING r.id, r.status),
		told AS (` + putEnds + ` SELECT t.*, run.id, run.status, clock_timestamp(), clock_timestamp()
			FROM run, s CROSS JOIN LATERAL ` + receivers + ` RETURNING number)
		SELECT (SELECT seq FROM s), EXISTS (SELECT FROM told) FROM parley_sessions WHERE digest = $1`
)

// Waits implements session.Upkeep.
func (s *backend) Waits(ctx context.Context, age time.Duration, after *session.Run, limit int) (runs []*session.Run, err error) {
	var ended *time.Time
	var number int64
	if after != nil {
		ended, number = &after.Ended, after.Number
	}
	err = s.read(ctx, "looking for waits that are over", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, sqlWaits, micros(age), ended, number, int64(limit))
		if err != nil {
			return err
		}
		runs, err = collectRuns(rows)
		return err
	})
	return runs, err
}

// ListWaiting implements session.Inbox.
func (s *backend) ListWaiting(ctx context.Context, q session.WaitQuery, page session.Page) ([]*session.Run, string, error) {
	after, number, err := page.AfterWait()
	if err != nil {
		return nil, "", err
	}
	runs, err := s.listWaiting(ctx, q, after, number, page.Limit())
	if err != nil {
		return nil, "", err
	}
	runs, next := session.CutWaiting(&page, runs)
	return runs, next, nil
}

func (s *backend) listWaiting(ctx context.Context, q session.WaitQuery, after time.Time, number, limit int64) (runs []*session.Run, err error) {
	var ended *time.Time
	if !after.IsZero() {
		ended = &after
	}
	var owner []byte
	if q.User != "" {
		digest := session.Key{App: q.App, User: q.User}.OwnerDigest()
		owner = digest[:]
	}
	err = s.read(ctx, "listing waits", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, sqlListWaiting, wellFormed(q.App), owner, ended, number, micros(q.Age), limit)
		if err != nil {
			return err
		}
		runs, err = collectRuns(rows)
		return err
	})
	return runs, err
}

func collectRuns(rows pgx.Rows) ([]*session.Run, error) {
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*session.Run, error) {
		var key session.Key
		var r runRow
		if err := row.Scan(append([]any{&key.App, &key.User, &key.ID}, r.targets()...)...); err != nil {
			return nil, err
		}
		return r.run(key)
	})
}

// Expire implements session.Upkeep, with one statement. A repeated attempt after a
// lost response finds a longer log, and is refused.
func (s *backend) Expire(ctx context.Context, key session.Key, seq int64, runs []string, failure *session.Failure, entries ...*session.Entry) error {
	text, err := json.Marshal(failure)
	if err != nil {
		return fmt.Errorf("storing the failure of a run: %w", err)
	}
	c := changesOf(key, nil, entries, false)
	ids := make([]string, len(runs))
	for i, id := range runs {
		ids[i] = wellFormed(id)
	}
	args := append(c.args()[:3], seq, ids, text, string(failure.Status()))
	var delivers bool
	err = s.write(ctx, "ending waits", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		var last *int64
		err := conn.QueryRow(ctx, sqlExpire, args...).Scan(&last, &delivers)
		switch {
		case none(err):
			return session.ErrNotFound
		case err == nil && last == nil:
			return session.ErrFenced
		}
		return err
	})
	if err != nil {
		return err
	}
	c.number(seq)
	s.changed(key)
	s.notifyAdded(delivers)
	return nil
}
