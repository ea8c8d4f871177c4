package run

import (
	"context"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/session"
)

// Observer hears what runs and their agents do, for traces and metrics. It must
// be safe for concurrent use, and must not keep anybody waiting.
type Observer interface {
	agent.Observer
	// Mark is what is stored with a run of a session, so that whoever works on
	// it goes on with the trace that ctx is part of. It may be empty.
	Mark(ctx context.Context, key session.Key) string
	// Work is told that a run is worked on here, and returns the context to do
	// that in. finished is called with the run as it is when that is over.
	Work(ctx context.Context, w Work) (_ context.Context, finished func(*session.Run))
	// Ended is told that a run has ended here, or was left to others.
	Ended(run *session.Run, lost bool)
}

// Work is what there is to do.
type Work struct {
	Key session.Key
	Run string
	// Mark is what Mark has given when the run was asked for.
	Mark string
	// Attempt counts those who have worked on the run. Resumes is the run whose
	// wait it ends, if any.
	Attempt int
	Resumes string
}

// observed is t.ctx within the trace that the run belongs to, and what to call
// when it has been worked on.
func (t *task) observed() (_ context.Context, finished func()) {
	o := t.engine.observer
	if o == nil {
		return t.ctx, func() {}
	}
	t.mu.Lock()
	work := Work{Key: t.req.Key, Run: t.id, Mark: t.req.Mark, Attempt: t.row.Attempt, Resumes: t.row.Resumes}
	t.mu.Unlock()
	ctx, done := o.Work(t.ctx, work)
	return ctx, func() {
		t.mu.Lock()
		row := t.row
		t.mu.Unlock()
		done(&row)
	}
}
