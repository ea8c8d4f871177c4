package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/wire"
)

// guest is an engine with the application's code in it, and Go's half of the
// protocol; js/guest.js is the other.
type guest struct {
	engine *engine
	ops    map[string]op
	log    *slog.Logger

	ctx    context.Context // ends with the guest
	cancel context.CancelFunc
	wg     sync.WaitGroup // requests of the guest that are under way

	mu       sync.Mutex
	last     int64
	calls    map[int64]*call
	requests map[int64]*request
	timers   map[int64]*time.Timer
}

// op answers a request of JavaScript. A stream sends items with yield, which
// returns when the next one is asked for; other ops return their answer.
type op struct {
	answer func(ctx context.Context, params json.RawMessage) (any, error)
	stream func(ctx context.Context, params json.RawMessage, yield func(any) error) error
}

// call is a call of Go into JavaScript that is under way.
type call struct {
	ctx     context.Context
	scope   *scope     // nil when the code has no business with a run
	replies chan reply // it holds one: the guest speaks only when it is asked
}

type reply struct {
	kind  string // ok, err or item
	value json.RawMessage
	err   error
}

// request is a request of JavaScript that Go is working on.
type request struct {
	cancel context.CancelFunc
	pulls  chan struct{}
}

// Error is an error that JavaScript has thrown.
type Error struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Stack   string `json:"stack"`
}

func (e *Error) Error() string {
	if e.Name == "" || e.Name == "Error" {
		return e.Message
	}
	return e.Name + ": " + e.Message
}

func parseJSError(doc []byte) error {
	e := &Error{}
	if json.Unmarshal(doc, e) != nil || e.Message == "" {
		return errors.New("the code failed without saying why; it may have run out of memory")
	}
	return e
}

func newGuest(limits Limits, log *slog.Logger, ops map[string]op, sync map[string]hostFunc) (*guest, error) {
	g := &guest{
		ops: ops, log: log,
		calls: map[int64]*call{}, requests: map[int64]*request{}, timers: map[int64]*time.Timer{},
	}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	hosts := map[string]hostFunc{
		"post": g.post, "request": g.request, "pull": g.pull, "leave": g.leave,
		"timer": g.timer, "stopTimer": g.stopTimer, "state": g.state, "events": g.events, "message": g.message,
	}
	maps.Copy(hosts, sync)
	var err error
	if g.engine, err = newEngine(limits, hosts); err != nil {
		g.cancel()
		return nil, err
	}
	return g, nil
}

// close ends the guest and everything that it has under way.
func (g *guest) close() {
	g.engine.close()
	g.cancel()
	g.mu.Lock()
	for _, t := range g.timers {
		t.Stop()
	}
	clear(g.timers)
	g.mu.Unlock()
	g.wg.Wait()
}

// Call calls a function and waits for its result.
func (g *guest) Call(ctx context.Context, fn int, params any, sc *scope) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, g.engine.limits.Call, errTimeout)
	defer cancel()
	id, c, err := g.begin(ctx, fn, params, sc, false)
	if err != nil {
		return nil, err
	}
	r, err := g.wait(ctx, id, c)
	if err != nil {
		return nil, err
	}
	return r.value, r.err
}

var errTimeout = errors.New("the call took too long, and was given up")

// Stream calls a generator. yield gets each item, and the generator goes on when
// it returns.
func (g *guest) Stream(ctx context.Context, fn int, params any, sc *scope, yield func(json.RawMessage) error) error {
	id, c, err := g.begin(ctx, fn, params, sc, true)
	if err != nil {
		return err
	}
	for {
		r, err := g.wait(ctx, id, c)
		if err != nil {
			return err
		}
		if r.kind != "item" {
			g.forget(id)
			return r.err
		}
		if err := yield(r.value); err != nil {
			g.abort(id, err)
			return err
		}
		g.send(message{T: "next", ID: id})
	}
}

type message struct {
	T      string     `json:"t"`
	ID     int64      `json:"id"`
	Fn     int        `json:"fn"`
	Params any        `json:"params,omitempty"`
	Stream bool       `json:"stream,omitempty"`
	Value  any        `json:"value,omitempty"`
	Reason string     `json:"reason,omitempty"`
	Error  *hostError `json:"error,omitempty"`
}

type hostError struct {
	Name    string `json:"name,omitempty"`
	Message string `json:"message"`
	Code    string `json:"code,omitempty"`
}

func (g *guest) begin(ctx context.Context, fn int, params any, sc *scope, stream bool) (int64, *call, error) {
	c := &call{ctx: ctx, scope: sc, replies: make(chan reply, 1)}
	g.mu.Lock()
	g.last++
	id := g.last
	g.calls[id] = c
	g.mu.Unlock()
	text, err := json.Marshal(message{T: "call", ID: id, Fn: fn, Params: params, Stream: stream})
	if err != nil {
		g.forget(id)
		return 0, nil, fmt.Errorf("encode a call: %w", err)
	}
	g.engine.deliver("__deliver", string(text)) // a dead engine shows in wait
	return id, c, nil
}

func (g *guest) wait(ctx context.Context, id int64, c *call) (reply, error) {
	select {
	case r := <-c.replies:
		if r.kind != "item" {
			g.forget(id)
		}
		return r, nil
	case <-ctx.Done():
		g.abort(id, context.Cause(ctx))
		return reply{}, context.Cause(ctx)
	case <-g.engine.dead:
		g.forget(id)
		select {
		case r := <-c.replies: // its last words
			return r, nil
		default:
			return reply{}, g.engine.cause
		}
	}
}

func (g *guest) forget(id int64) {
	g.mu.Lock()
	delete(g.calls, id)
	g.mu.Unlock()
}

func (g *guest) abort(id int64, cause error) {
	g.forget(id)
	g.send(message{T: "abort", ID: id, Reason: cause.Error()})
}

func (g *guest) send(m message) {
	text, err := json.Marshal(m)
	if err != nil {
		text = fmt.Appendf(nil, `{"t":%q,"id":%d,"error":{"message":%s}}`, m.T, m.ID, wire.Quote(nil, err.Error()))
	}
	g.engine.deliver("__deliver", string(text))
}

// post takes what the guest says about a call.
func (g *guest) post(payload string) (string, error) {
	var m struct {
		T     string          `json:"t"`
		ID    int64           `json:"id"`
		Value json.RawMessage `json:"value"`
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal([]byte(payload), &m); err != nil {
		return "", err
	}
	g.mu.Lock()
	c := g.calls[m.ID]
	g.mu.Unlock()
	if c == nil {
		return "", nil // it was given up
	}
	r := reply{kind: m.T, value: m.Value}
	if m.T == "err" {
		r.err = parseJSError(m.Error)
		// An asynchronous function turns the interruption of its code into an
		// error like any other.
		if isInterrupt(r.err) {
			r.err = g.engine.runaway()
			defer g.engine.end(r.err)
		}
	}
	select {
	case c.replies <- r:
	default: // a guest that speaks out of turn is not listened to
	}
	return "", nil
}

// scopeKey leads an op to the scope of the call on whose behalf it works.
type scopeKey struct{}

// request begins to work on what the guest asks for.
func (g *guest) request(payload string) (string, error) {
	var m struct {
		ID     int64           `json:"id"`
		Op     string          `json:"op"`
		Params json.RawMessage `json:"params"`
		Call   int64           `json:"call"`
		Stream bool            `json:"stream"`
	}
	if err := json.Unmarshal([]byte(payload), &m); err != nil {
		return "", err
	}
	todo, ok := g.ops[m.Op]
	if !ok {
		return "", fmt.Errorf("there is no host operation %q", m.Op)
	}
	// What is asked for on behalf of a call ends with it; the rest, such as a
	// fetch at the top level of a module, with the guest.
	parent := g.ctx
	g.mu.Lock()
	if c := g.calls[m.Call]; c != nil {
		parent = context.WithValue(c.ctx, scopeKey{}, c.scope)
	}
	ctx, cancel := context.WithCancel(parent)
	r := &request{cancel: cancel, pulls: make(chan struct{}, 1)}
	g.requests[m.ID] = r
	g.mu.Unlock()
	stop := context.AfterFunc(g.ctx, cancel)

	g.wg.Go(func() {
		defer stop()
		defer cancel()
		value, err := g.work(ctx, todo, m.ID, m.Params, r)
		g.mu.Lock()
		delete(g.requests, m.ID)
		g.mu.Unlock()
		out := message{T: "reply", ID: m.ID, Value: value}
		if err != nil {
			out.Value, out.Error = nil, toHostError(err)
		}
		g.send(out)
	})
	return "", nil
}

func toHostError(err error) *hostError {
	if js, ok := errors.AsType[*Error](err); ok {
		return &hostError{Name: js.Name, Message: js.Message}
	}
	var coded interface{ Code() string }
	e := &hostError{Message: err.Error()}
	if errors.As(err, &coded) {
		e.Code = coded.Code()
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		e.Name = "AbortError"
	}
	return e
}

func (g *guest) work(ctx context.Context, todo op, id int64, params json.RawMessage, r *request) (value any, err error) {
	defer func() {
		if v := recover(); v != nil {
			g.log.Error("a host operation panicked", "panic", v)
			err = errors.New("the host operation panicked")
		}
	}()
	if todo.answer != nil {
		return todo.answer(ctx, params)
	}
	return nil, todo.stream(ctx, params, func(item any) error {
		g.send(message{T: "item", ID: id, Value: item})
		select {
		case <-r.pulls:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

func (g *guest) pull(payload string) (string, error) {
	if r := g.requestOf(payload); r != nil {
		select {
		case r.pulls <- struct{}{}:
		default:
		}
	}
	return "", nil
}

func (g *guest) leave(payload string) (string, error) {
	if r := g.requestOf(payload); r != nil {
		r.cancel()
	}
	return "", nil
}

func (g *guest) requestOf(payload string) *request {
	id, _ := strconv.ParseInt(payload, 10, 64)
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.requests[id]
}

// scopeOf is the scope of a call that JavaScript names.
func (g *guest) scopeOf(payload string) (*scope, error) {
	id, _ := strconv.ParseInt(payload, 10, 64)
	g.mu.Lock()
	defer g.mu.Unlock()
	if c := g.calls[id]; c != nil && c.scope != nil {
		return c.scope, nil
	}
	return nil, errors.New("the call that this context belongs to is over")
}

func (g *guest) state(payload string) (string, error) {
	sc, err := g.scopeOf(payload)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(sc.state())
	return string(text), err
}

// message is what the user said at the beginning of the run.
func (g *guest) message(payload string) (string, error) {
	sc, err := g.scopeOf(payload)
	if err != nil || sc.message == nil {
		return "null", err
	}
	text, err := sc.message.MarshalJSON()
	return string(text), err
}

func (g *guest) events(payload string) (string, error) {
	sc, err := g.scopeOf(payload)
	if err != nil {
		return "", err
	}
	list := []*event.Event{}
	if sc.agent != nil {
		for i := range sc.agent.Log().Len() {
			list = append(list, sc.agent.Log().At(i))
		}
	}
	text, err := json.Marshal(list)
	return string(text), err
}

func (g *guest) timer(payload string) (string, error) {
	var m struct {
		ID     int64   `json:"id"`
		MS     float64 `json:"ms"`
		Repeat bool    `json:"repeat"`
	}
	if err := json.Unmarshal([]byte(payload), &m); err != nil {
		return "", err
	}
	id, delay := strconv.FormatInt(m.ID, 10), time.Duration(m.MS*float64(time.Millisecond))
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.timers) >= maxTimers {
		return "", fmt.Errorf("there are %d timers already", maxTimers)
	}
	var t *time.Timer
	t = time.AfterFunc(delay, func() {
		if !m.Repeat && !g.dropTimer(m.ID, &t) {
			return
		}
		g.engine.post(func() error {
			_, err := g.engine.vm.Call("__timer", id)
			// The next tick is due only when this one has been heard, so that
			// a busy engine is not buried in them.
			g.mu.Lock()
			if m.Repeat && g.timers[m.ID] == t {
				t.Reset(delay)
			}
			g.mu.Unlock()
			return err
		})
	})
	g.timers[m.ID] = t
	return "", nil
}

// maxTimers is how many timers an application may have at a time.
const maxTimers = 100_000

// dropTimer forgets a timer, and reports whether it was still wanted. A timer
// may be due before its variable is set: only the lock says when it is.
func (g *guest) dropTimer(id int64, t **time.Timer) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.timers[id] != *t {
		return false
	}
	delete(g.timers, id)
	return true
}

func (g *guest) stopTimer(payload string) (string, error) {
	id, _ := strconv.ParseInt(payload, 10, 64)
	g.mu.Lock()
	defer g.mu.Unlock()
	if t := g.timers[id]; t != nil {
		t.Stop()
		delete(g.timers, id)
	}
	return "", nil
}
