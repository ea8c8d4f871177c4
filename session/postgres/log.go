package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/session"
)

// The parts that all statements share that append to a log. Their parameters $1 to
// $10 are those of changes.args. A statement that uses them has a row s of the
// session, after the update.
const (
	setSeq = ` seq = s.seq + $2::bigint,
		updated = CASE WHEN $2::bigint > 0 THEN greatest(s.updated, clock_timestamp()) ELSE s.updated END`

	setLog = setSeq + `,
		rewound = CASE WHEN $7::bigint > 0 THEN s.seq + $7::bigint ELSE s.rewound END,
		title = CASE WHEN $8::boolean THEN $9::bytea ELSE s.title END,
		labels = CASE WHEN $8::boolean THEN $10::bytea[] ELSE s.labels END`

	// The four bytes of the checksum precede an entry.
	putEvents = `events AS (
		INSERT INTO parley_events (session, seq, json, sum)
		SELECT s.ordinal, s.seq - $2::bigint + u.place, substr(u.entry, 5), substr(u.entry, 1, 4)
		FROM s, unnest($3::bytea[]) WITH ORDINALITY AS u (entry, place))`

	// The order of the rows is that of the parameters, which is the same for all
	// processes: two statements cannot deadlock. An app: key is stamped if other
	// databases have it, too; its stamp only grows.
	putState = `state AS (
		INSERT INTO parley_state AS t (owner, name, value, stamp)
		SELECT coalesce(u.owner, int8send(s.ordinal)), u.name, u.value,
			CASE WHEN substr(u.name, 1, 4) = 'app:' AND EXISTS (SELECT FROM parley_place) THEN clock_timestamp() END
		FROM s, unnest($4::bytea[], $5::bytea[], $6::bytea[]) AS u (owner, name, value)
		ON CONFLICT (owner, digest) DO UPDATE SET value = excluded.value, origin = NULL,
			stamp = CASE WHEN excluded.stamp IS NOT NULL THEN greatest(excluded.stamp, t.stamp + interval '1 microsecond') ELSE t.stamp END)`

	putFirst = `first AS (
		UPDATE parley_runs r SET first = s.seq - $2::bigint + 1 FROM s
		WHERE r.session = s.ordinal AND r.number = s.run AND r.first = 0 AND $2::bigint > 0)`

	// setRetried records a repeated call ($11), if it is one ($12).
	setRetried = ` retried = CASE WHEN $12::boolean THEN (array_prepend($11::bigint, s.retried))[1:16] ELSE s.retried END`

	// notRetried keeps a delayed first attempt from taking effect.
	notRetried = ` NOT ($11::bigint = ANY (s.retried))`

	sqlAppend = `WITH s AS (
		UPDATE parley_sessions s SET` + setLog + `,` + setRetried + `
		WHERE s.digest = $1 AND s.epoch = $13::bigint AND` + notRetried + `
		RETURNING s.ordinal, s.seq, s.run),
	` + putEvents + `, ` + putState + `, ` + putFirst + `,
	journal AS (
		INSERT INTO parley_journal (session, run, name, value)
		SELECT s.ordinal, s.run, u.name, u.value FROM s, unnest($14::bytea[], $15::bytea[]) AS u (name, value)
		ON CONFLICT (session, run, digest) DO UPDATE SET value = excluded.value)
	SELECT seq - $2::bigint FROM s`

	// Most appends need less. The unused parts of a statement cost time, too (BenchmarkAppend).
	sqlAppendEvents = `WITH s AS (
		UPDATE parley_sessions s SET` + setSeq + `
		WHERE s.digest = $1 AND s.epoch = $4::bigint AND NOT ($5::bigint = ANY (s.retried))
		RETURNING s.ordinal, s.seq),
	` + putEvents + `
	SELECT seq - $2::bigint FROM s`

	sqlAppendState = `WITH s AS (
		UPDATE parley_sessions s SET` + setSeq + `
		WHERE s.digest = $1 AND s.epoch = $7::bigint AND NOT ($8::bigint = ANY (s.retried))
		RETURNING s.ordinal, s.seq),
	` + putEvents + `, ` + putState + `
	SELECT seq - $2::bigint FROM s`

	sqlPatch = `WITH s AS (
		UPDATE parley_sessions s SET` + setLog + `,` + setRetried + `
		WHERE s.digest = $1 AND` + notRetried + `
		RETURNING s.ordinal, s.seq),
	` + putEvents + `, ` + putState + `
	SELECT seq - $2::bigint FROM s`

	// sqlLockRow does not wait for transactions that only keep the session from being
	// deleted, as those that index texts do: their process may be stopped.
	sqlLockRow = `SELECT ordinal, seq FROM parley_sessions WHERE digest = $1 FOR NO KEY UPDATE`

	sqlLock = `SELECT ordinal, seq FROM parley_sessions WHERE digest = $1 FOR UPDATE`

	sqlFindEntry = `SELECT seq FROM parley_events
		WHERE session = $1 AND seq > $2::bigint AND octet_length(json) = length($3::bytea) AND json = $3::bytea
		ORDER BY seq DESC LIMIT 1`
)

// searched is how far back an entry is searched for whose response was lost.
const searched = 5000

// changes are the effects of entries on a session.
type changes struct {
	key      session.Key
	entries  []*session.Entry
	rewound  int64 // position of the last entry that rewinds the log, from 1
	metadata bool  // whether title and labels change
	title    []byte
	labels   [][]byte
	// The state: a nil owner means the session, a nil value deletes.
	owners, names, values [][]byte
}

// changesOf computes the effects of entries. With own, they do not change shared
// state.
func changesOf(key session.Key, state session.State, entries []*session.Entry, own bool) *changes {
	c := &changes{key: key, entries: entries}
	var shared, mine session.State
	add := func(into session.State, delta session.State, scopes ...session.Scope) session.State {
		for k, v := range delta {
			if slices.Contains(scopes, session.ScopeOf(k)) {
				if into == nil {
					into = session.State{}
				}
				into[k] = v
			}
		}
		return into
	}
	mine = add(mine, state, session.ScopeSession)
	shared = add(shared, state, session.ScopeUser, session.ScopeApp)
	for i, e := range entries {
		ev, err := e.Decode()
		if err != nil {
			continue // it is kept, for readers that can decode it
		}
		mine = add(mine, ev.Actions.StateDelta, session.ScopeSession)
		if !own {
			shared = add(shared, ev.Actions.StateDelta, session.ScopeUser, session.ScopeApp)
		}
		if ev.Actions.RewindBeforeInvocationID != "" {
			c.rewound = int64(i) + 1
		}
	}
	c.put(nil, mine)
	if len(shared) > 0 {
		user, app := key.OwnerDigest(), key.AppDigest()
		c.put(user[:], add(nil, shared, session.ScopeUser))
		c.put(app[:], add(nil, shared, session.ScopeApp))
	}
	if raw, ok := mine[session.MetadataKey]; ok {
		c.metadata = true
		c.title, c.labels = searchable(session.State{session.MetadataKey: raw})
	}
	return c
}

// put adds keys of one owner, in an order that is the same for all processes.
func (c *changes) put(owner []byte, delta session.State) {
	for _, name := range slices.Sorted(maps.Keys(delta)) {
		value := []byte(delta[name])
		if sessionrt.IsNull(value) {
			value = nil
		}
		c.owners, c.names, c.values = append(c.owners, owner), append(c.names, []byte(name)), append(c.values, value)
	}
}

// searchable returns what lists are filtered by.
func searchable(state session.State) (title []byte, labels [][]byte) {
	m := session.MetadataOf(state)
	labels = [][]byte{}
	for name, value := range m.Labels {
		labels = append(labels, label(name, value))
	}
	slices.SortFunc(labels, bytes.Compare)
	return []byte(strings.ToLower(m.Title)), labels
}

func label(name, value string) []byte {
	return append(append(binary.AppendUvarint(nil, uint64(len(name))), name...), value...)
}

// digest returns that of the session.
func (c *changes) digest() string {
	digest := c.key.Digest()
	return string(digest[:])
}

// args returns the first ten parameters of the statements above.
func (c *changes) args() []any {
	digest := c.key.Digest()
	entries := make([][]byte, len(c.entries))
	for i, e := range c.entries {
		entries[i] = slices.Concat(session.Sum(e.JSON), e.JSON)
	}
	title, labels := c.title, c.labels
	if title == nil {
		title = []byte{}
	}
	if labels == nil {
		labels = [][]byte{}
	}
	return []any{digest[:], int64(len(c.entries)), entries, c.owners, c.names, c.values, c.rewound, c.metadata, title, labels}
}

// number assigns sequence numbers to the entries, after base.
func (c *changes) number(base int64) {
	for i, e := range c.entries {
		e.Seq = base + int64(i) + 1
	}
}

// nonce returns a new mark.
func nonce() int64 { return rand.Int64() } //nolint:gosec // no secret

// call is the context key of a call that several databases may have to execute.
type call struct{}

// calling is one such call.
type calling struct {
	nonce int64
	again bool // another database may have executed it
}

// nonceOf returns the mark of a call.
func nonceOf(ctx context.Context) int64 {
	if c, ok := ctx.Value(call{}).(calling); ok {
		return c.nonce
	}
	return nonce()
}

// executed reports whether a call may have taken effect before, in another database.
func executed(ctx context.Context) bool {
	c, _ := ctx.Value(call{}).(calling)
	return c.again
}

// query is a statement with its parameters.
type query struct {
	sql  string
	args []any
}

// Append implements session.Leases, with one statement.
func (s *backend) Append(ctx context.Context, key session.Key, epoch int64, notes session.Journal, entries ...*session.Entry) error {
	if epoch <= 0 {
		return session.ErrFenced
	}
	c := changesOf(key, nil, entries, false)
	var names, values [][]byte
	for _, name := range slices.Sorted(maps.Keys(notes)) {
		names, values = append(names, []byte(name)), append(values, notes[name])
	}
	args, mark := c.args(), nonceOf(ctx)
	full := query{sqlAppend, append(slices.Clip(args), mark, false, epoch, names, values)}
	least := full
	switch {
	case len(notes) > 0 || c.rewound > 0 || c.metadata || s.started.get(epoch) == nil:
	case len(c.names) > 0:
		least = query{sqlAppendState, append(slices.Clip(args[:6]), epoch, mark)}
	default:
		least = query{sqlAppendEvents, append(slices.Clip(args[:3]), epoch, mark)}
	}
	var shared *change
	since := s.Timeline()
	if least.sql != full.sql && c.together() {
		shared = &change{kind: appending, key: c.digest(), size: c.size(), log: args, epoch: epoch, nonce: mark}
	}
	err := s.extend(ctx, "appending to a session", c, epoch, shared, least, full, session.ErrFenced)
	if err == nil && len(entries) > 0 {
		s.confirmed(epoch, since, 0, entries...)
		s.keep(key, s.ordinalOf(epoch), since, entries...)
	}
	if err == nil {
		s.changed(key)
	}
	return err
}

// Patch implements session.Sessions.
func (s *backend) Patch(ctx context.Context, key session.Key, entry *session.Entry) error {
	c := changesOf(key, nil, []*session.Entry{entry}, false)
	q := query{sqlPatch, append(c.args(), nonceOf(ctx), false)}
	err := s.extend(ctx, "changing a session", c, 0, nil, q, q, session.ErrNotFound)
	if err == nil {
		s.changed(key)
	}
	return err
}

// extend runs a statement that appends, and makes sure that it takes effect once.
// full is the statement for repeated attempts. shared, unless nil, is the change for a
// transaction with others. epoch is 0 for a change that needs none. The caller calls changed.
func (s *backend) extend(ctx context.Context, what string, c *changes, epoch int64, shared *change, first, full query, refused error) error {
	alone := func(ctx context.Context, conn *pgxpool.Conn, again bool) error {
		err := s.check(ctx, conn, c.key, epoch)
		if err != nil {
			return err
		}
		var base int64
		if again {
			base, err = c.again(ctx, conn, full.sql, full.args)
		} else {
			err = conn.QueryRow(ctx, first.sql, first.args...).Scan(&base)
		}
		if none(err) {
			return refused
		}
		if err == nil {
			c.number(base)
		}
		return err
	}
	err := s.writeTogether(ctx, what, shared, alone)
	if err != nil {
		return err
	}
	if shared.made() {
		c.number(shared.base)
	}
	return nil
}

// again repeats an append that may have taken effect: with the session locked, it
// checks whether the entries exist, and if not, it writes them in a way that
// disables an earlier attempt that is still in progress.
func (c *changes) again(ctx context.Context, conn *pgxpool.Conn, sql string, args []any) (base int64, err error) {
	err = transact(ctx, conn, func(tx pgx.Tx) error {
		var ordinal, seq int64
		if err := tx.QueryRow(ctx, sqlLock, args[0]).Scan(&ordinal, &seq); err != nil {
			return err
		}
		if len(c.entries) > 0 {
			err := tx.QueryRow(ctx, sqlFindEntry, ordinal, seq-searched, c.entries[0].JSON).Scan(&base)
			if err == nil {
				base--
				return nil
			} else if !none(err) {
				return fmt.Errorf("looking for an entry: %w", err)
			}
		}
		args := slices.Clone(args)
		args[11] = true
		return tx.QueryRow(ctx, sql, args...).Scan(&base)
	})
	return base, err
}
