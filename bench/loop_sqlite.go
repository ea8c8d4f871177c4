package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver that the store uses

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// sqliteLoop executes the statements of the store for runs, without Parley: one goroutine, one connection, prepared
// statements, the store's schema and pragmas, and values that Parley has written in a run.
//
// The store groups all waiting requests into one transaction. With 64 clients that is, at best, one step of each: 64
// runs begin in one transaction, append their first event in the next, and so on. A loop with a group of 64 does just
// that. It has no savepoints around the steps, which the store needs because a step may fail; it wakes no goroutines;
// and it reads nothing for the next run while it waits for the disk.
type sqliteLoop struct {
	store session.Store // to make sessions with
	db    *sql.DB
	conn  *sql.Conn
	known map[string]*sql.Stmt
	turn  *turnRecord
	made  int // sessions
	drop  func()
}

// What the store does for a run; see session/sqlite. alike tells when
// the effect is not the same any more.
const (
	runRow = "number, id, status, stop, epoch, attempt, first, last, resumes, failure, usage, request, created, ended"

	loopFind  = "SELECT ordinal, app, user, id, seq, rewound, created, updated, epoch, active FROM sessions WHERE digest = ?"
	loopOpen  = "SELECT " + runRow + ", lease FROM runs WHERE session = ? AND status IN ('queued', 'running') ORDER BY number LIMIT 1"
	loopState = "SELECT name, value FROM state WHERE owner IN (?, ?, ?)"
	loopEpoch = "UPDATE epochs SET last = last + 1 RETURNING last"
	loopRun   = `INSERT INTO runs (session, id, status, epoch, attempt, first, owner, lease, request, idempotency, fingerprint, created)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	loopEvent = "INSERT INTO events (session, seq, json) VALUES (?, ?, ?)"
	loopSave  = "UPDATE sessions SET seq = ?, rewound = ?, updated = ?, epoch = ?, active = ? WHERE ordinal = ?"
	loopHeld  = `SELECT ordinal, app, user, sessions.id, seq, rewound, sessions.created, updated, sessions.epoch, active, runs.number, runs.first
		FROM sessions JOIN runs ON runs.number = active WHERE digest = ? AND sessions.epoch = ?`
	loopNotes = "DELETE FROM journal WHERE run = ?"
	loopEnd   = "UPDATE runs SET status = ?, failure = ?, usage = ?, first = ?, last = ?, resumes = ?, ended = ?, owner = NULL WHERE number = ?"
	loopLine  = "SELECT EXISTS (SELECT 1 FROM runs WHERE session = ? AND status IN ('queued', 'running'))"
)

var loopPragmas = []string{
	"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(ON)",
	"cache_size(-8192)", "temp_store(MEMORY)", "journal_size_limit(67108864)",
}

func openSQLite(where place) (*sql.DB, error) {
	source := url.URL{Scheme: "file", OmitHost: true, Path: strings.TrimPrefix(where.url, sqliteScheme), RawQuery: url.Values{"_pragma": loopPragmas}.Encode()}
	return sql.Open("sqlite", source.String())
}

func newSQLiteLoop(ctx context.Context, b *bench) (_ *sqliteLoop, err error) {
	turn, err := recordTurn(ctx, b)
	if err != nil {
		return nil, err
	}
	where, drop, err := b.place(ctx, inSQLite)
	if err != nil {
		return nil, err
	}
	l := &sqliteLoop{turn: turn, known: map[string]*sql.Stmt{}, drop: drop}
	if l.store, err = where.store(ctx); err == nil {
		l.db, err = openSQLite(where)
	}
	if err == nil {
		l.conn, err = l.db.Conn(ctx)
	}
	if err == nil {
		err = l.alike(ctx)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func (l *sqliteLoop) Close() {
	for _, s := range l.known {
		_ = s.Close() // the file goes, too
	}
	if l.conn != nil {
		_ = l.conn.Close()
	}
	if l.db != nil {
		_ = l.db.Close()
	}
	if l.store.Closer != nil {
		_ = l.store.Close()
	}
	l.drop()
}

// runs does n runs, and returns how many of them there were in a second. A
// group is how many runs do their next step in the same transaction.
func (l *sqliteLoop) runs(ctx context.Context, n, group int) (float64, error) {
	all := make([]*loopRunner, n/turnsPerSession)
	for i := range all {
		l.made++
		key := session.Key{App: weatherApp, User: user, ID: fmt.Sprintf("loop-%d", l.made)}
		if _, err := l.store.Create(ctx, session.NewSession{Key: key, State: twoKeys}); err != nil {
			return 0, err
		}
		all[i] = &loopRunner{sqliteLoop: l, ctx: ctx, key: key}
	}
	began := time.Now()
	for first := 0; first < len(all); first += group {
		for range turnsPerSession {
			if err := l.together(ctx, all[first:min(first+group, len(all))]); err != nil {
				return 0, err
			}
		}
	}
	return float64(len(all)*turnsPerSession) / time.Since(began).Seconds(), nil
}

// twoKeys is the state that createSession gives to sessions.
var twoKeys = session.State{"key1": []byte(`"value1"`), "key2": []byte("42")}

// together does one run in each session.
func (l *sqliteLoop) together(ctx context.Context, all []*loopRunner) error {
	steps := []func(*loopRunner){(*loopRunner).begin}
	for _, json := range l.turn.events[1:] {
		steps = append(steps, func(r *loopRunner) { r.append(json) })
	}
	for _, step := range append(steps, (*loopRunner).end) {
		if err := l.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
			return err
		}
		for _, r := range all {
			if step(r); r.err != nil {
				return r.err
			}
		}
		if err := l.exec(ctx, "COMMIT"); err != nil {
			return err
		}
	}
	return nil
}

func (l *sqliteLoop) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if s := l.known[query]; s != nil {
		return s, nil
	}
	s, err := l.conn.PrepareContext(ctx, query)
	if err == nil {
		l.known[query] = s
	}
	return s, err
}

func (l *sqliteLoop) exec(ctx context.Context, query string, args ...any) error {
	s, err := l.prepare(ctx, query) //nolint:sqlclosecheck // it is kept for the next time
	if err == nil {
		_, err = s.ExecContext(ctx, args...)
	}
	return err
}

// loopRunner is a session of the loop. After an error it does nothing.
type loopRunner struct {
	*sqliteLoop

	ctx                         context.Context //nolint:containedctx // it lives for one call
	key                         session.Key
	ordinal, seq, epoch, number int64
	err                         error
}

func (r *loopRunner) begin() {
	digest, owner, app := r.key.Digest(), r.key.OwnerDigest(), r.key.AppDigest()
	r.find(loopFind, digest[:])
	r.read(loopOpen, r.ordinal)
	r.read(loopState, r.ordinal, owner[:], app[:])
	if row := r.read(loopEpoch); r.err == nil {
		r.epoch, _ = row[0].(int64)
	}
	now := time.Now().UnixNano()
	r.number = r.do(loopRun, r.ordinal, event.NewID(), "running", r.epoch, 1, r.seq+1, "owner", now+int64(time.Minute), r.turn.request, sql.NullString{}, "", now)
	r.do(loopEvent, r.ordinal, r.seq+1, r.turn.events[0])
	r.do(loopSave, r.seq+1, 0, now, r.epoch, r.number, r.ordinal)
}

func (r *loopRunner) append(json []byte) {
	digest := r.key.Digest()
	r.find(loopHeld, digest[:], r.epoch)
	r.do(loopEvent, r.ordinal, r.seq+1, json)
	r.do(loopSave, r.seq+1, 0, time.Now().UnixNano(), r.epoch, r.number, r.ordinal)
}

func (r *loopRunner) end() {
	digest := r.key.Digest()
	r.find(loopHeld, digest[:], r.epoch)
	r.do(loopSave, r.seq, 0, time.Now().UnixNano(), 0, nil, r.ordinal)
	r.do(loopNotes, r.number)
	r.do(loopEnd, "completed", nil, r.turn.usage, r.seq-int64(len(r.turn.events))+1, r.seq, "", time.Now().UnixNano(), r.number)
	r.read(loopLine, r.ordinal)
}

// find reads the row of the session.
func (r *loopRunner) find(query string, args ...any) {
	row := r.read(query, args...)
	if r.err == nil && row == nil {
		r.err = sql.ErrNoRows
	}
	if r.err == nil {
		r.ordinal, _ = row[0].(int64)
		r.seq, _ = row[4].(int64)
	}
}

// do runs a statement that changes something, and returns the number of the row
// that it has inserted.
func (r *loopRunner) do(query string, args ...any) (id int64) {
	if r.err != nil {
		return 0
	}
	s, err := r.prepare(r.ctx, query) //nolint:sqlclosecheck // it is kept for the next time
	if err != nil {
		r.err = err
		return 0
	}
	result, err := s.ExecContext(r.ctx, args...)
	if err != nil {
		r.err = err
		return 0
	}
	id, r.err = result.LastInsertId()
	return id
}

// read reads all rows, and returns the last.
func (r *loopRunner) read(query string, args ...any) (last []any) {
	if r.err != nil {
		return nil
	}
	s, err := r.prepare(r.ctx, query) //nolint:sqlclosecheck // it is kept for the next time
	if err != nil {
		r.err = err
		return nil
	}
	rows, err := s.QueryContext(r.ctx, args...)
	if err != nil {
		r.err = err
		return nil
	}
	defer rows.Close()
	columns, err := rows.Columns()
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range into {
		into[i] = &values[i]
	}
	for rows.Next() {
		err = errors.Join(err, rows.Scan(into...))
		last = values
	}
	r.err = errors.Join(err, rows.Err())
	return last
}

// turnRecord is what Parley writes for one turn.
type turnRecord struct {
	events         [][]byte // the message first
	request, usage []byte
	rows           string // what is then in the database
}

// recordTurn has Parley do one turn, and reads what it has written.
func recordTurn(ctx context.Context, b *bench) (*turnRecord, error) {
	where, drop, err := b.place(ctx, inSQLite)
	if err != nil {
		return nil, err
	}
	defer drop()
	if err := turnsOn(ctx, where, 1); err != nil {
		return nil, err
	}
	db, err := openSQLite(where)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	t := &turnRecord{}
	if err := db.QueryRowContext(ctx, "SELECT request, usage FROM runs").Scan(&t.request, &t.usage); err != nil {
		return nil, err
	}
	rows, err := db.QueryContext(ctx, "SELECT json FROM events ORDER BY seq")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var json []byte
		err = errors.Join(err, rows.Scan(&json))
		t.events = append(t.events, json)
	}
	if err := errors.Join(err, rows.Err()); err != nil {
		return nil, err
	}
	t.rows, err = rowsIn(ctx, db)
	return t, err
}

// rowsIn tells what is in a database with one session.
func rowsIn(ctx context.Context, db *sql.DB) (found string, err error) {
	err = db.QueryRowContext(ctx, `SELECT concat_ws(' ',
		(SELECT concat_ws(' ', count(*), sum(seq), sum(length(json))) FROM events),
		(SELECT concat_ws(' ', count(*), status, first, last, attempt, epoch, owner, length(request), length(usage)) FROM runs),
		(SELECT concat_ws(' ', count(*), seq, epoch, coalesce(active, 'idle')) FROM sessions),
		(SELECT count(*) FROM journal), (SELECT count(*) FROM state))`).Scan(&found)
	return found, err
}

// alike makes sure that the loop leaves behind what Parley does.
func (l *sqliteLoop) alike(ctx context.Context) error {
	key := session.Key{App: weatherApp, User: user, ID: "recorded"}
	if _, err := l.store.Create(ctx, session.NewSession{Key: key, State: twoKeys}); err != nil {
		return err
	}
	if err := l.together(ctx, []*loopRunner{{sqliteLoop: l, ctx: ctx, key: key}}); err != nil {
		return err
	}
	rows, err := rowsIn(ctx, l.db)
	if err == nil && rows != l.turn.rows {
		err = fmt.Errorf("the loop and Parley leave different rows behind: %s, and %s", rows, l.turn.rows)
	}
	return err
}
