package run

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/internal/price"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/session"
)

// DefaultMaxModelCalls is the default limit on the model calls of a run.
const DefaultMaxModelCalls = 100

// Options configures an Engine.
type Options struct {
	Store session.Store
	// Agent returns the root agent of an application. It fails with ErrUnknownApp,
	// or with an *AppError if the application does not work.
	Agent func(app string) (*agent.Agent, error)
	// Models creates the models that agents refer to by name; nil for none.
	Models func(name string) (model.Model, error)
	Log    *slog.Logger
	// MaxModelCalls per run; 0 for DefaultMaxModelCalls.
	MaxModelCalls int
	// Prices are those of models; nil if none are known.
	Prices *price.Table
	// Limits apply to callers and runs.
	Limits Limits
	// Bounds apply to what models and tools send.
	Bounds bounded.Limits
	// Lease is the duration of the store's leases. 0 means that no other process
	// uses the store.
	Lease time.Duration
	// TTL is how long sessions are kept after their last change; 0 means without
	// limit.
	TTL time.Duration
	// WaitTTL is how long a run waits for an answer; 0 means as long as its session
	// exists.
	WaitTTL time.Duration
	// Artifacts stores the files of sessions and users; nil if they are not
	// supported.
	Artifacts *artifact.Store
	// Logins provides the credentials of users; nil if logins are not supported.
	Logins Logins
	// MayAnswer reports whether the caller of a context may answer for a tool in a
	// session, with ErrNotAllowed if not; nil allows every caller.
	MayAnswer func(ctx context.Context, key session.Key, tool string) error
	// CredentialCall is the name of the call that asks users to log in; empty means
	// tool.CredentialCall.
	CredentialCall string
	// Peers reaches the other servers that share the store; nil if readers of their
	// runs get whole events only.
	Peers Peers
	// Observer receives the activity of runs; nil disables it.
	Observer Observer
	// Reached is called when a user has reached a budget of a day, at least once; nil
	// ignores it.
	Reached func(context.Context, Reached) error
	// Passive means that the engine only executes runs that are started with it: it
	// claims no others, and leaves the upkeep of the store to other processes.
	Passive bool
	// Edges returns what makes the calls of models and tools for a run; nil, or a nil
	// result, if they are made directly.
	Edges func(Beginning) Edges
	// Now is the clock for the timestamps of events; nil means time.Now. Leases use
	// the clock of the store.
	Now func() time.Time
}

// Engine starts runs and executes them until they end.
type Engine struct {
	cfg     Options
	appends StoreObserver // nil unless appends are measured
	turns   *registry
	quota   quota
	workers *workers
	upkeep  *upkeep

	unlinked atomic.Int64 // how often a mirror could not follow its server
}

// NewEngine creates an engine. The caller must shut it down.
func NewEngine(o Options) *Engine {
	if o.MaxModelCalls == 0 {
		o.MaxModelCalls = DefaultMaxModelCalls
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	e := &Engine{cfg: o, turns: newRegistry(o.Limits.ofDay()), workers: newWorkers()}
	e.appends, _ = o.Observer.(StoreObserver)
	e.upkeep = newUpkeep(e)
	e.upkeep.start()
	return e
}

// newRun returns the request to the store.
func (e *Engine) newRun(req *Request) session.NewRun {
	run := session.NewRun{
		ID: req.ID, Key: req.Key, Busy: req.Busy, IdempotencyKey: req.IdempotencyKey, Fingerprint: req.Fingerprint, MaxQueue: e.cfg.Limits.Queue,
	}
	if run.Busy == "" {
		run.Busy = session.Enqueue
	}
	return run
}

// handle returns the handle of a stored run.
func (e *Engine) handle(row *session.Run, repeat bool) *Run {
	return &Run{engine: e, key: row.Key, id: row.ID, row: row, turn: e.turns.find(row.Key, row.ID), Repeat: repeat}
}

// interrupt ends the runs before another one that are active here. The store has
// already recorded that; other processes are notified by the store.
func (e *Engine) interrupt(by *session.Run, policy session.Policy) {
	stop := interruption{by: by.Number, how: session.StopCancel}
	if policy == session.Rollback {
		stop.how = session.StopRollback
	}
	for _, t := range e.turns.ofSession(by.Key.Hint()) {
		if t.req.Key == by.Key {
			t.interrupt(stop)
		}
	}
	e.turns.wake(by.Key.Hint()) // wake the readers of queued runs
}

// Shutdown refuses new runs and waits for active ones until ctx is done. Then it
// hands the rest over to the processes that share the store, or cancels them if the
// store is not shared. It returns when the last run has ended here.
func (e *Engine) Shutdown(ctx context.Context) {
	if e.turns.close() {
		defer func() {
			e.upkeep.stop()
			e.turns.mirrored.Wait()
			e.workers.stop()
		}()
	}
	e.turns.wake(0)
	idle := make(chan struct{})
	go func() {
		e.turns.wg.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
		cause := errShutdown
		if e.cfg.Lease != 0 {
			cause = errHandOver
		}
		e.turns.finish(cause) // including runs that are about to be claimed
		e.upkeep.stopClaiming()
		for _, t := range e.turns.all() {
			t.stop(cause)
		}
		<-idle
	}
}

// Ready returns the reason why no run can be started now, or nil.
func (e *Engine) Ready(ctx context.Context) error {
	if e.Closing() {
		return ErrClosing
	}
	return e.cfg.Store.Ready(ctx)
}

// Closing reports whether Shutdown has begun.
func (e *Engine) Closing() bool { return e.turns.closed() }
