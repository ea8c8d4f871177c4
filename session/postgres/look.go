package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/session"
)

const (
	sqlLook  = `SELECT ordinal, busy, queued FROM parley_sessions WHERE digest = $1`
	sqlTaken = `SELECT EXISTS (SELECT FROM parley_runs WHERE session = $1 AND id = $2::text)`
)

// Look implements session.Runs.
func (s *backend) Look(ctx context.Context, run session.NewRun) (found *session.Run, err error) {
	b := s.beginning(ctx, run)
	err = s.read(ctx, "looking at the runs of a session", func(ctx context.Context, conn *pgxpool.Conn) error {
		found, err = b.look(ctx, conn)
		return err
	})
	return found, err
}

func (b *beginning) look(ctx context.Context, conn *pgxpool.Conn) (*session.Run, error) {
	digest := b.Key.Digest()
	var ordinal, queued int64
	var busy bool
	err := conn.QueryRow(ctx, sqlLook, digest[:]).Scan(&ordinal, &busy, &queued)
	switch {
	case none(err):
		return nil, session.ErrNotFound
	case err != nil:
		return nil, fmt.Errorf("reading a session: %w", err)
	}
	if b.idem != nil {
		if begun, err := b.repeat(ctx, conn, ordinal); err != nil {
			return nil, err
		} else if begun != nil {
			return begun.Run, nil
		}
	}
	if busy || queued > 0 {
		if err := b.mayWait(ctx, conn, ordinal, queued); err != nil {
			return nil, err
		}
	}
	var taken bool
	err = conn.QueryRow(ctx, sqlTaken, ordinal, b.ID).Scan(&taken)
	if err == nil && taken {
		err = session.ErrRunExists
	}
	return nil, err
}

// mayWait refuses a run according to its policy and the queue.
func (b *beginning) mayWait(ctx context.Context, db querier, ordinal, queued int64) error {
	switch b.Busy {
	case session.Reject:
		var id string
		err := db.QueryRow(ctx, sqlFirstOpen, ordinal).Scan(&id)
		if err != nil {
			return fmt.Errorf("finding the run that a session is busy with: %w", err)
		}
		return &session.BusyError{Run: id}
	case session.Interrupt, session.Rollback:
	default:
		if b.MaxQueue > 0 && queued >= int64(b.MaxQueue) {
			return session.ErrQueueFull
		}
	}
	return nil
}
