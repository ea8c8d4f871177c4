package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// patience is how long a call goes on while the database is away, and how
	// long one try may take: where packets are swallowed nobody says that it is.
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
	unknown                // nobody can tell whether it was done
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

// with calls f with a connection.
func (s *Store) with(ctx context.Context, f func(context.Context, *pgxpool.Conn) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return tag(ctx, conn, f(ctx, conn))
}

// read calls f with a connection, again while the database is away.
func (s *Store) read(ctx context.Context, what string, f func(context.Context, *pgxpool.Conn) error) error {
	return s.persist(ctx, what, func(*bool) error {
		return s.with(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
			ctx, cancel := context.WithTimeout(ctx, s.patience)
			defer cancel()
			return f(ctx, conn)
		})
	})
}

// write is read for a change. Once it has begun it is not given up because the
// caller has: half an answer is none. again tells f that an earlier try may have
// been done, or may be done yet.
func (s *Store) write(ctx context.Context, what string, f func(ctx context.Context, conn *pgxpool.Conn, again bool) error) error {
	return s.persist(ctx, what, func(again *bool) error {
		from := ctx
		if *again {
			from = context.WithoutCancel(ctx) // somebody has to find out
		}
		conn, err := s.pool.Acquire(from)
		if err != nil {
			return err
		}
		defer conn.Release()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.patience)
		defer cancel()
		err = tag(ctx, conn, f(ctx, conn, *again))
		if err != nil && judge(err) == unknown {
			*again = true
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

// persist tries until it is done, or there is no point in going on.
func (s *Store) persist(ctx context.Context, what string, try func(again *bool) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	again := false
	var give time.Time // up, from the first failure on
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		err := try(&again)
		if err == nil {
			return nil
		}
		if judge(err) == final {
			return explain(what, err)
		}
		if give.IsZero() {
			give = time.Now().Add(s.patience)
		}
		if ctx.Err() != nil && !again || time.Now().After(give) {
			return explain(what, err)
		}
		done := ctx.Done()
		if again {
			done = nil
		}
		select {
		case <-time.After(wait/2 + rand.N(wait)): //nolint:gosec // that many do not come back at once
		case <-done:
			return explain(what, err)
		case <-s.life.Done():
			return explain(what, err)
		}
	}
}

// explain says what was attempted. What the caller can act on stays as it is.
func explain(what string, err error) error {
	if isSentinel(err) {
		return err
	}
	return fmt.Errorf("%s: %w", what, err)
}
