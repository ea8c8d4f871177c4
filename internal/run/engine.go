package run

import (
	"context"
	"log/slog"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/session"
)

// DefaultMaxModelCalls ends a run that keeps calling models.
const DefaultMaxModelCalls = 100

// Options of an Engine.
type Options struct {
	Store session.Store
	// Agent finds the root agent of an application. It fails with
	// ErrUnknownApp, or with an *AppError when the application does not work.
	Agent func(app string) (*agent.Agent, error)
	// Models makes the models that agents have by name only; nil for none.
	Models func(name string) (model.Model, error)
	Log    *slog.Logger
	// MaxModelCalls per run; 0 for DefaultMaxModelCalls.
	MaxModelCalls int
	// Limits are for callers and runs.
	Limits Limits
	// Bounds are for what models and tools send.
	Bounds bounded.Limits
	// Lease is the length of the store's leases. 0 means that no other
	// process uses the store.
	Lease time.Duration
	// TTL is how long sessions are kept after their last change; 0 for ever.
	TTL time.Duration
	// WaitTTL is how long a run waits for an answer; 0 for as long as there is
	// its session.
	WaitTTL time.Duration
	// Artifacts keeps the files of sessions and users; nil if there can be none.
	Artifacts *artifact.Store
	// Logins are the credentials of users; nil if there can be none.
	Logins Logins
	// CredentialCall is the name of the call with which users are asked to log
	// in; empty for agent.CredentialCall.
	CredentialCall string
	// Observer receives what runs do; nil disables it.
	Observer Observer
	// Now is the clock that events are stamped with; nil for time.Now. Leases
	// go by the store's.
	Now func() time.Time
}

// Engine starts runs and works on them until they end.
type Engine struct {
	cfg     Options
	turns   *registry
	quota   quota
	workers *workers
	upkeep  *upkeep
}

// NewEngine makes an engine. It must be shut down.
func NewEngine(o Options) *Engine {
	if o.MaxModelCalls == 0 {
		o.MaxModelCalls = DefaultMaxModelCalls
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	e := &Engine{cfg: o, turns: newRegistry(), workers: newWorkers()}
	e.upkeep = newUpkeep(e)
	e.upkeep.start()
	return e
}

// newRun is what a request asks of the store.
func (e *Engine) newRun(req *Request) session.NewRun {
	run := session.NewRun{
		Key: req.Key, Busy: req.Busy, IdempotencyKey: req.IdempotencyKey, Fingerprint: req.Fingerprint, MaxQueue: e.cfg.Limits.Queue,
	}
	if run.Busy == "" {
		run.Busy = session.Enqueue
	}
	return run
}

// handle is the run of a row.
func (e *Engine) handle(row *session.Run, repeat bool) *Run {
	return &Run{engine: e, key: row.Key, id: row.ID, row: row, turn: e.turns.find(row.ID), Repeat: repeat}
}

// interrupt ends the runs before another one that are worked on here. The store
// has been told already; other processes hear of it from there.
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
	e.turns.wake(by.Key.Hint()) // the readers of runs that were queued
}

// Shutdown refuses new runs and lets those that are active end until ctx is done.
// What is still active then is handed over to the processes that share the store,
// or cancelled if the store is not shared. It returns when the last run has ended
// here.
func (e *Engine) Shutdown(ctx context.Context) {
	if e.turns.close() {
		defer func() {
			e.upkeep.stop()
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
		e.turns.finish(cause) // also runs that are about to be claimed
		e.upkeep.stopClaiming()
		for _, t := range e.turns.all() {
			t.stop(cause)
		}
		<-idle
	}
}

// Ready reports why no run can be started now.
func (e *Engine) Ready(ctx context.Context) error {
	if e.Closing() {
		return ErrClosing
	}
	return e.cfg.Store.Ready(ctx)
}

// Closing reports whether Shutdown has begun.
func (e *Engine) Closing() bool { return e.turns.closed() }
