package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/session"
)

const (
	// The session is locked, so that one that is being deleted leaves none behind.
	// $1 digests, $2 runs, $3 attempts, $4 documents.
	sqlPutRecordings = `WITH l AS (
			SELECT l.* FROM unnest($1::bytea[], $2::text[], $3::integer[], $4::bytea[]) AS l (digest, run, attempt, json)),
		s AS (
			SELECT s.ordinal, s.digest FROM parley_sessions s WHERE s.digest IN (SELECT digest FROM l) ORDER BY s.ordinal FOR KEY SHARE)
		INSERT INTO parley_recordings (session, run, attempt, created, json)
		SELECT s.ordinal, l.run, l.attempt, clock_timestamp(), l.json FROM l JOIN s USING (digest)
		ON CONFLICT (session, run, attempt) DO UPDATE SET created = excluded.created, json = excluded.json`

	sqlRecordings = `SELECT r.attempt, r.created, r.json FROM parley_recordings r
		JOIN parley_sessions s ON s.ordinal = r.session WHERE s.digest = $1 AND r.run = $2::text ORDER BY r.attempt`

	// $1 age, $2 limit.
	sqlSweepRecordings = `DELETE FROM parley_recordings WHERE ctid = ANY (ARRAY(
		SELECT ctid FROM parley_recordings WHERE created < now() - $1::bigint * interval '1 microsecond'
		ORDER BY created LIMIT $2::bigint FOR UPDATE SKIP LOCKED))`

	// sweepRecordings is how many recordings are deleted at once.
	sweepRecordings = 100
)

var _ session.Recordings = (*backend)(nil)

// PutRecordings implements session.Recordings.
func (s *backend) PutRecordings(ctx context.Context, list []*session.Recording) error {
	type name struct {
		key     session.Key
		run     string
		attempt int
	}
	last := map[name]*session.Recording{} // a statement cannot store one row twice
	for _, r := range list {
		last[name{r.Key, r.Run, r.Attempt}] = r
	}
	var digests, docs [][]byte
	var runs []string
	var attempts []int32
	for _, r := range last {
		d := r.Key.Digest()
		digests, docs = append(digests, d[:]), append(docs, r.JSON)
		runs, attempts = append(runs, wellFormed(r.Run)), append(attempts, int32(r.Attempt))
	}
	return s.deliver(ctx, "storing recordings", sqlPutRecordings, digests, runs, attempts, docs)
}

// Recordings implements session.Recordings.
func (s *backend) Recordings(ctx context.Context, key session.Key, run string) (list []*session.Recording, err error) {
	digest := key.Digest()
	err = s.read(ctx, "reading recordings", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, sqlRecordings, digest[:], wellFormed(run))
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*session.Recording, error) {
			r := &session.Recording{Key: key, Run: run}
			return r, row.Scan(&r.Attempt, &r.Created, &r.JSON)
		})
		return err
	})
	return list, err
}

// SweepRecordings implements session.Recordings.
func (s *backend) SweepRecordings(ctx context.Context, age time.Duration) (done bool, err error) {
	err = s.write(ctx, "deleting old recordings", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		tag, err := conn.Exec(ctx, sqlSweepRecordings, micros(age), int64(sweepRecordings))
		done = tag.RowsAffected() < sweepRecordings
		return err
	})
	return done, err
}
