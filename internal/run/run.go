// Package run is the life of a turn.
//
// A run is an object of its own. It is started by a message, owns its session's
// log while it works, and ends visibly, whether or not anybody watches:
//
//	queued ──▶ running ──▶ completed | failed | cancelled
//	                  └──▶ waiting   (for an answer from outside; the answer
//	                                  starts a new run that resumes it)
//
// At most one run of a session is active. Later messages stand in line, in the
// order in which they came. While a run is active it holds the session's epoch,
// and every append carries it, so that nobody else can write.
//
// Everything that leaves a run is read from its feed: the events in the order
// in which they were stored, and, on the way to each, the pieces of it. Readers
// come and go, early or late, fast or slow, and the run never waits for one.
//
// Whatever ends a run, the log stays valid: calls that were open get a response
// that says what happened to them, and the session is free for the next run.
package run

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/session"
)

// Refusals of a request, before anything is stored.
var (
	// ErrUnknownApp means that no application has that name.
	ErrUnknownApp = errors.New("application not found")
	// ErrUnknownCall means that a function response answers nothing.
	ErrUnknownCall = errors.New("no function call is waiting for this answer")
	// ErrAnswered means that the call has its final answer already.
	ErrAnswered = errors.New("the function call has been answered already")
	// ErrClosing means that the server takes no new runs.
	ErrClosing = errors.New("the server is shutting down")
	// ErrCancelled means that the run was cancelled, in line or at work.
	ErrCancelled = errors.New("the run was cancelled")
)

// AppError means that an application is there but does not work.
type AppError struct{ Cause error }

func (e *AppError) Error() string { return "the application does not work: " + e.Cause.Error() }
func (e *AppError) Unwrap() error { return e.Cause }

// Causes of a run's end that are nobody's failure.
var (
	errShutdown = errors.New("the server was shut down")
	errOver     = errors.New("the run is over")
)

// Status is where a run is in its life.
type Status string

// The statuses of a run.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Waiting   Status = "waiting"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Request starts a run.
type Request struct {
	Key     session.Key
	Message *event.Content
	// Stream asks for pieces of what the model says.
	Stream bool
	// StateDelta is applied with the message.
	StateDelta map[string]json.RawMessage
	// CustomMetadata is put on every event of the run.
	CustomMetadata map[string]json.RawMessage
}

// Info describes a run at one moment.
type Info struct {
	ID      string // the invocation id of its events
	Key     session.Key
	Status  Status
	Resumes string // the run whose wait this one ends, if any
	Failure *Failure
	Usage   event.Usage
	Created time.Time
	Ended   time.Time
}

// Failure says why a run failed, in words for a client.
type Failure struct { //nolint:errname // first of all it is a fact about a run
	Type    string
	Message string
	// Reported means that an event of the run says the same.
	Reported bool
}

func (f *Failure) Error() string { return f.Message }

// Run is one run. Its methods are safe for concurrent use.
type Run struct {
	engine *Engine
	req    Request
	root   *agent.Agent
	id     string

	detached context.Context // what the request carries, without its end
	ctx      context.Context // ends with the run
	cancel   context.CancelCauseFunc
	admitted chan struct{} // closed when the message is stored, or refused
	done     chan struct{} // closed when the run has ended
	feed     feed
	first    *Follower // for whoever asked for the stream, so that it misses no piece

	// mu makes one writer of many agents: it is held while an event is
	// appended, and never while agent, model or tool code runs.
	mu         sync.Mutex
	refusal    error // why the message was not accepted
	info       Info
	epoch      int64
	log        *log
	last       float64    // timestamp of the latest event
	unanswered []openCall // calls without any response yet
	over       bool
	forced     *time.Timer
}

// openCall remembers who has to answer a call.
type openCall struct {
	id, name, author, branch string
	long                     bool // the answer may come from outside
}

// ID is the run's identifier, and the invocation id of its events.
func (r *Run) ID() string { return r.id }

// Admitted is closed when the run has begun, or was refused: see Refusal.
func (r *Run) Admitted() <-chan struct{} { return r.admitted }

// Refusal is why the message was not accepted, nil if it was.
func (r *Run) Refusal() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refusal
}

// Done is closed when the run has ended.
func (r *Run) Done() <-chan struct{} { return r.done }

// Info is how the run stands.
func (r *Run) Info() Info {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.info
}

// Entries are the events that the run has stored so far.
func (r *Run) Entries() []*session.Entry { return r.feed.stored() }

// Follow reads the run from its first event on.
func (r *Run) Follow() *Follower {
	r.mu.Lock()
	first := r.first
	r.first = nil
	r.mu.Unlock()
	if first != nil {
		return first
	}
	return r.feed.follow()
}

// Cancel ends the run. It returns at once; Done tells when it has ended. To
// cancel a run that has ended does nothing.
func (r *Run) Cancel() { r.stop(ErrCancelled) }

// forceAfter is how long code that does not listen to its context is waited for
// before the run ends without it.
const forceAfter = time.Second

func (r *Run) stop(cause error) {
	r.cancel(cause)
	if r.engine.dequeue(r) {
		r.end(cause)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over && r.forced == nil {
		r.forced = time.AfterFunc(forceAfter, func() { r.end(cause) })
	}
}
