package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/parley-run/parley/session"
)

// Look implements session.Runs.
func (s *backend) Look(ctx context.Context, req session.NewRun) (run *session.Run, err error) {
	err = s.read(ctx, func(c *conn) error {
		r, err := c.find(req.Key)
		if err != nil {
			return err
		}
		b, err := c.repeated(r, req)
		if err != nil {
			return err
		}
		if b != nil {
			run = b.Run
			return nil
		}
		busy, _, err := c.open(r)
		switch {
		case errors.Is(err, session.ErrRunNotFound): // it is free
		case err != nil:
			return err
		default:
			if err := c.mayWait(r, req, busy); err != nil {
				return err
			}
		}
		return c.idFree(r, req.ID)
	})
	if err != nil {
		return nil, fmt.Errorf("look at the runs: %w", err)
	}
	return run, nil
}

// idFree refuses the id of another run.
func (c *conn) idFree(r *row, id string) error {
	_, err := c.run(r.key, " FROM runs WHERE session = ? AND id = ?", []any{r.ordinal, id})
	switch {
	case err == nil:
		return session.ErrRunExists
	case errors.Is(err, session.ErrRunNotFound):
		return nil
	}
	return err
}

// mayWait refuses a run according to its policy and the queue.
func (c *conn) mayWait(r *row, req session.NewRun, busy *session.Run) error {
	switch req.Busy {
	case session.Reject:
		return &session.BusyError{Run: busy.ID}
	case session.Interrupt, session.Rollback:
		return nil
	default:
		return c.mayJoin(r, req.MaxQueue)
	}
}
