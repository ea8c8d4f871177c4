package run

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
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
	// Lease is the length of the store's leases. 0 means that the store is this
	// process's own: nobody can take a run over, and nobody else changes one.
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
	// Observer hears what runs do; nil if nobody wants to know.
	Observer Observer
	// Now is the clock that events are stamped with; nil for time.Now. Leases
	// go by the store's.
	Now func() time.Time
}

// Engine starts runs and looks after them until they end.
type Engine struct {
	store  session.Store
	agent  func(string) (*agent.Agent, error)
	models func(string) (model.Model, error)
	log    *slog.Logger
	calls  int64
	lease  time.Duration
	logins Logins
	asking string // the name of the call that asks for a login
	ttl    time.Duration
	now    func() time.Time
	limits Limits
	bounds bounded.Limits
	ledger ledger

	waitTTL time.Duration
	waited  *session.Run // the last one that waits and that upkeep has seen to

	observer Observer // may be nil

	artifacts *artifact.Store
	discarded []session.Key // sessions that are gone, and their files not

	wg sync.WaitGroup // one for every task

	// Agents need a deep stack. Goroutines that have grown one wait for more
	// work, as long as there are not too many of them.
	jobs    chan func()
	idle    atomic.Int32
	stopped chan struct{}

	upkeep   context.Context // ends with the engine
	cancel   context.CancelFunc
	claiming context.Context // ends when no run can begin any more
	giveUp   context.CancelFunc
	kept     sync.WaitGroup // the goroutines of upkeep
	sweeping sync.Once

	mu      sync.Mutex
	tasks   map[string]*task     // runs that are worked on here, by their id
	claims  map[session.Key]int  // sessions of which a run is about to be one of them
	readers map[*Reader]struct{} // of runs that are not
	closing bool
	over    error // why runs that are still active end, once they do
}

// NewEngine makes an engine. It has to be shut down.
func NewEngine(o Options) *Engine {
	e := &Engine{
		store: o.Store, agent: o.Agent, log: o.Log, calls: int64(o.MaxModelCalls), lease: o.Lease, ttl: o.TTL, waitTTL: o.WaitTTL, now: o.Now,
		models: o.Models, logins: o.Logins, asking: o.CredentialCall, artifacts: o.Artifacts, limits: o.Limits, bounds: o.Bounds, observer: o.Observer,
		tasks: map[string]*task{}, claims: map[session.Key]int{}, readers: map[*Reader]struct{}{},
		jobs: make(chan func()), stopped: make(chan struct{}),
	}
	if e.calls == 0 {
		e.calls = DefaultMaxModelCalls
	}
	if e.now == nil {
		e.now = time.Now
	}
	e.upkeep, e.cancel = context.WithCancel(session.Insist(context.Background()))
	e.claiming, e.giveUp = context.WithCancel(e.upkeep)
	e.startUpkeep()
	return e
}

// newRun is what a request asks of the store.
func (e *Engine) newRun(req *Request) session.NewRun {
	run := session.NewRun{
		Key: req.Key, Busy: req.Busy, IdempotencyKey: req.IdempotencyKey, Fingerprint: req.Fingerprint, MaxQueue: e.limits.Queue,
	}
	if run.Busy == "" {
		run.Busy = session.Enqueue
	}
	return run
}

// enter takes a task in, unless the engine is closing.
func (e *Engine) enter(t *task) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closing {
		return ErrClosing
	}
	if e.tasks[t.id] != nil {
		return ErrRunExists
	}
	if err := e.crowded(t); err != nil {
		return err
	}
	e.wg.Add(1)
	e.tasks[t.id] = t
	return nil
}

// leave forgets a task. Readers go on with what is stored.
func (e *Engine) leave(t *task) {
	e.mu.Lock()
	if e.tasks[t.id] == t { // a run that stood in line may have been claimed already
		delete(e.tasks, t.id)
	}
	e.mu.Unlock()
	e.wg.Done()
}

// handle is the run of a row.
func (e *Engine) handle(row *session.Run, repeat bool) *Run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return &Run{engine: e, key: row.Key, id: row.ID, row: row, task: e.tasks[row.ID], Repeat: repeat}
}

// interrupt ends the run that another one does not want to wait for, if it is
// worked on here. The store has been told already; who works on it elsewhere
// hears of it from there.
func (e *Engine) interrupt(by *session.Run, how session.Policy) {
	stop := session.StopCancel
	if how == session.Rollback {
		stop = session.StopRollback
	}
	e.mu.Lock()
	var found []*task
	for _, t := range e.tasks {
		if t.req.Key == by.Key {
			found = append(found, t)
		}
	}
	e.mu.Unlock()
	for _, t := range found {
		if t.before(by) {
			t.halt(stop)
		}
	}
	e.wakeReaders(by.Key.Hint()) // those of runs that were in line
}

// maxIdle is how many goroutines wait for work.
const maxIdle = 64

// do runs job on a goroutine of the engine's.
func (e *Engine) do(job func()) {
	select {
	case e.jobs <- job:
	default:
		go e.worker(job)
	}
}

func (e *Engine) worker(job func()) {
	for {
		job()
		if e.idle.Add(1) > maxIdle {
			e.idle.Add(-1)
			return
		}
		select {
		case job = <-e.jobs:
			e.idle.Add(-1)
		case <-e.stopped:
			return
		}
	}
}

// Shutdown takes no more runs and lets those that are active end until ctx is
// done. What is still active then is handed over to whoever shares the store,
// and cancelled if nobody does. It returns when the last one has ended here.
func (e *Engine) Shutdown(ctx context.Context) {
	e.mu.Lock()
	again := e.closing
	e.closing = true
	e.mu.Unlock()
	if !again {
		defer func() {
			e.cancel()
			e.kept.Wait()
			close(e.stopped)
		}()
	}
	e.wakeReaders(0)
	idle := make(chan struct{})
	go func() {
		e.wg.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
		cause := errShutdown
		if e.lease != 0 {
			cause = errHandOver
		}
		e.mu.Lock()
		e.over = cause // also of runs that are about to be claimed
		e.mu.Unlock()
		e.giveUp()
		for _, t := range e.active() {
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
	return e.store.Ready(ctx)
}

// Closing reports whether Shutdown has begun.
func (e *Engine) Closing() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closing
}

// active are the runs that are worked on here.
func (e *Engine) active() []*task {
	e.mu.Lock()
	defer e.mu.Unlock()
	found := make([]*task, 0, len(e.tasks))
	for _, t := range e.tasks {
		found = append(found, t)
	}
	return found
}
