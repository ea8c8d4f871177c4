package run

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// Observer receives the activity of runs and their agents, for traces and metrics.
// It must be safe for concurrent use, and must not block.
type Observer interface {
	agentrt.Observer
	// Mark returns a value that is stored with a run of a session, so that the
	// process that executes the run continues the trace of ctx. It may be empty.
	Mark(ctx context.Context, key session.Key) string
	// Work is called when this process starts to work on a run, and returns the
	// context for that. finished, unless nil, is called with the outcome when the
	// work is over, before anything else is notified of it.
	Work(ctx context.Context, w *Work) (_ context.Context, finished func(session.Status, *session.Failure))
	// Ended is called when a run has ended here, or was left to another process.
	Ended(run *session.Run, lost bool)
	// Spent is called with the usage of calls of models that were made for an
	// application outside of its runs.
	Spent(app string, models []session.ModelUsage)
	// Login is called with the outcome of a login: LoginRequested, LoginCompleted
	// or LoginFailed.
	Login(outcome string)
	// CostWarning is called when a user of an application has reached
	// Limits.WarnDayCost.
	CostWarning(app string)
	// Forgotten is called when sessions were deleted. The observer must drop
	// everything about them, so that new sessions with the same names do not show
	// it.
	Forgotten(keys ...session.Key)
}

// StoreObserver is an Observer that also measures the store. It is separate, because
// reading the clock twice for each append is measurable (BenchmarkRun in package bench).
type StoreObserver interface {
	// Appended is called with the duration and the result of an append to the
	// store.
	Appended(took time.Duration, err error)
}

// The outcomes of logins.
const (
	LoginRequested = "requested"
	LoginCompleted = "completed"
	LoginFailed    = "failed"
)

// Edges makes the calls of models and tools of one run.
type Edges interface {
	agentrt.Edges
	// Done is called when the agents have returned, before the run ends.
	Done()
}

// Ordered are edges that also choose when events are stored.
type Ordered interface {
	// Emit calls store with an event of the agents, perhaps after those of others.
	Emit(ctx context.Context, ev *event.Event, store func(*event.Event) error) error
}

// Beginning is a run whose agents begin.
type Beginning struct {
	Work
	// Tools are those of the client.
	Tools []tool.Declaration
	// Log is that of the run. It has the message already.
	Log Log
	// Secrets removes the secrets of the run; nil if there are none.
	Secrets agentrt.Secrets
}

// Log is the session as the agents of a run see it.
type Log interface {
	agentrt.Log
	// Shared returns a copy of the state that the session shares with others; nil if
	// there is none.
	Shared() session.State
	// Own appends the events of the run so far to a slice, and returns the index of the
	// first.
	Own(to []*event.Event) (first int, events []*event.Event)
}

// Work describes a run that this process starts to work on.
type Work struct {
	Key session.Key
	Run string
	// Mark is the result of Observer.Mark for the request.
	Mark string
	// Attempt counts the workers on the run. Resumes is the run whose wait it ends,
	// if any.
	Attempt int
	Resumes string
	// Queued is how long the run was queued; 0 if it was not.
	Queued time.Duration
}

// trace connects a turn with its observer.
type trace struct {
	work   Work
	queued time.Duration   // before the work began
	ctx    context.Context //nolint:containedctx // of the turn, within the trace; set when begun is
	begun  atomic.Bool
	finish finished // guarded by turn.mu; nil if the observer does not need it
}

// finished calls an observer with the state of a run that is over.
type finished func(session.Status, *session.Failure)

// observed returns t.ctx within the trace that the run belongs to.
func (t *turn) observed() context.Context {
	o := t.engine.cfg.Observer
	if o == nil {
		return t.ctx
	}
	t.mu.Lock()
	t.trace.work = Work{Key: t.req.Key, Run: t.id, Mark: t.req.Mark, Attempt: t.row.Attempt, Resumes: t.row.Resumes, Queued: t.trace.queued}
	t.mu.Unlock()
	ctx, finished := o.Work(t.ctx, &t.trace.work)
	t.trace.ctx = ctx //nolint:fatcontext // it is set once, and ends with the turn
	t.trace.begun.Store(true)
	t.mu.Lock()
	ended, status, failure := t.ended, t.row.Status, t.row.Failure
	t.trace.finish = finished
	t.mu.Unlock()
	if ended && finished != nil { // it was ended by force in the meantime
		finished(status, failure)
	}
	return ctx
}

// mark returns what the Observer knows the trace of the run by; empty if it has none.
func (t *turn) mark() string {
	if t.engine.cfg.Observer == nil || !t.trace.begun.Load() {
		return ""
	}
	return t.engine.cfg.Observer.Mark(t.trace.ctx, t.req.Key)
}

// logger returns a logger with the ids of the run and of its trace.
func (t *turn) logger() *slog.Logger {
	ctx := t.recorder.ctx
	if t.trace.begun.Load() {
		ctx = t.trace.ctx
	}
	log := slog.New(within{t.engine.cfg.Log.Handler(), ctx})
	return log.With("run_id", t.id, "app", t.req.Key.App, "user", t.req.Key.User, "session_id", t.req.Key.ID)
}

// within adds a fixed context to log lines.
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

// observeLogin notifies the observer of the outcome of a login.
func (t *turn) observeLogin(outcome string) {
	if t.engine.cfg.Observer != nil {
		t.engine.cfg.Observer.Login(outcome)
	}
}

// forgotten notifies the observer of deleted sessions.
func (e *Engine) forgotten(keys ...session.Key) {
	if e.cfg.Observer != nil && len(keys) > 0 {
		e.cfg.Observer.Forgotten(keys...)
	}
}

// Running returns the number of active runs on this server.
func (e *Engine) Running() int { return e.turns.len() }

// edges returns what makes the calls of the run; nil if they are made directly.
func (t *turn) edges(log *log) Edges {
	if t.engine.cfg.Edges == nil {
		return nil
	}
	t.mu.Lock()
	w := Work{Key: t.req.Key, Run: t.id, Attempt: t.row.Attempt, Resumes: t.row.Resumes}
	t.mu.Unlock()
	b := Beginning{Work: w, Tools: t.req.Tools, Log: log}
	if t.creds != nil {
		b.Secrets = t.creds
	}
	return t.engine.cfg.Edges(b)
}
