package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/internal/retry"
	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/session"
)

// patience is how long a call is repeated while the database is unavailable, and the
// timeout of one attempt: if packets are dropped, there is no error. Only tests change it.
var patience = 15 * time.Second

const (
	firstWait = 5 * time.Millisecond
	lastWait  = 250 * time.Millisecond
)

// errAgain means that the data is inconsistent because the session was deleted in
// between. The next attempt reads the current data.
var errAgain = errors.New("the session changed while it was read")

// verdict classifies a failure.
type verdict int

const (
	final   verdict = iota // it failed, and would fail again
	undone                 // it had no effect, and may be repeated
	unknown                // it may have taken effect
)

// judge classifies a failure.
func judge(err error) verdict {
	if errors.Is(err, errAgain) || errors.Is(err, errUnsent) {
		return undone
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code {
		case "40001", "40P01", // serialization failure, deadlock
			"57014", "55P03", // statement_timeout, lock_timeout
			"25P03", "25P04", // idle_in_transaction_session_timeout, transaction_timeout
			"57P03", "53300", // the server is starting, or has too many clients
			"53200": // it has no memory left
			return undone
		case "57P01", "57P02", "57P05": // the server is shutting down
			return unknown
		}
		if refusesWrites(err) {
			return undone
		}
		if strings.HasPrefix(pg.Code, "08") {
			return unknown
		}
		return final
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok || pgconn.SafeToRetry(err) {
		return undone
	}
	if _, lost := errors.AsType[*lostError](err); lost {
		return unknown
	}
	return final
}

// acquire returns a connection. After a failure to connect, one goroutine tries on
// behalf of all callers.
func (s *backend) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	conn, err := s.pool.Acquire(ctx)
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok && !tooManyConnections(err) {
		s.db.Failed(err) //nolint:contextcheck // the probing outlives the call
	}
	return conn, err
}

// tooManyConnections reports whether the server is available, but has no free connection.
func tooManyConnections(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == "53300" || pg.Code == "08P01" && strings.Contains(pg.Message, "no more connections allowed")) // the latter is PgBouncer's
}

// patient returns how long a call is repeated.
func (s *backend) patient() time.Duration { return time.Duration(s.patience.Load()) }

// with calls f with a connection.
func (s *backend) with(ctx context.Context, f func(context.Context, *pgxpool.Conn) error) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return tag(ctx, conn, f(ctx, conn))
}

// read calls f with a connection, and repeats it while the database is unavailable.
func (s *backend) read(ctx context.Context, what string, f func(context.Context, *pgxpool.Conn) error) error {
	return s.persist(ctx, what, false, func(*bool) error {
		return s.with(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
			ctx, cancel := context.WithTimeout(ctx, s.patient())
			defer cancel()
			return s.silent(ctx, f(ctx, conn))
		})
	})
}

// silent checks whether the database did not respond within the timeout of an
// attempt, which is that of ctx.
func (s *backend) silent(ctx context.Context, err error) error {
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		s.db.Failed(err) //nolint:contextcheck // the probing outlives the call
	}
	return err
}

// write is like read for a change. Once it has begun, it is not cancelled with the
// caller, because the outcome must be known. again tells f that an earlier attempt
// may have taken effect, or may still do so.
func (s *backend) write(ctx context.Context, what string, f func(ctx context.Context, conn *pgxpool.Conn, again bool) error) error {
	return s.persist(ctx, what, true, func(again *bool) error { return s.attempt(ctx, again, f) })
}

// attempt is one attempt of write. It sets again if it may have taken effect.
func (s *backend) attempt(ctx context.Context, again *bool, f func(ctx context.Context, conn *pgxpool.Conn, again bool) error) error {
	from := ctx
	if *again {
		from = context.WithoutCancel(ctx) // whether it took effect must be determined
	}
	conn, err := s.acquire(from)
	if err != nil {
		return err
	}
	defer conn.Release()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.patient())
	defer cancel()
	err = f(ctx, conn, *again)
	if err == nil && *again {
		// The change of an earlier attempt can be visible although a synchronous standby
		// does not have it yet. This commit waits for both.
		err = touch(ctx, conn)
	}
	err = tag(ctx, conn, s.silent(ctx, err))
	if err != nil && judge(err) == unknown {
		*again = true
	}
	if refusesWrites(err) {
		s.writes.Failed(err) //nolint:contextcheck // the probing outlives the call
	}
	return err
}

// lostError is a failure that broke the connection.
type lostError struct{ error }

func (e *lostError) Unwrap() error { return e.error }

// tag marks a failure that broke the connection.
func tag(ctx context.Context, conn *pgxpool.Conn, err error) error {
	if err == nil {
		return nil
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "25006" {
		_ = conn.Conn().Close(ctx) // the next one may be to the new primary
	}
	if conn.Conn().IsClosed() {
		return &lostError{err}
	}
	return err
}

// refusesWrites reports that the database is available, but read-only: it is a
// standby, was made read-only, or its disk is full.
func refusesWrites(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return false
	}
	switch pg.Code {
	case "25006", "53100", "58030": // read-only, disk full, I/O error
		return true
	}
	return false
}

// outage returns the outage that concerns reads or writes; nil for none.
func (s *backend) outage(write bool) *sessionrt.Outage {
	if o := s.db.Outage(); o != nil || !write {
		return o
	}
	return s.writes.Outage()
}

// grace is the age of an outage up to which a new request waits for its end, so
// that a restart of the database is not noticed.
const grace = 750 * time.Millisecond

// persist repeats an attempt until it succeeds, or repeating is pointless. During
// an outage no call makes attempts: patient calls wait for its end, and others
// fail.
func (s *backend) persist(ctx context.Context, what string, write bool, try func(again *bool) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	again := executed(ctx)
	var give time.Time // set from the first failure on
	for backoff := (retry.Backoff{Wait: firstWait, Max: lastWait}); ; {
		o := s.outage(write)
		var err error
		if o == nil {
			if err = try(&again); err == nil {
				return nil
			}
			if judge(err) == final {
				return explain(what, err)
			}
			o = s.outage(write) // it may have begun with this failure
		} else {
			err = o.Err
		}
		if give.IsZero() {
			give = time.Now().Add(s.patient())
		}
		until := give
		if o != nil && !again && !session.Insists(ctx) {
			until = o.Since.Add(grace)
		}
		left := time.Until(until)
		if ctx.Err() != nil && !again || left <= 0 {
			return unavailable(what, err, again)
		}
		next, over := min(backoff.Next(), left), (<-chan struct{})(nil)
		if o != nil {
			next, over = left, o.Over
		}
		done := ctx.Done()
		if again {
			done = nil
		}
		timer := time.NewTimer(next)
		select {
		case <-timer.C:
		case <-over:
		case <-done:
		case <-s.life.Done():
			timer.Stop()
			return unavailable(what, err, again)
		}
		timer.Stop()
	}
}

// unavailable is the error of a call that was given up.
func unavailable(what string, err error, doubt bool) error {
	return &session.UnavailableError{Cause: fmt.Errorf("%s: %w", what, err), Doubt: doubt}
}

// explain adds what was attempted. Errors that callers act on stay unchanged.
func explain(what string, err error) error {
	if isSentinel(err) {
		return err
	}
	if _, away := errors.AsType[*elsewhereError](err); away {
		return unavailable(what, err, false)
	}
	return fmt.Errorf("%s: %w", what, err)
}
