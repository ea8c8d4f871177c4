// Package engine runs JavaScript. An Engine has the code of an application in it,
// limited in memory and time, and Go's half of the protocol between Go and that
// code; js/guest.js is the other half. A Thread is what runs the code: QuickJS in
// this package, or another implementation of JavaScript.
//
// The package knows nothing of agents: it calls functions by their number, and
// passes JSON.
package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/internal/wire"
)

// Host is what Go provides to the code.
type Host struct {
	Functions     map[string]Function
	CallFunctions map[string]CallFunction
	Operations    map[string]Operation
}

// Add adds the functions and operations of another host.
func (h *Host) Add(other Host) {
	h.Functions = merge(h.Functions, other.Functions)
	h.CallFunctions = merge(h.CallFunctions, other.CallFunctions)
	h.Operations = merge(h.Operations, other.Operations)
}

func merge[V any](a, b map[string]V) map[string]V {
	out := make(map[string]V, len(a)+len(b))
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

// Call is a call of a function of the code.
type Call struct {
	Function int    // its number
	Params   string // JSON; empty for none
	About    string // JSON that the function gets as information about the call; empty for {}
	// Scope is the value that CallFunctions and Operations get which the code
	// calls on behalf of this call.
	Scope any
	// Bounded limits the size of the answer as package bounded says.
	Bounded bool
}

// Reply is the answer to a call.
type Reply struct {
	Value json.RawMessage
	Rest  string // additional data, as JSON; empty for none
}

// Thread runs the code of one engine. It moves text between Go and JavaScript, and
// does not interpret it. Its methods may be called concurrently, and those that
// pass something to the code do not wait for it.
type Thread interface {
	// Load runs the library and then a module, under a name that its stack traces
	// show. The channel receives the result of the module, after everything that
	// it awaits at its top level, unless the thread ends before.
	Load(library []byte, name, code string) <-chan error
	// Call calls a function by its number. params and about are JSON.
	Call(id int64, fn int, stream bool, params, about string)
	// Deliver passes a message to js/guest.js.
	Deliver(text string)
	// Idle reports whether the code does not run, and waits for nothing but what
	// the engine sends.
	Idle() bool
	// Full reports whether an idle thread has used nearly all of its memory.
	Full() bool
	// Fatal returns the reason why the thread cannot continue after an error; nil
	// if it can.
	Fatal(err error) error
	// Exhausted is the error of code that has run out of memory.
	Exhausted() error
	// End makes the thread end, for a reason. It does not wait.
	End(cause error)
	// Done is closed when the thread has ended. Err says why then, and is nil
	// before.
	Done() <-chan struct{}
	Err() error
	// Close ends the thread, and waits until what it has used is freed.
	Close()
}

// Start starts a thread without code, which may call the functions. Its answers to
// calls go to post.
type Start func(limits Limits, functions map[string]Function, post Post) (Thread, error)

// Post receives the answer to a call: its kind, which is ok, err or item, the
// number of the call, the value, and additional data. An error is thrown to the code.
type Post func(kind string, id int64, value, rest string) error

// Engine is a thread with the code of an application. Its methods may be called
// concurrently.
type Engine struct {
	thread     Thread
	limits     Limits
	operations map[string]Operation
	log        *slog.Logger

	ctx    context.Context // ends with the engine
	cancel context.CancelFunc
	wg     sync.WaitGroup // requests of the code in flight
	timers sync.Pool      // of calls that have ended (BenchmarkTurn); not of all engines, since the clock of a test may be its own

	mu       sync.Mutex
	last     int64
	calls    map[int64]*call
	requests map[int64]*request
}

// call is a call in flight.
type call struct {
	Call
	ctx      context.Context // of the caller
	replies  chan reply      // it holds one: the code sends an item only when it is asked
	deadline time.Time       // zero for none

	// Set while Engine.mu is held: the context of requests on behalf of a call with a
	// deadline. Most calls make none, and a context with a deadline costs more than the
	// rest of what Go does for a call (BenchmarkTurn).
	within context.Context
	cancel context.CancelFunc
}

func newCall(ctx context.Context, c Call) *call {
	return &call{Call: c, ctx: ctx, replies: make(chan reply, 1)}
}

// context returns the context of requests on behalf of the call, which ends with it. The
// caller holds Engine.mu.
func (c *call) context() context.Context {
	if c.deadline.IsZero() {
		return c.ctx
	}
	if c.within == nil {
		c.within, c.cancel = context.WithDeadlineCause(c.ctx, c.deadline, errTimeout)
	}
	return c.within
}

type reply struct {
	Reply
	kind string // ok, err or item
	err  error
}

// Error is an error that JavaScript has thrown.
type Error struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Stack   string `json:"stack"` // the calls, without the name and the message
	// Tool is the name of a tool that was called with invalid arguments; empty
	// for other errors.
	Tool string `json:"tool"`
}

func (e *Error) Error() string {
	if e.Name == "" || e.Name == "Error" {
		return e.Message
	}
	return e.Name + ": " + e.Message
}

var errSilent = errors.New("the code failed without saying why; it may have run out of memory")

// ParseError reads an error that js/guest.js has described as JSON.
func ParseError(doc []byte) error {
	e := &Error{}
	if json.Unmarshal(doc, e) != nil || e.Message == "" {
		return errSilent
	}
	if at := callLine.FindStringIndex(e.Stack); at != nil {
		e.Stack = e.Stack[at[0]:]
	} else if strings.Contains(e.Stack, e.Message) {
		e.Stack = ""
	}
	return e
}

// callLine matches the first line of a stack trace that is a call.
var callLine = regexp.MustCompile(`(?m)^\s+at `)

// New makes an engine without code, on a thread of its own.
func New(start Start, limits Limits, log *slog.Logger, host Host) (*Engine, error) {
	limits.Load = cmp.Or(limits.Load, defaultLoad)
	e := &Engine{limits: limits, operations: host.Operations, log: log, calls: map[int64]*call{}, requests: map[int64]*request{}}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	functions := map[string]Function{"request": e.request, "pull": e.pull, "leave": e.leave}
	for name, fn := range host.CallFunctions {
		functions[name] = e.inScope(fn)
	}
	maps.Copy(functions, host.Functions)
	var err error
	if e.thread, err = start(limits, functions, e.post); err != nil {
		e.cancel()
		return nil, err
	}
	return e, nil
}

// Done returns a channel that is closed when the engine has ended: it was closed,
// or its code was stopped.
func (e *Engine) Done() <-chan struct{} { return e.thread.Done() }

// Err returns why the engine has ended, and nil before Done is closed.
func (e *Engine) Err() error { return e.thread.Err() }

// Close ends the engine and everything that it has in flight, and frees its
// memory.
func (e *Engine) Close() {
	e.thread.Close()
	e.cancel()
	e.wg.Wait()
}

// Call calls a function and waits for its answer.
func (e *Engine) Call(ctx context.Context, c Call) (Reply, error) {
	timer, _ := e.timers.Get().(*time.Timer)
	if timer == nil {
		timer = time.NewTimer(e.limits.Call)
	} else {
		timer.Reset(e.limits.Call)
	}
	defer e.timers.Put(timer)
	defer timer.Stop()
	begun := newCall(ctx, c)
	begun.deadline = time.Now().Add(e.limits.Call)
	id := e.begin(begun, false)
	r, err := e.wait(ctx, id, begun, timer.C)
	if begun.cancel != nil { // wait has forgotten the call, so nothing sets it now
		begun.cancel()
	}
	if err != nil {
		return Reply{}, err
	}
	return r.Reply, r.err
}

var errTimeout = errors.New("the call took too long, and was given up")

// Stream calls a generator. yield gets each item, and the generator continues when
// yield returns.
func (e *Engine) Stream(ctx context.Context, c Call, yield func(json.RawMessage) error) error {
	begun := newCall(ctx, c)
	id := e.begin(begun, true)
	for {
		r, err := e.wait(ctx, id, begun, nil)
		if err != nil {
			return err
		}
		if r.kind != "item" {
			e.forget(id)
			return r.err
		}
		if err := yield(r.Value); err != nil {
			e.abort(id, err)
			return err
		}
		e.send(message{T: "next", ID: id})
	}
}

func (e *Engine) begin(c *call, stream bool) int64 {
	e.mu.Lock()
	e.last++
	id := e.last
	e.calls[id] = c
	e.mu.Unlock()
	e.thread.Call(id, c.Function, stream, c.Params, cmp.Or(c.About, "{}")) // wait notices an engine that has ended
	return id
}

func (e *Engine) wait(ctx context.Context, id int64, c *call, timeout <-chan time.Time) (reply, error) {
	select {
	case r := <-c.replies:
		if r.kind != "item" {
			e.forget(id)
		}
		return r, nil
	case <-ctx.Done():
		e.abort(id, context.Cause(ctx))
		return reply{}, context.Cause(ctx)
	case <-timeout:
		e.abort(id, errTimeout)
		return reply{}, errTimeout
	case <-e.thread.Done():
		e.forget(id)
		select {
		case r := <-c.replies: // it was sent just before
			return r, nil
		default:
			return reply{}, e.thread.Err()
		}
	}
}

func (e *Engine) forget(id int64) {
	e.mu.Lock()
	delete(e.calls, id)
	e.mu.Unlock()
}

func (e *Engine) abort(id int64, cause error) {
	e.forget(id)
	e.send(message{T: "abort", ID: id, Reason: cause.Error()})
}

// post receives the answer of the code to a call.
func (e *Engine) post(kind string, id int64, value, rest string) error {
	e.mu.Lock()
	c := e.calls[id]
	e.mu.Unlock()
	if c == nil {
		return nil // it was aborted
	}
	if c.Bounded {
		if err := bounded.Fits(c.ctx, int64(len(value)+len(rest))); err != nil { // before it is copied
			c.answer(reply{kind: "err", err: fmt.Errorf("%w: ask for less", err)})
			return nil
		}
	}
	r := reply{Reply: Reply{Value: json.RawMessage(value), Rest: rest}, kind: kind}
	// The author's code may have replaced JSON.stringify.
	if !wire.Valid(r.Value) {
		return errors.New("the answer is not JSON")
	}
	if kind == "err" {
		r.err = ParseError(r.Value)
		// An asynchronous function turns the interruption of its code into an
		// ordinary error.
		cause := e.thread.Fatal(r.err)
		if value == "null" {
			cause = e.thread.Exhausted() // there was no memory for more
		}
		if cause != nil {
			r.err = cause
			e.thread.End(cause) // before the answer: the next call of the caller needs another engine
		}
	}
	c.answer(r)
	return nil
}

func (c *call) answer(r reply) {
	select {
	case c.replies <- r:
	default: // the code sent an item that nothing has asked for
	}
}

// ErrCallOver means that the code uses the context of a call that has ended.
var ErrCallOver = errors.New("the call that this context belongs to is over")

// inScope makes a Function of a CallFunction: its payload begins with the number
// of the call and a space.
func (e *Engine) inScope(fn CallFunction) Function {
	return func(payload string) (string, error) {
		number, rest, _ := strings.Cut(payload, " ")
		id, _ := strconv.ParseInt(number, 10, 64)
		e.mu.Lock()
		c := e.calls[id]
		e.mu.Unlock()
		if c == nil {
			return fn(nil, rest)
		}
		return fn(c.Scope, rest)
	}
}
