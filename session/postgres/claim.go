package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/session"
)

const (
	// expired is whether the lease of a run r is over. The other limit is
	// session.MaxLease.
	expired = `r.lease <= clock_timestamp() OR r.lease > clock_timestamp() + interval '2 hours'`

	// The running run if its lease has expired (or if it is our own claim whose
	// response was lost), otherwise the first queued one. It is the second
	// statement of its transaction: the session is locked, so it sees the latest
	// data. $1 digest, $2 owner, $3 lease, $4 nonce, $5 again, $6 mark of the
	// attempt.
	sqlClaim = `WITH c AS (
			SELECT r.session, r.number, r.id, r.status, r.owner FROM parley_runs r JOIN parley_sessions s ON s.ordinal = r.session
			WHERE s.digest = $1 AND r.status IN ('queued', 'running')
				AND NOT EXISTS (SELECT FROM parley_tries WHERE nonce = $6::bigint)
				AND CASE WHEN s.busy THEN r.number = s.run AND (` + expired + ` OR $5::boolean AND r.nonce = $4::bigint) ELSE true END
			ORDER BY r.number LIMIT 1 FOR UPDATE OF r),
		s AS (
			UPDATE parley_sessions s SET epoch = nextval('parley_epochs'), run = c.number, busy = true,
				queued = s.queued - CASE WHEN c.status = 'queued' THEN 1 ELSE 0 END
			FROM c WHERE s.ordinal = c.session
			RETURNING s.ordinal, s.run, s.epoch, s.subscriptions),
		told AS (` + putDeliveries + ` SELECT unnest(s.subscriptions), c.id, 'running', clock_timestamp(), clock_timestamp()
			FROM c, s WHERE c.status = 'queued' RETURNING number),
		d AS (
			INSERT INTO parley_deaths (session, run, owner)
			SELECT c.session, c.number, c.owner FROM c, s WHERE c.status = 'running' AND c.owner NOT IN ('', $2::text)
			ON CONFLICT DO NOTHING RETURNING owner)
		UPDATE parley_runs r SET status = 'running', owner = $2::text, epoch = s.epoch, nonce = $4::bigint,
			lease = clock_timestamp() + $3::bigint * interval '1 microsecond',
			attempt = r.attempt + CASE WHEN r.nonce = $4::bigint THEN 0 ELSE 1 END
		FROM s WHERE r.session = s.ordinal AND r.number = s.run
		RETURNING EXISTS (SELECT FROM told), (SELECT count(*) FROM parley_deaths x WHERE x.session = r.session AND x.run = r.number) + (SELECT count(*) FROM d), ` + runColumns

	sqlJournal = `SELECT j.name, j.value FROM parley_journal j JOIN parley_sessions s ON s.ordinal = j.session AND s.run = j.run
		WHERE s.digest = $1 AND j.value IS NOT NULL`

	sqlIdle = `SELECT s.app, s.usr, s.id FROM parley_runs r JOIN parley_sessions s ON s.ordinal = r.session
		WHERE r.status IN ('queued', 'running')
			AND CASE WHEN s.busy THEN r.number = s.run AND (` + expired + `) ELSE r.status = 'queued' END
		GROUP BY s.ordinal ORDER BY min(r.number) LIMIT $1::bigint`

	// The condition matches the index of open runs.
	sqlCountQueued = `SELECT count(*) FROM parley_runs WHERE status IN ('queued', 'running') AND status = 'queued'`

	sqlHandOver = `WITH s AS (
			UPDATE parley_sessions SET epoch = 0 WHERE digest = $1 AND epoch = $2::bigint RETURNING ordinal, run)
		UPDATE parley_runs r SET lease = '-infinity', owner = '' FROM s WHERE r.session = s.ordinal AND r.number = s.run`

	// Runs are locked in an order that other statements have, too.
	sqlRenew = `WITH l AS (
			SELECT session, number FROM parley_runs WHERE status = 'running' AND owner = $1::text
			ORDER BY session, number FOR UPDATE),
		r AS (
			UPDATE parley_runs r SET lease = clock_timestamp() + $2::bigint * interval '1 microsecond'
			FROM l WHERE r.session = l.session AND r.number = l.number AND r.status = 'running' AND r.owner = $1::text
			RETURNING r.session, r.id, r.epoch, r.stop),
		d AS (DELETE FROM parley_deaths WHERE owner = $1::text)
		SELECT s.app, s.usr, s.id, r.id, r.epoch, r.stop FROM r JOIN parley_sessions s ON s.ordinal = r.session`

	sqlEnd = endRun + `
		SELECT seq - $2::bigint, queued > 0, EXISTS (SELECT FROM told) FROM s`

	// $24 to $26 are the ids, statuses and resumed_by of Settled.
	sqlEndSettling = endRun + `,
		settled AS (
			UPDATE parley_runs r SET status = u.status, resumed_by = u.resumed_by
			FROM s, unnest($24::text[], $25::text[], $26::text[]) AS u (id, status, resumed_by)
			WHERE r.session = s.ordinal AND r.number <> s.run AND r.id = u.id AND (r.status = 'waiting' OR r.resumed_by <> ''))
		SELECT seq - $2::bigint, queued > 0, EXISTS (SELECT FROM told) FROM s`

	endRun = `WITH s AS (
			UPDATE parley_sessions s SET` + setLog + `, epoch = 0, busy = false, released = s.epoch
			WHERE s.digest = $1 AND s.epoch = $11::bigint
			RETURNING s.ordinal, s.seq, s.run, s.queued, s.app, s.usr, s.subscriptions),
		` + putEvents + `, ` + putState + `, ` + putUsage + `,
		run AS (
			UPDATE parley_runs r SET status = $12::text, failure = $13::bytea, usage = $14::bytea, models = $22::text::jsonb, resumes = $15::text,
				first = CASE WHEN r.first = 0 AND $2::bigint > 0 THEN s.seq - $2::bigint + 1 ELSE r.first END,
				last = s.seq, ended = clock_timestamp(), owner = '', request = NULL
			FROM s WHERE r.session = s.ordinal AND r.number = s.run
			RETURNING r.id),
		told AS (` + putTraced + ` SELECT t.*, run.id, $12::text, clock_timestamp(), clock_timestamp(), $23::text FROM run, s CROSS JOIN LATERAL ` + receivers + ` RETURNING number),
		journal AS (DELETE FROM parley_journal j USING s WHERE j.session = s.ordinal AND j.run = s.run),
		deaths AS (DELETE FROM parley_deaths d USING s WHERE d.session = s.ordinal AND d.run = s.run)`

	sqlDiscard = `WITH s AS (
			UPDATE parley_sessions s SET epoch = 0, busy = false, released = s.epoch
			WHERE s.digest = $1 AND s.epoch = $2::bigint
			RETURNING s.ordinal, s.seq, s.run, s.queued),
		run AS (DELETE FROM parley_runs r USING s WHERE r.session = s.ordinal AND r.number = s.run),
		journal AS (DELETE FROM parley_journal j USING s WHERE j.session = s.ordinal AND j.run = s.run),
		deaths AS (DELETE FROM parley_deaths d USING s WHERE d.session = s.ordinal AND d.run = s.run)
		SELECT seq, queued > 0, false FROM s`

	// Whether a run has ended under an epoch, and the end of the log at that time.
	sqlEnded = `SELECT coalesce(r.last, 0), s.queued > 0, true FROM parley_sessions s
		LEFT JOIN LATERAL (
			SELECT last FROM parley_runs r
			WHERE r.session = s.ordinal AND r.epoch = $2::bigint AND r.status NOT IN ('queued', 'running')
			ORDER BY r.number DESC LIMIT 1) AS r ON true
		WHERE s.digest = $1 AND (s.released = $2::bigint OR r.last IS NOT NULL)`
)

// Claim implements session.Leases. It takes one round trip to the database.
func (s *backend) Claim(ctx context.Context, key session.Key, read session.Read) (*session.Begun, error) {
	digest, mark := key.Digest(), nonceOf(ctx)
	var begun *session.Begun
	var tries tries
	var delivers bool
	since := s.Timeline()
	err := s.write(ctx, "claiming a run", func(ctx context.Context, conn *pgxpool.Conn, again bool) error {
		b := &pgx.Batch{}
		try := tries.next(b)
		b.Queue(sqlLockRow, digest[:])
		b.Queue(sqlClaim, digest[:], s.owner, s.lease, mark, again, try)
		b.Queue(sqlJournal, digest[:])
		queueRead(b, key, read)
		results := conn.SendBatch(ctx, b)
		defer func() { _ = results.Close() }()
		if err := tries.decode(results); err != nil {
			return err
		}
		var ordinal, seq int64
		if err := results.QueryRow().Scan(&ordinal, &seq); none(err) {
			return session.ErrNotFound
		} else if err != nil {
			return err
		}
		var r runRow
		var deaths int
		err := results.QueryRow().Scan(append([]any{&delivers, &deaths}, r.targets()...)...)
		if none(err) {
			return session.ErrIdle
		} else if err != nil {
			return err
		}
		run, err := r.run(key)
		if err != nil {
			return err
		}
		begun = &session.Begun{Run: run, Deaths: deaths}
		if begun.Journal, err = takeJournal(results); err != nil {
			return err
		}
		if begun.Session, err = s.takeRead(results, key, read); err != nil {
			return err
		}
		return results.Close()
	})
	if err != nil {
		return nil, err
	}
	if begun.Run.First > 0 {
		s.confirmed(begun.Run.Epoch, since, begun.Session.Ordinal, begun.Session.Entries...)
	}
	s.changed(key)
	s.notifyAdded(delivers)
	return begun, nil
}

func takeJournal(results pgx.BatchResults) (session.Journal, error) {
	rows, err := results.Query()
	if err != nil {
		return nil, fmt.Errorf("reading a journal: %w", err)
	}
	defer rows.Close()
	journal := session.Journal{}
	for rows.Next() {
		var name, value []byte
		if err := rows.Scan(&name, &value); err != nil {
			return nil, fmt.Errorf("reading a journal: %w", err)
		}
		journal[string(name)] = value
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("reading a journal: %w", err)
	}
	return journal, nil
}

// Idle implements session.Leases. The sessions that have waited longest come first.
func (s *backend) Idle(ctx context.Context, limit int) (keys []session.Key, err error) {
	err = s.read(ctx, "looking for runs without an owner", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, sqlIdle, int64(max(limit, 0)))
		if err != nil {
			return err
		}
		keys, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (key session.Key, err error) {
			return key, row.Scan(&key.App, &key.User, &key.ID)
		})
		return err
	})
	return keys, err
}

// CountQueued implements session.Runs.
func (s *backend) CountQueued(ctx context.Context) (count int64, err error) {
	err = s.read(ctx, "counting the queued runs", func(ctx context.Context, conn *pgxpool.Conn) error {
		return conn.QueryRow(ctx, sqlCountQueued).Scan(&count)
	})
	return count, err
}

// HandOver implements session.Leases.
func (s *backend) HandOver(ctx context.Context, key session.Key, epoch int64) error {
	if epoch <= 0 {
		return nil
	}
	digest := key.Digest()
	err := s.write(ctx, "handing a run over", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		_, err := conn.Exec(ctx, sqlHandOver, digest[:], epoch)
		return err
	})
	if err == nil {
		s.changed(key)
	}
	return err
}

// Renew implements session.Leases.
func (s *backend) Renew(ctx context.Context) (held []session.Held, err error) {
	err = s.write(ctx, "renewing leases", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		rows, err := conn.Query(ctx, sqlRenew, s.owner, s.lease)
		if err != nil {
			return err
		}
		held, err = pgx.CollectRows(rows, scanHeld)
		return err
	})
	return held, err
}

// scanHeld reads a run that this process holds: its session, its id, its epoch, and whether
// it is asked to stop.
func scanHeld(row pgx.CollectableRow) (h session.Held, err error) {
	var stop string
	err = row.Scan(&h.Key.App, &h.Key.User, &h.Key.ID, &h.Run, &h.Epoch, &stop)
	h.Stop = session.Stop(stop)
	return h, err
}

// End implements session.Leases, with one statement.
func (s *backend) End(ctx context.Context, key session.Key, epoch int64, end session.End) (queued bool, err error) {
	if epoch <= 0 {
		return false, session.ErrFenced
	}
	digest := key.Digest()
	sql, args := sqlDiscard, []any{digest[:], epoch}
	c := changesOf(key, nil, end.Entries, false)
	var shared *change
	if !end.Discard {
		what, err := endedBy(&end)
		if err != nil {
			return false, err
		}
		log := c.args()
		sql, args = sqlEnd, append(slices.Clip(log), epoch, what.status, what.failure, what.usage, what.resumes)
		for _, n := range what.tokens {
			args = append(args, n)
		}
		args = append(args, what.models, what.trace)
		if n := len(end.Settled); n > 0 {
			ids, statuses, by := make([]string, n), make([]string, n), make([]string, n)
			for i, change := range end.Settled {
				ids[i], statuses[i], by[i] = wellFormed(change.Run), string(change.Status), wellFormed(change.By)
			}
			sql, args = sqlEndSettling, append(args, ids, statuses, by)
		} else if c.together() {
			shared = &change{kind: ending, key: c.digest(), size: c.size(), log: log, epoch: epoch, end: *what}
		}
	}
	var base int64
	var delivers bool
	since := s.Timeline()
	err = s.writeTogether(ctx, "ending a run", shared, func(ctx context.Context, conn *pgxpool.Conn, again bool) error {
		if err := s.check(ctx, conn, key, epoch); err != nil {
			return err
		}
		err := conn.QueryRow(ctx, sql, args...).Scan(&base, &queued, &delivers)
		if again && none(err) {
			// An earlier attempt has ended it, or another process owns it.
			if err = conn.QueryRow(ctx, sqlEnded, digest[:], epoch).Scan(&base, &queued, &delivers); err == nil {
				base -= int64(len(end.Entries))
			}
		}
		if none(err) {
			return session.ErrFenced
		}
		return err
	})
	if shared.made() {
		base, queued, delivers = shared.base, shared.queued, shared.delivers
	}
	if err != nil {
		return false, err
	}
	if !end.Discard {
		c.number(base)
		s.keep(key, s.ordinalOf(epoch), since, end.Entries...)
	}
	s.started.drop(epoch)
	s.changed(key)
	s.notifyAdded(delivers)
	return queued, nil
}

// endedBy encodes the end of a run.
func endedBy(end *session.End) (what *ended, err error) {
	u := &end.Usage
	what = &ended{
		status: string(end.Status), resumes: end.Resumes, trace: wellFormed(end.Trace),
		tokens: [...]int64{u.Prompt, u.Candidates, u.Total, u.CachedContent, u.Thoughts, u.ToolUsePrompt},
	}
	if end.Failure != nil {
		if what.failure, err = json.Marshal(end.Failure); err != nil {
			return nil, fmt.Errorf("storing the failure of a run: %w", err)
		}
	}
	if what.usage, err = json.Marshal(u); err != nil {
		return nil, fmt.Errorf("storing the usage of a run: %w", err)
	}
	models, err := sessionrt.EncodeModels(end.Models)
	if err != nil {
		return nil, fmt.Errorf("storing the usage of a run by model: %w", err)
	}
	if models != nil {
		text := string(models)
		what.models = &text
	}
	return what, nil
}
