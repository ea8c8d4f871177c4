package postgres

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"

	"github.com/parley-run/parley/session"
)

const (
	// One statement reads the session and its state, so that they are consistent.
	sqlSession = `SELECT ` + sessionColumns + `, state.names, state.vals
		FROM parley_sessions s, LATERAL (
			SELECT array_agg(t.name) AS names, array_agg(t.value) AS vals
			FROM parley_state t WHERE t.owner = ANY (ARRAY[int8send(s.ordinal), $2::bytea, $3::bytea])) AS state
		WHERE s.digest = $1`

	// The log may have grown since; later entries are omitted.
	sqlEntries = `SELECT session, seq, json, sum FROM parley_events
		WHERE session = (SELECT ordinal FROM parley_sessions WHERE digest = $1)
			AND seq > (SELECT CASE WHEN $3::bigint IN (0, ordinal) THEN $2::bigint ELSE 0 END FROM parley_sessions WHERE digest = $1)
		ORDER BY seq`

	// Of several sessions, the first and the last entries.
	sqlEnds = `SELECT e.* FROM unnest($1::bigint[], $2::bigint[]) AS s (ordinal, last), LATERAL (
			SELECT session, seq, json, sum FROM parley_events
				WHERE session = s.ordinal AND seq <= $3::bigint AND octet_length(json) <= $4::bigint
			UNION ALL SELECT session, seq, json, sum FROM parley_events
				WHERE session = s.ordinal AND seq > greatest($3::bigint, s.last - $3::bigint) AND seq <= s.last AND octet_length(json) <= $4::bigint) AS e
		ORDER BY e.session, e.seq`

	sqlInitial = `SELECT i.session, i.names, i.vals FROM parley_initial i JOIN parley_sessions s ON s.ordinal = i.session WHERE s.digest = $1`
)

// queueRead adds the statements that read a session to a batch, and takeRead
// decodes the results.
func queueRead(b *pgx.Batch, key session.Key, read session.Read) {
	digest, user, app := key.Digest(), key.OwnerDigest(), key.AppDigest()
	b.Queue(sqlSession, digest[:], user[:], app[:])
	if !read.NoEvents {
		b.Queue(sqlEntries, digest[:], max(read.After, 0), read.Of)
	}
	if read.Initial {
		b.Queue(sqlInitial, digest[:])
	}
}

// sessionRow is a row of sqlSession.
type sessionRow struct {
	session.Session

	origin        []byte
	names, values [][]byte
}

func (r *sessionRow) targets() []any {
	s := &r.Session
	return []any{&s.Ordinal, &s.App, &s.User, &s.ID, &s.Seq, &s.Rewound, &s.Created, &s.Updated, &r.origin, &r.names, &r.values}
}

// sessionOf converts a row, and clears it for the next one.
func (s *backend) sessionOf(r *sessionRow, key session.Key) (*session.Session, error) {
	got := r.Session
	got.Key, got.State = key, session.State{}
	if err := setOrigin(&got, r.origin); err != nil {
		return nil, fmt.Errorf("reading a session: %w", err)
	}
	if merge(got.State, r.names, r.values) > manyDeleted {
		s.prune(key)
	}
	*r = sessionRow{}
	return &got, nil
}

// takeRead returns the session, or ErrNotFound.
func (s *backend) takeRead(results pgx.BatchResults, key session.Key, read session.Read) (*session.Session, error) {
	var r sessionRow
	if err := results.QueryRow().Scan(r.targets()...); none(err) {
		return nil, session.ErrNotFound
	} else if err != nil {
		return nil, fmt.Errorf("reading a session: %w", err)
	}
	got, err := s.sessionOf(&r, key)
	if err != nil {
		return nil, err
	}
	if !read.NoEvents {
		if err := takeEntries(results, got, read); err != nil {
			return nil, err
		}
	}
	if read.Initial {
		if err := takeInitial(results, got); err != nil {
			return nil, err
		}
	}
	return got, nil
}

// merge adds one state to another, and counts the deleted keys.
func merge(into session.State, names, values [][]byte) (deleted int) {
	for i, name := range names {
		if values[i] == nil {
			deleted++
			continue
		}
		into[string(name)] = values[i]
	}
	return deleted
}

func takeEntries(results pgx.BatchResults, got *session.Session, read session.Read) error {
	rows, err := results.Query()
	if err != nil {
		return fmt.Errorf("reading a log: %w", err)
	}
	defer rows.Close()
	after := min(max(read.After, 0), got.Seq)
	if read.Of != 0 && read.Of != got.Ordinal {
		after = 0
	}
	got.Entries = make([]*session.Entry, 0, got.Seq-after)
	for rows.Next() {
		var ordinal, seq int64
		var text, sum []byte
		if err := rows.Scan(&ordinal, &seq, &text, &sum); err != nil {
			return fmt.Errorf("reading an entry: %w", err)
		}
		if ordinal == got.Ordinal && seq <= got.Seq {
			got.Add(session.Load(seq, text, sum))
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("reading a log: %w", err)
	}
	if int64(len(got.Entries)) != got.Seq-after {
		return errAgain
	}
	return nil
}

func takeInitial(results pgx.BatchResults, got *session.Session) error {
	var ordinal int64
	var names, values [][]byte
	err := results.QueryRow().Scan(&ordinal, &names, &values)
	switch {
	case none(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading the state that a session began with: %w", err)
	case ordinal != got.Ordinal:
		return errAgain
	}
	got.Initial = session.State{}
	merge(got.Initial, names, values)
	return nil
}

func scanListed(row pgx.CollectableRow) (*session.Session, error) {
	s := &session.Session{State: session.State{}}
	var origin []byte
	var names, values [][]byte
	err := row.Scan(&s.Ordinal, &s.App, &s.User, &s.ID, &s.Seq, &s.Rewound, &s.Created, &s.Updated, &origin, &names, &values)
	if err == nil {
		err = setOrigin(s, origin)
	}
	merge(s.State, names, values)
	return s, err
}

func setOrigin(s *session.Session, origin []byte) error {
	if origin == nil {
		return nil
	}
	return json.Unmarshal(origin, &s.Origin)
}

// takeShared adds the shared state to all sessions.
func takeShared(results pgx.BatchResults, sessions []*session.Session) error {
	rows, err := results.Query()
	if err != nil {
		return fmt.Errorf("reading a shared state: %w", err)
	}
	defer rows.Close()
	shared := session.State{}
	for rows.Next() {
		var name, value []byte
		if err := rows.Scan(&name, &value); err != nil {
			return fmt.Errorf("reading a shared state: %w", err)
		}
		if value != nil {
			shared[string(name)] = value
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("reading a shared state: %w", err)
	}
	for _, s := range sessions {
		maps.Copy(s.State, shared)
	}
	return nil
}
