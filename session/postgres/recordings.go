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
	// $1 digests, $2 runs, $3 attempts, $4 documents, $5 the digests of their parts; which
	// session has which part: $6, $7; the parts: $8 digests, $9 documents.
	sqlPutRecordings = `WITH l AS (
			SELECT l.* FROM unnest($1::bytea[], $2::text[], $3::integer[], $4::bytea[], $5::bytea[]) AS l (digest, run, attempt, json, parts)),
		s AS (
			SELECT s.ordinal, s.digest FROM parley_sessions s WHERE s.digest IN (SELECT digest FROM l) ORDER BY s.ordinal FOR KEY SHARE),
		p AS (
			INSERT INTO parley_recording_parts (session, digest, json)
			SELECT s.ordinal, d.digest, d.json FROM unnest($6::bytea[], $7::bytea[]) AS h (session, part)
			JOIN s ON s.digest = h.session JOIN unnest($8::bytea[], $9::bytea[]) AS d (digest, json) ON d.digest = h.part
			ON CONFLICT (session, digest) DO NOTHING)
		INSERT INTO parley_recordings (session, run, attempt, created, json, parts)
		SELECT s.ordinal, l.run, l.attempt, clock_timestamp(), l.json, l.parts FROM l JOIN s USING (digest)
		ON CONFLICT (session, run, attempt) DO UPDATE SET created = excluded.created, json = excluded.json, parts = excluded.parts`

	// One row for each part, and one for a recording without any.
	sqlRecordings = `SELECT r.attempt, r.created, r.json, substr(r.parts, n, 32), p.json FROM parley_recordings r
		JOIN parley_sessions s ON s.ordinal = r.session
		LEFT JOIN generate_series(1, octet_length(r.parts), 32) AS n ON true
		LEFT JOIN parley_recording_parts p ON p.session = r.session AND p.digest = substr(r.parts, n, 32)
		WHERE s.digest = $1 AND r.run = $2::text ORDER BY r.attempt, n`

	oldRecordings = `created < now() - $1::bigint * interval '1 microsecond'`

	// A session is locked, so that none of its parts is used again before it is deleted.
	// $1 age, $2 limit.
	sqlSweptSessions = `SELECT s.ordinal FROM parley_sessions s WHERE s.ordinal IN (
			SELECT session FROM parley_recordings WHERE ` + oldRecordings + ` ORDER BY created LIMIT $2::bigint)
		ORDER BY s.ordinal FOR UPDATE SKIP LOCKED`

	// $3 sessions.
	sqlSweepRecordings = `DELETE FROM parley_recordings WHERE ctid = ANY (ARRAY(
		SELECT ctid FROM parley_recordings WHERE session = ANY ($3::bigint[]) AND ` + oldRecordings + ` ORDER BY created LIMIT $2::bigint))`

	// $1 sessions.
	sqlSweepParts = `DELETE FROM parley_recording_parts p WHERE p.session = ANY ($1::bigint[]) AND NOT EXISTS (
		SELECT FROM parley_recordings r WHERE r.session = p.session AND position(p.digest IN r.parts) > 0)`

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
	var digests, docs, parts [][]byte
	var runs []string
	var attempts []int32
	var with recordingParts
	for _, r := range last {
		d := r.Key.Digest()
		digests, docs, parts = append(digests, d[:]), append(docs, r.JSON), append(parts, with.add(d, r.Parts))
		runs, attempts = append(runs, wellFormed(r.Run)), append(attempts, int32(r.Attempt))
	}
	return s.deliver(ctx, "storing recordings", sqlPutRecordings, digests, runs, attempts, docs, parts, with.sessions, with.of, with.digests, with.docs)
}

// recordingParts are those of several recordings, each once.
type recordingParts struct {
	known         map[[2][32]byte]bool
	sessions, of  [][]byte // which session has which
	digests, docs [][]byte
}

// add adds the parts of a recording, and returns their digests; nil for none.
func (p *recordingParts) add(at [32]byte, list []*session.RecordingPart) (digests []byte) {
	if p.known == nil {
		p.known = map[[2][32]byte]bool{}
	}
	for _, part := range list {
		digest := part.Digest[:]
		if digests = append(digests, digest...); !p.known[[2][32]byte{{}, part.Digest}] {
			p.known[[2][32]byte{{}, part.Digest}] = true
			p.digests, p.docs = append(p.digests, digest), append(p.docs, part.JSON)
		}
		if !p.known[[2][32]byte{at, part.Digest}] {
			p.known[[2][32]byte{at, part.Digest}] = true
			p.sessions, p.of = append(p.sessions, at[:]), append(p.of, digest)
		}
	}
	return digests
}

// Recordings implements session.Recordings.
func (s *backend) Recordings(ctx context.Context, key session.Key, run string) (list []*session.Recording, err error) {
	digest := key.Digest()
	err = s.read(ctx, "reading recordings", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, sqlRecordings, digest[:], wellFormed(run))
		if err != nil {
			return err
		}
		list = []*session.Recording{}
		var r session.Recording
		var digest, part []byte
		_, err = pgx.ForEachRow(rows, []any{&r.Attempt, &r.Created, &r.JSON, &digest, &part}, func() error {
			if n := len(list); n == 0 || list[n-1].Attempt != r.Attempt {
				list = append(list, &session.Recording{Key: key, Run: run, Attempt: r.Attempt, Created: r.Created, JSON: r.JSON})
			}
			if one := list[len(list)-1]; len(digest) == len(session.RecordingPart{}.Digest) {
				one.Parts = append(one.Parts, &session.RecordingPart{Digest: [32]byte(digest), JSON: part})
			}
			return nil
		})
		return err
	})
	return list, err
}

// SweepRecordings implements session.Recordings.
func (s *backend) SweepRecordings(ctx context.Context, age time.Duration) (done bool, err error) {
	err = s.write(ctx, "deleting old recordings", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		return transact(ctx, conn, func(tx pgx.Tx) error {
			rows, err := tx.Query(ctx, sqlSweptSessions, micros(age), int64(sweepRecordings))
			if err != nil {
				return err
			}
			of, err := pgx.CollectRows(rows, pgx.RowTo[int64])
			if err != nil {
				return err
			}
			tag, err := tx.Exec(ctx, sqlSweepRecordings, micros(age), int64(sweepRecordings), of)
			if err != nil {
				return err
			}
			done = tag.RowsAffected() < sweepRecordings
			_, err = tx.Exec(ctx, sqlSweepParts, of)
			return err
		})
	})
	return done, err
}
