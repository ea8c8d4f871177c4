package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/session"
)

const (
	sqlCreate = `WITH s AS (
		INSERT INTO parley_sessions (digest, owner, app, usr, id, hidden, nonce, seq, rewound, title, labels, ttl, created, updated, origin, root)
		SELECT $1::bytea, $11::bytea, $12::text, $13::text, $14::text, $15::boolean, $16::bigint, $2::bigint, $7::bigint,
			CASE WHEN $8::boolean THEN $9::bytea ELSE '' END, CASE WHEN $8::boolean THEN $10::bytea[] ELSE '{}' END, $17::bigint, now, now, $21::bytea, $22::text
		FROM (SELECT clock_timestamp() AS now) AS clock WHERE NOT EXISTS (SELECT FROM parley_tries WHERE nonce = $20::bigint)
			AND NOT EXISTS (SELECT FROM parley_slots WHERE slot = $23::integer AND NOT here)
		ON CONFLICT (digest) DO NOTHING
		RETURNING ordinal, seq),
	` + putEvents + `, ` + putState + `,
	initial AS (
		INSERT INTO parley_initial (session, names, vals)
		SELECT ordinal, $18::bytea[], $19::bytea[] FROM s WHERE cardinality($18::bytea[]) > 0)
	SELECT ordinal FROM s`

	sqlOurs = `SELECT ordinal FROM parley_sessions WHERE digest = $1 AND nonce = $2::bigint`

	sessionColumns = `s.ordinal, s.app, s.usr, s.id, s.seq, s.rewound, s.created, s.updated, s.origin`

	// The list of sessions is read from the index, even by a planner without
	// statistics of the table: hence the pairs, and no redundant conditions, which
	// it would assume to select almost nothing. A page has one more row than
	// requested, which shows whether there is another page.
	sqlList       = listFrom + listTo
	sqlListFilter = listFrom + `
				AND ($4::bytea = '' OR position($4::bytea IN s.title) > 0)
				AND s.labels @> $5::bytea[]
				AND s.updated >= $6::timestamptz AND s.updated < $7::timestamptz
				AND ($8::text = '' OR s.root = $8::text OR s.id = $8::text)` + listTo

	listFrom = `SELECT ` + sessionColumns + `, own.names, own.vals
		FROM (
			SELECT ` + sessionColumns + ` FROM parley_sessions s
			WHERE (s.owner, s.ordinal) < ($1::bytea, $2::bigint) AND s.owner >= $1::bytea AND NOT s.hidden`

	listTo = `
			ORDER BY s.owner DESC, s.ordinal DESC LIMIT $3::bigint) AS s,
		LATERAL (
			SELECT array_agg(t.name) AS names, array_agg(t.value) AS vals
			FROM parley_state t WHERE t.owner = int8send(s.ordinal)) AS own
		ORDER BY s.ordinal DESC`

	sqlShared = `SELECT name, value FROM parley_state WHERE owner IN ($1::bytea, $2::bytea)`

	// A single snapshot for all reads in between.
	sqlMoment = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`

	deleteRest = ` events AS (DELETE FROM parley_events e USING s WHERE e.session = s.ordinal),
		initial AS (DELETE FROM parley_initial i USING s WHERE i.session = s.ordinal),
		state AS (DELETE FROM parley_state t USING s WHERE t.owner = int8send(s.ordinal)),
		journal AS (DELETE FROM parley_journal j USING s WHERE j.session = s.ordinal),
		deaths AS (DELETE FROM parley_deaths d USING s WHERE d.session = s.ordinal),
		secrets AS (DELETE FROM parley_secrets x USING s WHERE x.session = s.ordinal AND x.session <> 0),
		subscriptions AS (DELETE FROM parley_subscriptions b USING s WHERE b.session = s.ordinal),
		deliveries AS (DELETE FROM parley_deliveries d USING s WHERE d.session = s.ordinal),
		recordings AS (DELETE FROM parley_recordings r USING s WHERE r.session = s.ordinal),
		parts AS (DELETE FROM parley_recording_parts p USING s WHERE p.session = s.ordinal),
		runs AS (DELETE FROM parley_runs r USING s WHERE r.session = s.ordinal)
		SELECT ordinal FROM s`

	sqlDelete = `WITH s AS (
		DELETE FROM parley_sessions WHERE digest = $1 AND NOT EXISTS (SELECT FROM parley_tries WHERE nonce = $2::bigint)
		RETURNING ordinal),
		memories AS (DELETE FROM parley_memories m USING s WHERE m.session = s.ordinal),` + deleteRest

	sqlGiveUp = `INSERT INTO parley_tries (nonce, made) SELECT u.nonce, clock_timestamp() FROM unnest($1::bigint[]) AS u (nonce) ON CONFLICT DO NOTHING`
)

// tries are the attempts of one call. A lost response does not show whether the
// request was, or will be, received: when it is sent again, it has the database
// ignore the earlier attempt.
type tries []int64

// next adds these statements to a batch, and returns a mark for the next attempt.
func (t *tries) next(b *pgx.Batch) int64 {
	if len(*t) > 0 {
		b.Queue(sqlGiveUp, []int64(*t))
	}
	*t = append(*t, nonce())
	return (*t)[len(*t)-1]
}

// decode decodes their results.
func (t tries) decode(results pgx.BatchResults) error {
	if len(t) < 2 {
		return nil
	}
	_, err := results.Exec()
	return err
}

// Create implements session.Sessions, with one statement.
func (s *backend) Create(ctx context.Context, n session.NewSession) (*session.Session, error) {
	c := changesOf(n.Key, n.State, n.Log, true)
	initial := session.State(nil).Apply(session.ScopeSession, n.State)
	names, values := [][]byte{}, [][]byte{}
	for _, name := range slices.Sorted(maps.Keys(initial)) {
		names, values = append(names, []byte(name)), append(values, initial[name])
	}
	owner, mark := n.Key.OwnerDigest(), nonceOf(ctx)
	args := append(c.args(), owner[:], n.Key.App, n.Key.User, n.Key.ID, n.Key.Hidden(), mark, micros(n.TTL), names, values)
	var origin []byte
	root := ""
	if n.Origin != nil {
		var err error
		if origin, err = json.Marshal(n.Origin); err != nil {
			return nil, fmt.Errorf("storing the origin of a session: %w", err)
		}
		root = n.Origin.Root
	}
	var made *session.Session
	var tries tries
	err := s.write(ctx, "making a session", func(ctx context.Context, conn *pgxpool.Conn, again bool) error {
		b := &pgx.Batch{}
		b.Queue(sqlShareSlot, slotLock, slotOf(n.Key))
		b.Queue(sqlCreate, append(slices.Clone(args), tries.next(b), origin, root, slotOf(n.Key))...)
		if again {
			b.Queue(sqlOurs, args[0], mark)
		}
		queueRead(b, n.Key, session.Read{NoEvents: true})
		results := conn.SendBatch(ctx, b)
		defer func() { _ = results.Close() }()
		if _, err := results.Exec(); err != nil {
			return err
		}
		if err := tries.decode(results); err != nil {
			return err
		}
		var ordinal int64
		err := results.QueryRow().Scan(&ordinal)
		if again {
			// It may exist because an earlier attempt has created it.
			if ours := results.QueryRow().Scan(&ordinal); none(err) {
				err = ours
			}
		}
		if none(err) {
			_ = results.Close()
			return cmp.Or(elsewhere(ctx, conn, n.Key), session.ErrExists)
		} else if err != nil {
			return err
		}
		if made, err = s.takeRead(results, n.Key, session.Read{NoEvents: true}); err != nil {
			return err
		}
		return results.Close()
	})
	if err != nil {
		return nil, err
	}
	c.number(0)
	made.Entries = slices.Clip(n.Log)
	s.changed(n.Key)
	return made, nil
}

// Get implements session.Sessions.
func (s *backend) Get(ctx context.Context, key session.Key, read session.Read) (*session.Session, error) {
	var got *session.Session
	err := s.read(ctx, "reading a session", func(ctx context.Context, conn *pgxpool.Conn) (err error) {
		b := &pgx.Batch{}
		queueRead(b, key, read)
		results := conn.SendBatch(ctx, b)
		defer func() { _ = results.Close() }()
		if got, err = s.takeRead(results, key, read); err != nil {
			return err
		}
		return results.Close()
	})
	if err != nil {
		return nil, err
	}
	if err := got.Damage(); err != nil && !read.Damaged {
		return nil, err
	}
	return got, nil
}

// Delete implements session.Sessions.
func (s *backend) Delete(ctx context.Context, key session.Key) error {
	digest := key.Digest()
	var tries tries
	err := s.write(ctx, "deleting a session", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		// The second statement begins when there are no more writers, and so sees
		// everything to be deleted.
		b := &pgx.Batch{}
		try := tries.next(b)
		b.Queue(sqlLock, digest[:])
		b.Queue(sqlDelete, digest[:], try)
		return conn.SendBatch(ctx, b).Close()
	})
	if err == nil {
		s.changed(key)
	}
	return err
}

// List implements session.Sessions.
func (s *backend) List(ctx context.Context, app, user string, page session.Page) ([]*session.Session, string, error) {
	below, err := page.Below()
	if err != nil {
		return nil, "", err
	}
	key := session.Key{App: app, User: user}
	ownerDigest, appDigest := key.OwnerDigest(), key.AppDigest()
	labels := [][]byte{}
	for name, value := range page.Labels {
		labels = append(labels, label(name, value))
	}
	since, until := bounds(page.Filter)
	var sessions []*session.Session
	err = s.read(ctx, "listing sessions", func(ctx context.Context, conn *pgxpool.Conn) error {
		b := &pgx.Batch{}
		b.Queue(sqlMoment)
		if page.Empty() {
			b.Queue(sqlList, ownerDigest[:], below, page.Limit())
		} else {
			b.Queue(sqlListFilter, ownerDigest[:], below, page.Limit(), []byte(strings.ToLower(page.Title)), labels, since, until, wellFormed(page.Root))
		}
		b.Queue(sqlShared, ownerDigest[:], appDigest[:])
		b.Queue(`COMMIT`)
		results := conn.SendBatch(ctx, b)
		defer func() { _ = results.Close() }()
		if _, err := results.Exec(); err != nil {
			return err
		}
		rows, err := results.Query()
		if err != nil {
			return err
		}
		if sessions, err = pgx.CollectRows(rows, scanListed); err != nil {
			return fmt.Errorf("reading a list: %w", err)
		}
		if err := takeShared(results, sessions); err != nil {
			return err
		}
		if err := results.Close(); err != nil || page.Ends <= 0 {
			return err
		}
		return takeEnds(ctx, conn, sessions, page.Ends)
	})
	if err != nil {
		return nil, "", err
	}
	sessions, next := session.Cut(&page, sessions, func(s *session.Session) int64 { return s.Ordinal })
	return sessions, next, nil
}

// takeEnds adds their first and last entries to sessions.
func takeEnds(ctx context.Context, conn *pgxpool.Conn, sessions []*session.Session, n int) error {
	byOrdinal := make(map[int64]*session.Session, len(sessions))
	ordinals, lasts := make([]int64, len(sessions)), make([]int64, len(sessions))
	for i, s := range sessions {
		ordinals[i], lasts[i], byOrdinal[s.Ordinal] = s.Ordinal, s.Seq, s
	}
	rows, err := conn.Query(ctx, sqlEnds, ordinals, lasts, n, session.MaxEnd)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var ordinal, seq int64
		var text, sum []byte
		if err := rows.Scan(&ordinal, &seq, &text, &sum); err != nil {
			return fmt.Errorf("reading an entry: %w", err)
		}
		byOrdinal[ordinal].Add(session.Load(seq, text, sum))
	}
	return rows.Err()
}

// bounds returns the bounds of the last change in the unit of the database: a time
// before t is before the next microsecond.
func bounds(f session.Filter) (since, until time.Time) {
	oldest, newest := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	bound := func(t, otherwise time.Time) time.Time {
		switch {
		case t.IsZero():
			return otherwise
		case t.Before(oldest):
			return oldest
		case t.After(newest):
			return newest
		}
		return t.Add(time.Microsecond - 1).Truncate(time.Microsecond)
	}
	return bound(f.Since, oldest), bound(f.Before, newest)
}
