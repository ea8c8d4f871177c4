package run

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/session"
)

// DefaultMaxModelCalls ends a run that keeps calling models.
const DefaultMaxModelCalls = 100

// remembered is how many ended runs an engine can still tell about.
const remembered = 4096

// Options of an Engine.
type Options struct {
	Store session.Store
	// Agent finds the root agent of an application. It fails with
	// ErrUnknownApp, or with an *AppError when the application does not work.
	Agent func(app string) (*agent.Agent, error)
	Log   *slog.Logger
	// MaxModelCalls per run; 0 for DefaultMaxModelCalls.
	MaxModelCalls int
}

// Engine starts runs and looks after them until they end.
type Engine struct {
	store session.Store
	agent func(string) (*agent.Agent, error)
	log   *slog.Logger
	calls int64

	wg sync.WaitGroup // one for every run that is active

	// Agents need a deep stack. Goroutines that have grown one wait for more
	// work, as long as there are not too many of them.
	work    chan func()
	idle    atomic.Int32
	stopped chan struct{}

	mu      sync.Mutex
	lanes   map[session.Key]*lane
	runs    map[string]*Run
	ended   []string // the ids of ended runs in runs, the oldest first
	closing bool
}

// lane is where the runs of one session wait for each other. It exists while
// there is one.
type lane struct {
	active *Run
	queue  []*Run
}

// NewEngine makes an engine. It has to be shut down.
func NewEngine(o Options) *Engine {
	e := &Engine{
		store: o.Store, agent: o.Agent, log: o.Log, calls: int64(o.MaxModelCalls),
		lanes: map[session.Key]*lane{}, runs: map[string]*Run{},
		work: make(chan func()), stopped: make(chan struct{}),
	}
	if e.calls == 0 {
		e.calls = DefaultMaxModelCalls
	}
	return e
}

// Start starts a run. If the session is free it has begun when Start returns,
// and a message that cannot be accepted is an error: a *wire.Error when no user
// can send it, else ErrUnknownApp, session.ErrNotFound, ErrUnknownCall,
// ErrAnswered or ErrClosing. If the
// session is busy the run stands in line, and the same refusals come with
// Admitted.
//
// The run does not end with ctx.
func (e *Engine) Start(ctx context.Context, req Request) (*Run, error) {
	if err := checkMessage(req.Message); err != nil {
		return nil, err
	}
	root, err := e.agent(req.Key.App)
	if err != nil {
		return nil, err
	}
	r := &Run{
		engine: e, req: req, root: root, id: event.NewInvocationID(),
		admitted: make(chan struct{}), done: make(chan struct{}),
	}
	r.detached = context.WithoutCancel(ctx)
	r.ctx, r.cancel = context.WithCancelCause(r.detached)
	if req.Stream {
		r.first = r.feed.follow()
	}
	r.info = Info{ID: r.id, Key: req.Key, Status: Queued, Created: time.Now()}

	e.mu.Lock()
	if e.closing {
		e.mu.Unlock()
		return nil, ErrClosing
	}
	e.wg.Add(1)
	e.runs[r.id] = r
	if l := e.lanes[req.Key]; l != nil {
		l.queue = append(l.queue, r)
		e.mu.Unlock()
		return r, nil
	}
	e.lanes[req.Key] = &lane{active: r}
	e.mu.Unlock()

	if err := r.admit(); err != nil {
		r.end(err)
		return nil, err
	}
	e.do(r.work)
	return r, nil
}

// maxIdle is how many goroutines wait for work.
const maxIdle = 64

// do runs job on a goroutine of the engine's.
func (e *Engine) do(job func()) {
	select {
	case e.work <- job:
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
		case job = <-e.work:
			e.idle.Add(-1)
		case <-e.stopped:
			return
		}
	}
}

// next gives the session to the run that waits longest. A run that was refused
// is forgotten: it never was.
func (e *Engine) next(r *Run, refused bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if refused {
		delete(e.runs, r.id)
	} else {
		e.ended = append(e.ended, r.id)
	}
	for len(e.ended) > remembered {
		delete(e.runs, e.ended[0])
		e.ended = e.ended[1:]
	}
	l := e.lanes[r.req.Key]
	if l == nil || l.active != r {
		return // it was cancelled in the queue
	}
	if len(l.queue) == 0 {
		delete(e.lanes, r.req.Key)
		return
	}
	l.active, l.queue = l.queue[0], l.queue[1:]
	e.do(l.active.begin)
}

// dequeue takes a run out of its line and reports whether it was in one.
func (e *Engine) dequeue(r *Run) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.lanes[r.req.Key]
	if l == nil {
		return false
	}
	i := slices.Index(l.queue, r)
	if i < 0 {
		return false
	}
	l.queue = slices.Delete(l.queue, i, i+1)
	return true
}

// Run finds a run by its id. Runs that ended long ago are forgotten.
func (e *Engine) Run(id string) (*Run, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	r, ok := e.runs[id]
	return r, ok
}

// List describes the runs of a session that are remembered, the newest first.
func (e *Engine) List(key session.Key) []Info {
	e.mu.Lock()
	var found []*Run
	for _, r := range e.runs {
		if r.req.Key == key {
			found = append(found, r)
		}
	}
	e.mu.Unlock()
	infos := make([]Info, len(found))
	for i, r := range found {
		infos[i] = r.Info()
	}
	slices.SortFunc(infos, func(a, b Info) int { return b.Created.Compare(a.Created) })
	return infos
}

// Shutdown takes no more runs, lets those that are active end until ctx is
// done, and then cancels them. It returns when the last one has ended.
func (e *Engine) Shutdown(ctx context.Context) {
	e.mu.Lock()
	again := e.closing
	e.closing = true
	e.mu.Unlock()
	if !again {
		defer close(e.stopped)
	}
	idle := make(chan struct{})
	go func() {
		e.wg.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-ctx.Done():
		for _, r := range e.unfinished() {
			r.stop(errShutdown)
		}
		<-idle
	}
}

// Closing reports whether Shutdown has begun.
func (e *Engine) Closing() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closing
}

func (e *Engine) unfinished() []*Run {
	e.mu.Lock()
	defer e.mu.Unlock()
	var found []*Run
	for _, l := range e.lanes {
		found = append(append(found, l.queue...), l.active)
	}
	return found
}
