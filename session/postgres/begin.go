package postgres

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/session"
)

const (
	// listedAs are the columns of a run that is added to the session s by which it is
	// listed; see sqlFindRuns.
	listedAs = `CASE WHEN s.hidden THEN '' ELSE s.app END AS list_app, s.owner AS list_user`

	// One statement claims a free session and inserts the run. The epoch is
	// assigned once the row is locked: if another statement was first, all of this
	// is computed again, and finds the session busy. $1 digest, $2 id, $3 owner, $4
	// lease, $5 whether there is a message, $6 request, $7 idempotency key, $8
	// fingerprint, $9 nonce, $10 again.
	sqlTake = `WITH s AS (
			UPDATE parley_sessions s SET epoch = nextval('parley_epochs'), run = nextval('parley_numbers'), busy = true,
				retried = CASE WHEN $10::boolean THEN (array_prepend($9::bigint, s.retried))[1:16] ELSE s.retried END
			WHERE s.digest = $1 AND NOT s.busy AND s.queued = 0 AND NOT ($9::bigint = ANY (s.retried))
				AND ($7::bytea IS NULL OR NOT EXISTS (SELECT FROM parley_runs r WHERE r.session = s.ordinal AND r.idem = $7::bytea))
			RETURNING s.ordinal, s.epoch, s.run, s.seq, s.subscriptions, ` + listedAs + `),
		told AS (` + putDeliveries + ` SELECT unnest(s.subscriptions), $2::text, 'running', clock_timestamp(), clock_timestamp() FROM s RETURNING number)
		INSERT INTO parley_runs AS r (session, number, id, status, owner, epoch, attempt, lease, nonce, first, request, idem, fingerprint, created, list_app, list_user)
		SELECT s.ordinal, s.run, $2::text, 'running', $3::text, s.epoch, 1, clock_timestamp() + $4::bigint * interval '1 microsecond', $9::bigint,
			CASE WHEN $5::boolean THEN s.seq + 1 ELSE 0 END, $6::bytea, $7::bytea, $8::bytea, clock_timestamp(), s.list_app, s.list_user
		FROM s
		RETURNING EXISTS (SELECT FROM told), ` + runColumns

	// The message is inserted after the session was read, in the same transaction,
	// and only if that claimed the session.
	sqlMessage = `WITH s AS (
			UPDATE parley_sessions s SET` + setLog + ` FROM parley_runs r
			WHERE s.digest = $1 AND r.session = s.ordinal AND r.number = s.run AND r.nonce = $11::bigint AND r.first = s.seq + 1
			RETURNING s.ordinal, s.seq),
		` + putEvents + `, ` + putState + `
		SELECT seq FROM s`

	sqlBusy = `SELECT ordinal, run, busy, queued FROM parley_sessions WHERE digest = $1 FOR NO KEY UPDATE`

	sqlKnown = `SELECT r.nonce, ` + runColumns + ` FROM parley_runs r WHERE r.session = $1 AND r.id = $2::text`

	sqlIdem = `SELECT r.fingerprint, ` + runColumns + ` FROM parley_runs r WHERE r.session = $1 AND r.idem = $2::bytea`

	sqlFirstOpen = `SELECT r.id FROM parley_runs r WHERE r.session = $1 AND r.status IN ('queued', 'running')
		ORDER BY r.status DESC, r.number LIMIT 1`

	sqlInterrupt = `WITH r AS (
		UPDATE parley_runs r SET
			status = CASE WHEN r.status = 'queued' THEN 'cancelled' ELSE r.status END,
			ended = CASE WHEN r.status = 'queued' THEN clock_timestamp() END,
				request = CASE WHEN r.status = 'queued' THEN NULL ELSE r.request END,
			stop = CASE WHEN r.status = 'running' AND r.stop <> 'rollback' THEN $2::text ELSE r.stop END
		WHERE r.session = $1 AND r.status IN ('queued', 'running')
		RETURNING r.id, r.number, r.status)
		` + putEnds + ` SELECT t.*, r.id, r.status, clock_timestamp(), clock_timestamp()
		FROM r, parley_sessions s CROSS JOIN LATERAL ` + receivers + ` WHERE s.ordinal = $1 AND r.status = 'cancelled' ORDER BY r.number`

	sqlEnqueue = `WITH s AS (
			UPDATE parley_sessions s SET queued = CASE WHEN $7::boolean THEN 0 ELSE queued END + 1 WHERE ordinal = $1 RETURNING ordinal, ` + listedAs + `)
		INSERT INTO parley_runs AS r (session, number, id, status, nonce, request, idem, fingerprint, created, list_app, list_user)
		SELECT ordinal, nextval('parley_numbers'), $2::text, 'queued', $3::bigint, $4::bytea, $5::bytea, $6::bytea, clock_timestamp(), list_app, list_user FROM s
		RETURNING ` + runColumns
)

// beginning is one call of Begin.
type beginning struct {
	session.NewRun
	store    *backend
	nonce    int64
	request  []byte
	idem     []byte // nil for none
	mark     []byte // fingerprint
	message  *changes
	delivers bool // whether deliveries were added
}

func (s *backend) beginning(ctx context.Context, run session.NewRun) *beginning {
	b := &beginning{NewRun: run, store: s, nonce: nonceOf(ctx)}
	if run.IdempotencyKey != "" {
		digest := sha256.Sum256([]byte(run.IdempotencyKey))
		b.idem, b.mark = digest[:], []byte(run.Fingerprint)
	}
	return b
}

// querier is a connection, or a transaction on one.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// errSlow means that the session does not exist, is not free, or that the run is a
// repeat: that is decided with the session locked.
var errSlow = errors.New("not on the fast path")

// Begin implements session.Runs. On a free session it takes one round trip to the
// database.
func (s *backend) Begin(ctx context.Context, run session.NewRun) (*session.Begun, error) {
	b := s.beginning(ctx, run)
	if run.Request != nil {
		var err error
		if b.request, err = run.Request(); err != nil {
			return nil, fmt.Errorf("storing the request of a run: %w", err)
		}
	}
	if run.Message != nil {
		b.message = changesOf(run.Key, nil, []*session.Entry{run.Message}, false)
	}
	var begun *session.Begun
	var shared *change
	if b.message != nil && !run.Read.Initial && b.message.together() {
		log := b.message.args()
		shared = &change{kind: beginningRun, key: b.message.digest(), size: b.message.size() + len(b.request), log: log, begin: b}
	}
	since := s.Timeline()
	err := s.writeTogether(ctx, "beginning a run", shared, func(ctx context.Context, conn *pgxpool.Conn, again bool) (err error) {
		b.delivers = again // it is not known, then
		if !again {
			begun, err = b.fast(ctx, conn)
			if !errors.Is(err, errSlow) {
				return err
			}
		}
		return transact(ctx, conn, func(tx pgx.Tx) error {
			begun, err = b.slow(ctx, tx, again)
			if violates(err) == runIDs {
				err = session.ErrRunExists
			}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	if shared.made() {
		begun, b.delivers = shared.begun, shared.delivers
	}
	if begun.Session != nil && b.message != nil {
		run.Message.Seq = begun.Run.First
		s.confirmed(begun.Run.Epoch, since, begun.Session.Ordinal, run.Message)
		s.keep(run.Key, begun.Session.Ordinal, since, run.Message)
	}
	if !begun.Repeat {
		s.changed(run.Key)
	}
	s.notifyAdded(b.delivers)
	return begun, nil
}

// batcher is a connection or a transaction.
type batcher interface {
	SendBatch(context.Context, *pgx.Batch) pgx.BatchResults
}

// fast claims a free session.
func (b *beginning) fast(ctx context.Context, conn batcher) (*session.Begun, error) {
	begun, err := b.take(ctx, conn, false)
	if violates(err) != "" {
		return nil, errSlow // it repeats a run that was not visible yet, or has the id of one
	}
	return begun, err
}

// runIDs is the constraint that the ids of a session's runs are unique.
const runIDs = "parley_runs_session_id_key"

// violates returns the violated unique constraint, or "".
func violates(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "23505" {
		return pg.ConstraintName
	}
	return ""
}

// take is the common part of both paths for a free session.
func (b *beginning) take(ctx context.Context, conn batcher, again bool) (*session.Begun, error) {
	digest := b.Key.Digest()
	batch := &pgx.Batch{}
	batch.Queue(sqlTake, digest[:], b.ID, b.store.owner, b.store.lease, b.message != nil, b.request, b.idem, b.mark, b.nonce, again)
	queueRead(batch, b.Key, b.Read)
	if b.message != nil {
		batch.Queue(sqlMessage, append(b.message.args(), b.nonce)...)
	}
	results := conn.SendBatch(ctx, batch)
	defer func() { _ = results.Close() }()
	var delivers bool
	var r runRow
	err := results.QueryRow().Scan(append([]any{&delivers}, r.targets()...)...)
	if none(err) {
		return nil, errSlow
	} else if err != nil {
		return nil, err
	}
	run, err := r.run(b.Key)
	if err != nil {
		return nil, err
	}
	b.delivers = delivers
	begun := &session.Begun{Run: run}
	if begun.Session, err = b.store.takeRead(results, b.Key, b.Read); err != nil {
		return nil, err
	}
	if b.message != nil {
		var seq int64
		if err := results.QueryRow().Scan(&seq); err != nil {
			return nil, fmt.Errorf("appending the message of a run: %w", err)
		}
	}
	return begun, results.Close()
}

// slow decides with the session locked.
func (b *beginning) slow(ctx context.Context, tx pgx.Tx, again bool) (*session.Begun, error) {
	digest := b.Key.Digest()
	var ordinal, number, queued int64
	var busy bool
	err := tx.QueryRow(ctx, sqlBusy, digest[:]).Scan(&ordinal, &number, &busy, &queued)
	if none(err) {
		return nil, session.ErrNotFound
	} else if err != nil {
		return nil, err
	}
	if again {
		if begun, err := b.done(ctx, tx, ordinal); begun != nil || err != nil {
			return begun, err
		}
	}
	if b.idem != nil {
		if begun, err := b.repeat(ctx, tx, ordinal); begun != nil || err != nil {
			return begun, err
		}
	}
	if !busy && queued == 0 {
		return b.take(ctx, tx, again)
	}
	if err := b.mayWait(ctx, tx, ordinal, queued); err != nil {
		return nil, err
	}
	interrupt := b.Busy == session.Interrupt || b.Busy == session.Rollback
	if interrupt {
		how := session.StopCancel
		if b.Busy == session.Rollback {
			how = session.StopRollback
		}
		added, err := tx.Exec(ctx, sqlInterrupt, ordinal, string(how))
		if err != nil {
			return nil, fmt.Errorf("interrupting a run: %w", err)
		}
		b.delivers = added.RowsAffected() > 0
	}
	run, err := scanRun(tx.QueryRow(ctx, sqlEnqueue, ordinal, b.ID, b.nonce, b.request, b.idem, b.mark, interrupt), b.Key)
	if err != nil {
		return nil, fmt.Errorf("queueing a run: %w", err)
	}
	return &session.Begun{Run: run}, nil
}

// repeat returns an earlier run with the same idempotency key.
func (b *beginning) repeat(ctx context.Context, db querier, ordinal int64) (*session.Begun, error) {
	var mark []byte
	var r runRow
	err := db.QueryRow(ctx, sqlIdem, ordinal, b.idem).Scan(append([]any{&mark}, r.targets()...)...)
	switch {
	case none(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("looking for a repeated run: %w", err)
	case !bytes.Equal(mark, b.mark):
		return nil, session.ErrReused
	}
	run, err := r.run(b.Key)
	if err != nil {
		return nil, err
	}
	return &session.Begun{Run: run, Repeat: true}, nil
}

// done returns what an earlier attempt has begun whose response was lost. The state
// is then the one after the message, which makes no difference to a caller that
// applies the message to it.
func (b *beginning) done(ctx context.Context, tx pgx.Tx, ordinal int64) (*session.Begun, error) {
	var mark int64
	var r runRow
	err := tx.QueryRow(ctx, sqlKnown, ordinal, b.ID).Scan(append([]any{&mark}, r.targets()...)...)
	if none(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("looking for a run: %w", err)
	}
	if mark != b.nonce {
		return nil, nil // it belongs to another call
	}
	run, err := r.run(b.Key)
	if err != nil {
		return nil, err
	}
	begun := &session.Begun{Run: run}
	if run.Status != session.Running {
		return begun, nil
	}
	batch := &pgx.Batch{}
	queueRead(batch, b.Key, b.Read)
	results := tx.SendBatch(ctx, batch)
	defer func() { _ = results.Close() }()
	if begun.Session, err = b.store.takeRead(results, b.Key, b.Read); err != nil {
		return nil, err
	}
	if b.message != nil {
		cut(begun.Session, run.First-1)
	}
	return begun, results.Close()
}

// cut removes entries after a sequence number.
func cut(s *session.Session, seq int64) {
	for len(s.Entries) > 0 && s.Entries[len(s.Entries)-1].Seq > seq {
		s.Entries = s.Entries[:len(s.Entries)-1]
	}
	s.Seq = seq
}
