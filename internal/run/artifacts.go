package run

import (
	"context"

	"github.com/parley-run/parley/internal/artifact"
	"github.com/parley-run/parley/internal/session"
)

// filesOf is where the files of a session are.
func filesOf(key session.Key) artifact.Place {
	return artifact.Place{App: key.App, User: key.User, Session: key.ID}
}

// discard removes the files of sessions that are gone. What cannot be removed
// now is tried again with the next ones. Only one goroutine calls it.
func (e *Engine) discard(ctx context.Context, gone []session.Key) {
	gone = append(e.discarded, gone...)
	e.discarded = nil
	for _, key := range gone {
		if _, err := e.store.Get(ctx, key, session.Read{NoEvents: true}); err == nil {
			continue // there is another one by now
		}
		if err := e.artifacts.Remove(ctx, filesOf(key)); err != nil {
			e.log.Warn("could not delete the artifacts of an old session", "app", key.App, "user", key.User, "session_id", key.ID, "err", err)
			e.discarded = append(e.discarded, key)
		}
	}
}
