package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/internal/retry"
	"github.com/parley-run/parley/session"
)

const (
	// patience is how long a call goes on while the database is away, and how
	// long one try may take: where packets are dropped, there is no error.
	patience  = 15 * time.Second
	firstWait = 5 * time.Millisecond
	lastWait  = 250 * time.Millisecond
)

// errAgain means that what was read does not fit together because the session
// was deleted in between. The next try finds out what is there now.
var errAgain = errors.New("the session changed while it was read")

// verdict is what a failure says about what was tried.
type verdict int

const (
	final   verdict = iota // it failed, and would fail again
	undone                 // it was not done, and may be tried again
	unknown                // it may have been done
)

// judge reads a failure.
func judge(err error) verdict {
	if errors.Is(err, errAgain) {
		return undone
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch pg.Code {
		case "40001", "40P01", // serialization failure, deadlock
			"57P03", "53300", // the server is starting, or has too many clients
			"25006": // it has become a standby
			return undone
		case "57P01", "57P02", "57P05": // the server is shutting down
			return unknown
		}
		if pg.Code[:2] == "08" {
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

// acquire gets a connection. That none can be made is known from then on, and
// one goroutine tries on behalf of all.
func (s *backend) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	conn, err := s.pool.Acquire(ctx)
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok && !crowded(err) {
		s.db.Failed(err) //nolint:contextcheck // the probing outlives the call
	}
	return conn, err
}

// crowded reports that the server is there, and has no connection to spare.
func crowded(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pg.Code == "53300"
}

// with calls f with a connection.
func (s *backend) with(ctx context.Context, f func(context.Context, *pgxpool.Conn) error) error {
	conn, err := s.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return tag(ctx, conn, f(ctx, conn))
}

// read calls f with a connection, again while the database is away.
func (s *backend) read(ctx context.Context, what string, f func(context.Context, *pgxpool.Conn) error) error {
	return s.persist(ctx, what, false, func(*bool) error {
		return s.with(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
			ctx, cancel := context.WithTimeout(ctx, s.patience)
			defer cancel()
			return s.silent(ctx, f(ctx, conn))
		})
	})
}

// silent looks whether the database has let the time of ctx, which is the
// longest that a try may take, pass without an answer.
func (s *backend) silent(ctx context.Context, err error) error {
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		s.db.Failed(err) //nolint:contextcheck // the probing outlives the call
	}
	return err
}

// write is read for a change. Once it has begun it is not given up because the
// caller has: half an answer is none. again tells f that an earlier try may have
// been done, or may be done yet.
func (s *backend) write(ctx context.Context, what string, f func(ctx context.Context, conn *pgxpool.Conn, again bool) error) error {
	return s.persist(ctx, what, true, func(again *bool) error {
		from := ctx
		if *again {
			from = context.WithoutCancel(ctx) // whether it was done must be found out
		}
		conn, err := s.acquire(from)
		if err != nil {
			return err
		}
		defer conn.Release()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.patience)
		defer cancel()
		err = tag(ctx, conn, s.silent(ctx, f(ctx, conn, *again)))
		if err != nil && judge(err) == unknown {
			*again = true
		}
		if refusesWrites(err) {
			s.writes.Failed(err) //nolint:contextcheck // the probing outlives the call
		}
		return err
	})
}

// lostError is a failure that the connection did not survive.
type lostError struct{ error }

func (e *lostError) Unwrap() error { return e.error }

// tag marks a failure that the connection did not survive.
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

// refusesWrites reports that the database is there, and stores nothing: it is a
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

// outage is that of what is needed to read, or to write; nil for none.
func (s *backend) outage(write bool) *session.Outage {
	if o := s.db.Outage(); o != nil || !write {
		return o
	}
	return s.writes.Outage()
}

// grace is how long an outage may have lasted for a new request to wait for its
// end: a restart of the database need not be noticed.
const grace = 750 * time.Millisecond

// persist tries until it is done, or there is no point in going on. During an
// outage no call tries: patient calls wait for its end, and others fail.
func (s *backend) persist(ctx context.Context, what string, write bool, try func(again *bool) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	again := false
	var give time.Time // up, from the first failure on
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
			give = time.Now().Add(s.patience)
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

// unavailable is the failure of what was given up.
func unavailable(what string, err error, doubt bool) error {
	return &session.UnavailableError{Cause: fmt.Errorf("%s: %w", what, err), Doubt: doubt}
}

// explain says what was attempted. What the caller can act on stays as it is.
func explain(what string, err error) error {
	if isSentinel(err) {
		return err
	}
	if refusesWrites(err) {
		return unavailable(what, err, false)
	}
	return fmt.Errorf("%s: %w", what, err)
}
