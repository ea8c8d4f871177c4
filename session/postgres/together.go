package postgres

import (
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/parley-run/parley/session"
)

// The statements that make changes of several sessions. Each has a row for a session,
// numbered by op, whose arrays are the parameters. A statement does not wait for a
// session that is locked, and so two of them cannot deadlock: it omits the session. The
// lock is the weakest one for an update: those who index a session, or store a recording,
// lock it only against being deleted. A session that has changed since the statement began
// is omitted, too: it is no longer in the place in which it was found. Each session is looked
// up by itself. The plan of a join that was made for some hundred sessions reads all of
// them, also when there are many more, until the database has new statistics (bench,
// load_postgres). That of a lookup does so only if it was made for fewer than about a hundred.
//
// $1 to $5 are those of logs.args, which also adds the last three. A statement that uses them
// has rows s, after the update. Each has a variant without the last three, for changes of no
// state: the unused parts of a statement cost time, too (bench, load_postgres).
var (
	sqlAppendTogether, sqlAppendStateTogether = appendTogether(""), appendTogether(putStateTogether(8))
	sqlEndTogether, sqlEndStateTogether       = endTogether(""), endTogether(putStateTogether(14))
	sqlTakeTogether, sqlTakeStateTogether     = takeTogether(""), takeTogether(putStateTogether(18))
)

const (
	// mostRead is how many entries of a session a Begin reads together with others.
	mostRead = 32

	putEventsTogether = `events AS (
		INSERT INTO parley_events (session, seq, json, sum)
		SELECT s.ordinal, s.seq - s.count + e.place, substr(e.entry, 5), substr(e.entry, 1, 4)
		FROM s JOIN unnest($3::bigint[], $4::bigint[], $5::bytea[]) AS e (op, place, entry) ON e.op = s.op)`

	setSeqTogether = ` seq = s.seq + l.count, updated = CASE WHEN l.count > 0 THEN greatest(s.updated, clock_timestamp()) ELSE s.updated END`
)

// putStateTogether changes the state of sessions; first is the first one of its parameters.
func putStateTogether(first int) string {
	return fmt.Sprintf(`,
	state AS (
		INSERT INTO parley_state (owner, name, value)
		SELECT int8send(s.ordinal), t.name, t.value
		FROM s JOIN unnest($%d::bigint[], $%d::bytea[], $%d::bytea[]) AS t (op, name, value) ON t.op = s.op
		ON CONFLICT (owner, digest) DO UPDATE SET value = excluded.value)`, first, first+1, first+2)
}

// appendTogether: $6 epochs, $7 nonces.
func appendTogether(state string) string {
	return `WITH l AS (
		SELECT s.place, u.op, u.count
		FROM unnest($1::bytea[], $2::bigint[], $6::bigint[], $7::bigint[]) WITH ORDINALITY AS u (digest, count, epoch, nonce, op),
			LATERAL (SELECT s.ctid AS place FROM parley_sessions s
				WHERE s.digest = u.digest AND s.epoch = u.epoch AND NOT (u.nonce = ANY (s.retried)) FOR NO KEY UPDATE SKIP LOCKED) AS s),
	s AS (
		UPDATE parley_sessions s SET` + setSeqTogether + ` FROM l WHERE s.ctid = l.place
		RETURNING l.op, l.count, s.ordinal, s.seq),
	` + putEventsTogether + state + `
	SELECT op, seq - count FROM s`
}

// endTogether: $6 epochs, $7 statuses, $8 failures, $9 usage, $10 resumes, $11 usage by model,
// $12 traces, $13 tokens, six for each.
// Runs are changed in the order in which Renew locks them, as long as the plan is the
// usual one. If it is not, one of two that wait for each other is repeated.
func endTogether(state string) string {
	return `WITH l AS (
		SELECT s.place, u.*
		FROM unnest($1::bytea[], $2::bigint[], $6::bigint[], $7::text[], $8::bytea[], $9::bytea[], $10::text[],
			$11::text[], $12::text[]) WITH ORDINALITY AS u (digest, count, epoch, status, failure, usage, resumes, models, trace, op),
			LATERAL (SELECT s.ctid AS place FROM parley_sessions s
				WHERE s.digest = u.digest AND s.epoch = u.epoch FOR NO KEY UPDATE SKIP LOCKED) AS s),
	s AS (
		UPDATE parley_sessions s SET` + setSeqTogether + `, epoch = 0, busy = false, released = s.epoch
		FROM l WHERE s.ctid = l.place
		RETURNING l.*, s.ordinal, s.seq, s.run, s.queued, s.app, s.usr, s.subscriptions),
	` + putEventsTogether + state + `,
	used AS (
		INSERT INTO parley_usage_log (day, app, usr, runs, prompt, candidates, total, cached, thoughts, tool_prompt, models)
		SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date, s.app, s.usr, count(*),
			sum(($13::bigint[])[6 * s.op - 5]), sum(($13::bigint[])[6 * s.op - 4]), sum(($13::bigint[])[6 * s.op - 3]),
			sum(($13::bigint[])[6 * s.op - 2]), sum(($13::bigint[])[6 * s.op - 1]), sum(($13::bigint[])[6 * s.op]),
			jsonb_agg(s.models::jsonb) FILTER (WHERE s.models IS NOT NULL)
		FROM s GROUP BY s.app, s.usr),
	run AS (
		UPDATE parley_runs r SET status = s.status, failure = s.failure, usage = s.usage, models = s.models::jsonb, resumes = s.resumes,
			first = CASE WHEN r.first = 0 AND s.count > 0 THEN s.seq - s.count + 1 ELSE r.first END,
			last = s.seq, ended = clock_timestamp(), owner = '', request = NULL
		FROM (SELECT * FROM s ORDER BY s.ordinal) AS s WHERE r.session = s.ordinal AND r.number = s.run
		RETURNING r.id, s.ordinal, s.app, s.subscriptions, s.status, s.trace),
	told AS (` + putTraced + ` SELECT t.*, s.id, s.status, clock_timestamp(), clock_timestamp(), s.trace
		FROM run AS s CROSS JOIN LATERAL ` + receivers + ` WHERE s.subscriptions <> '{}' OR EXISTS (SELECT FROM parley_endpoints) RETURNING number),
	journal AS (DELETE FROM parley_journal j USING s WHERE j.session = s.ordinal AND j.run = s.run),
	deaths AS (DELETE FROM parley_deaths d USING s WHERE d.session = s.ordinal AND d.run = s.run)
	SELECT op, seq - count, queued > 0, EXISTS (SELECT FROM told) FROM s`
}

// takeTogether: $6 ids, $7 requests, $8 idempotency keys, $9 fingerprints, $10 nonces, $11 and
// $12 Read.After and Read.Of, $13 owner, $14 lease, $15 mostRead, $16 users, $17 applications.
// The rows have the session after the update, with its state and the entries that the caller
// has not read as they were before. They fit together: whatever changes a session's own
// state or its log changes the session, too. A subquery for the idempotency key instead of
// EXISTS is never hashed, which reads the keys of all sessions.
func takeTogether(state string) string {
	return `WITH l AS (
		SELECT s.place, u.*
		FROM unnest($1::bytea[], $2::bigint[], $6::text[], $7::bytea[], $8::bytea[], $9::bytea[], $10::bigint[], $11::bigint[], $12::bigint[], $16::bytea[], $17::bytea[])
			WITH ORDINALITY AS u (digest, count, started, request, idem, fingerprint, nonce, after, of, user_owner, app_owner, op),
			LATERAL (SELECT s.ctid AS place FROM parley_sessions s
				WHERE s.digest = u.digest AND NOT s.busy AND s.queued = 0 AND NOT (u.nonce = ANY (s.retried))
					AND s.seq <= CASE WHEN u.of IN (0, s.ordinal) THEN u.after ELSE 0 END + $15::bigint
					AND (u.idem IS NULL OR (SELECT r.number FROM parley_runs r WHERE r.session = s.ordinal AND r.idem = u.idem) IS NULL)
				FOR NO KEY UPDATE SKIP LOCKED) AS s),
	s AS (
		UPDATE parley_sessions s SET` + setSeqTogether + `, epoch = nextval('parley_epochs'), run = nextval('parley_numbers'), busy = true
		FROM l WHERE s.ctid = l.place
		RETURNING l.*, ` + sessionColumns + `, s.epoch, s.run, s.subscriptions, ` + listedAs + `, clock_timestamp() AS now),
	` + putEventsTogether + state + `,
	told AS (` + putDeliveries + ` SELECT unnest(s.subscriptions), s.started, 'running', clock_timestamp(), clock_timestamp() FROM s RETURNING number),
	r AS (
		INSERT INTO parley_runs (session, number, id, status, owner, epoch, attempt, lease, nonce, first, request, idem, fingerprint, created, list_app, list_user)
		SELECT s.ordinal, s.run, s.started, 'running', $13::text, s.epoch, 1, s.now + $14::bigint * interval '1 microsecond', s.nonce,
			s.seq - s.count + 1, s.request, s.idem, s.fingerprint, s.now, s.list_app, s.list_user
		FROM s)
	SELECT s.op, EXISTS (SELECT FROM told), s.run, s.epoch, s.now, ` + sessionColumns + `, state.names, state.vals, log.seqs, log.texts, log.sums
	FROM s,
		LATERAL (SELECT array_agg(t.name) AS names, array_agg(t.value) AS vals
			FROM parley_state t WHERE t.owner = ANY (ARRAY[int8send(s.ordinal), s.user_owner, s.app_owner])) AS state,
		LATERAL (SELECT array_agg(e.seq) AS seqs, array_agg(e.json) AS texts, array_agg(e.sum) AS sums FROM (
			SELECT e.seq, e.json, e.sum FROM parley_events e
			WHERE e.session = s.ordinal AND e.seq > CASE WHEN s.of IN (0, s.ordinal) THEN s.after ELSE 0 END AND e.seq <= s.seq - s.count
			ORDER BY e.seq) AS e) AS log`
}

// together reports whether nothing in the changes needs a statement of its own.
func (c *changes) together() bool {
	if c.rewound > 0 || c.metadata {
		return false
	}
	for _, owner := range c.owners {
		if owner != nil { // several sessions may share it
			return false
		}
	}
	return true
}

// size is the number of bytes to send.
func (c *changes) size() (bytes int) {
	for _, e := range c.entries {
		bytes += len(e.JSON)
	}
	for i := range c.names {
		bytes += len(c.names[i]) + len(c.values[i])
	}
	return bytes
}

// logs are the changes of several logs and their states.
type logs struct {
	digests, entries, names, values  [][]byte
	counts, entryOps, places, states []int64
}

// logsOf returns the changes of the logs, each as a row whose number is that in the
// list, from 1.
func logsOf(list []*change) *logs {
	l := &logs{}
	for i, c := range list {
		op := int64(i) + 1
		digest, _ := c.log[0].([]byte)
		entries, _ := c.log[2].([][]byte)
		names, _ := c.log[4].([][]byte)
		values, _ := c.log[5].([][]byte)
		l.digests, l.counts = append(l.digests, digest), append(l.counts, int64(len(entries)))
		for j, e := range entries {
			l.entryOps, l.places, l.entries = append(l.entryOps, op), append(l.places, int64(j)+1), append(l.entries, e)
		}
		for j := range names {
			l.states, l.names, l.values = append(l.states, op), append(l.names, names[j]), append(l.values, values[j])
		}
	}
	return l
}

// args returns a statement for the changes, with its parameters: one of a pair, of which the
// second one also changes the state.
func (l *logs) args(sql, withState string, more ...any) (string, []any) {
	args := append([]any{l.digests, l.counts, l.entryOps, l.places, l.entries}, more...)
	if len(l.states) == 0 {
		return sql, args
	}
	return withState, append(args, l.states, l.names, l.values)
}

// column returns a value of each change.
func column[T any](list []*change, value func(*change) T) []T {
	values := make([]T, len(list))
	for i, c := range list {
		values[i] = value(c)
	}
	return values
}

// takeRows reads rows that begin with the number of a change.
func takeRows(results pgx.BatchResults, list []*change, op *int64, targets []any, found func(*change) error) error {
	rows, err := results.Query()
	if err != nil {
		return err
	}
	_, err = pgx.ForEachRow(rows, append([]any{op}, targets...), func() error { return found(list[*op-1]) })
	return err
}

func queueAppends(b *pgx.Batch, list []*change) func(pgx.BatchResults) error {
	sql, args := logsOf(list).args(sqlAppendTogether, sqlAppendStateTogether,
		column(list, func(c *change) int64 { return c.epoch }), column(list, func(c *change) int64 { return c.nonce }))
	b.Queue(sql, args...)
	return func(results pgx.BatchResults) error {
		var op, base int64
		return takeRows(results, list, &op, []any{&base}, func(c *change) error {
			c.applied, c.base = true, base
			return nil
		})
	}
}

// ended is what the end of a run stores beside the log.
type ended struct {
	status, resumes string
	failure, usage  []byte
	tokens          [6]int64
	models          *string // JSON
	trace           string
}

func queueEnds(b *pgx.Batch, list []*change) func(pgx.BatchResults) error {
	var tokens []int64
	for _, c := range list {
		tokens = append(tokens, c.end.tokens[:]...)
	}
	sql, args := logsOf(list).args(sqlEndTogether, sqlEndStateTogether,
		column(list, func(c *change) int64 { return c.epoch }), column(list, func(c *change) string { return c.end.status }),
		column(list, func(c *change) []byte { return c.end.failure }), column(list, func(c *change) []byte { return c.end.usage }),
		column(list, func(c *change) string { return c.end.resumes }), column(list, func(c *change) *string { return c.end.models }),
		column(list, func(c *change) string { return c.end.trace }), tokens)
	b.Queue(sql, args...)
	return func(results pgx.BatchResults) error {
		var op, base int64
		var queued, delivers bool
		return takeRows(results, list, &op, []any{&base, &queued, &delivers}, func(c *change) error {
			c.applied, c.base, c.queued, c.delivers = true, base, queued, delivers
			return nil
		})
	}
}

// queueBegins claims sessions, appends the messages, and reads the sessions, like
// beginning.take. One statement is enough: a session that has changed since it began is
// omitted.
func (s *backend) queueBegins(b *pgx.Batch, list []*change) func(pgx.BatchResults) error {
	sql, args := logsOf(list).args(sqlTakeTogether, sqlTakeStateTogether, column(list, func(c *change) string { return c.begin.ID }),
		column(list, func(c *change) []byte { return c.begin.request }), column(list, func(c *change) []byte { return c.begin.idem }),
		column(list, func(c *change) []byte { return c.begin.mark }), column(list, func(c *change) int64 { return c.begin.nonce }),
		column(list, func(c *change) int64 { return max(c.begin.Read.After, 0) }), column(list, func(c *change) int64 { return c.begin.Read.Of }),
		s.owner, s.lease, int64(mostRead),
		column(list, func(c *change) []byte { user := c.begin.Key.OwnerDigest(); return user[:] }),
		column(list, func(c *change) []byte { app := c.begin.Key.AppDigest(); return app[:] }))
	b.Queue(sql, args...)
	_, worker, _ := strings.Cut(s.owner, "\n")
	return func(results pgx.BatchResults) error {
		var op, number, epoch int64
		var delivers bool
		var created time.Time
		var row sessionRow
		var seqs []int64
		var texts, sums [][]byte
		targets := append([]any{&delivers, &number, &epoch, &created}, append(row.targets(), &seqs, &texts, &sums)...)
		return takeRows(results, list, &op, targets, func(c *change) error {
			row.Seq -= int64(len(c.begin.message.entries))
			got, err := s.sessionOf(&row, c.begin.Key)
			if err != nil {
				return err
			}
			if !c.begin.Read.NoEvents {
				for i, seq := range seqs {
					got.Add(session.Load(seq, texts[i], sums[i]))
				}
			}
			seqs, texts, sums = nil, nil, nil
			c.begun = &session.Begun{Session: got, Run: &session.Run{
				ID: c.begin.ID, Key: c.begin.Key, Number: number, Status: session.Running, Epoch: epoch, Attempt: 1,
				First: got.Seq + 1, Request: c.begin.request, Worker: worker, Created: created,
			}}
			c.delivers, c.applied = delivers, true
			if !c.complete() {
				return fmt.Errorf("the run %s has begun, and its session was not read", c.begin.ID)
			}
			return nil
		})
	}
}

// complete reports whether all entries were read that the caller asked for.
func (c *change) complete() bool {
	got, read := c.begun.Session, &c.begin.Read
	if read.NoEvents {
		return true
	}
	after := min(max(read.After, 0), got.Seq)
	if read.Of != 0 && read.Of != got.Ordinal {
		after = 0
	}
	return int64(len(got.Entries)) == got.Seq-after
}
