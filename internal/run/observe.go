package run

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/session"
)

// Observer receives what runs and their agents do, for traces and metrics. It must
// be safe for concurrent use, and must not block.
type Observer interface {
	agentrt.Observer
	// Mark returns what is stored with a run of a session, so that the process
	// that works on the run continues the trace of ctx. It may be empty.
	Mark(ctx context.Context, key session.Key) string
	// Work is told that a run is worked on here, and returns the context to do
	// that in. finished, unless it is nil, is called when that is over, with what
	// became of the run, and before anybody else hears that it is over.
	Work(ctx context.Context, w *Work) (_ context.Context, finished func(session.Status, *session.Failure))
	// Ended is told that a run has ended here, or was left to others.
	Ended(run *session.Run, lost bool)
	// Appended is told how long it took to store something, and whether it was.
	Appended(took time.Duration, err error)
	// Login is told what has become of a login: LoginRequested, LoginCompleted
	// or LoginFailed.
	Login(outcome string)
	// Forgotten is told that sessions were deleted: nothing of them may be found
	// any more, not even in new sessions with the same names.
	Forgotten(keys ...session.Key)
}

// What becomes of logins.
const (
	LoginRequested = "requested"
	LoginCompleted = "completed"
	LoginFailed    = "failed"
)

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

// trace connects a turn with its observer.
type trace struct {
	work   Work
	ctx    context.Context //nolint:containedctx // of the turn, within the trace; set when begun is
	begun  atomic.Bool
	finish finished // guarded by turn.mu; nil when the observer does not want to be told
}

// finished tells an observer how a run stands when it has been worked on.
type finished func(session.Status, *session.Failure)

// observed is t.ctx within the trace that the run belongs to.
func (t *turn) observed() context.Context {
	o := t.engine.cfg.Observer
	if o == nil {
		return t.ctx
	}
	t.mu.Lock()
	t.trace.work = Work{Key: t.req.Key, Run: t.id, Mark: t.req.Mark, Attempt: t.row.Attempt, Resumes: t.row.Resumes}
	t.mu.Unlock()
	ctx, finished := o.Work(t.ctx, &t.trace.work)
	t.trace.ctx = ctx //nolint:fatcontext // it is set once, and ends with the turn
	t.trace.begun.Store(true)
	t.mu.Lock()
	ended, status, failure := t.ended, t.row.Status, t.row.Failure
	t.trace.finish = finished
	t.mu.Unlock()
	if ended && finished != nil { // it was ended by force meanwhile
		finished(status, failure)
	}
	return ctx
}

// logger writes what belongs to the run, and to its trace.
func (t *turn) logger() *slog.Logger {
	ctx := t.recorder.ctx
	if t.trace.begun.Load() {
		ctx = t.trace.ctx
	}
	log := slog.New(within{t.engine.cfg.Log.Handler(), ctx})
	return log.With("run_id", t.id, "app", t.req.Key.App, "user", t.req.Key.User, "session_id", t.req.Key.ID)
}

// within writes lines with a context of its own.
type within struct {
	slog.Handler
	ctx context.Context //nolint:containedctx // of the run, whose lines these are
}

func (w within) Handle(_ context.Context, line slog.Record) error {
	return w.Handler.Handle(w.ctx, line)
}

func (w within) WithAttrs(attrs []slog.Attr) slog.Handler {
	return within{w.Handler.WithAttrs(attrs), w.ctx}
}

func (w within) WithGroup(name string) slog.Handler {
	return within{w.Handler.WithGroup(name), w.ctx}
}

// observeLogin tells the observer what has become of a login.
func (t *turn) observeLogin(outcome string) {
	if t.engine.cfg.Observer != nil {
		t.engine.cfg.Observer.Login(outcome)
	}
}

// forgotten tells the observer that sessions were deleted.
func (e *Engine) forgotten(keys ...session.Key) {
	if e.cfg.Observer != nil && len(keys) > 0 {
		e.cfg.Observer.Forgotten(keys...)
	}
}

// Running is how many runs are worked on here.
func (e *Engine) Running() int { return e.turns.len() }
