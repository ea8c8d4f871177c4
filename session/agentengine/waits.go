package agentengine

import (
	"context"

	"github.com/parley-run/parley/session"
)

// Expire implements session.Upkeep. The runs belong to this process; all processes
// share the log.
func (s *backend) Expire(ctx context.Context, key session.Key, seq int64, runs []string, failure *session.Failure, entries ...*session.Entry) error {
	m, release, err := s.hold(ctx, key)
	if err != nil {
		return err
	}
	defer release()
	if err := s.sync(ctx, m); err != nil {
		return err
	}
	known, err := s.Backend.Get(ctx, key, session.Read{NoEvents: true})
	if err != nil {
		return err
	}
	if _, busy := s.Holds(key); busy || known.Seq != seq {
		return session.ErrFenced
	}
	// The mirror is held, so nothing can change in between.
	return s.extend(ctx, m, entries, func() error { return s.Backend.Expire(ctx, key, seq, runs, failure, entries...) })
}
