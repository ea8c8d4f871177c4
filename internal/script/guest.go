package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/tool"
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
	timers   map[int64]*alarm
	queue    alarms      // those of the timers that wait
	clock    *time.Timer // which rings when the first of them is due
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
	rest  string // what else was said, as JSON; empty for nothing
	err   error
}

// Error is an error that JavaScript has thrown.
type Error struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Stack   string `json:"stack"`
	// Tool is set where the arguments of a call of it were invalid.
	Tool string `json:"tool"`
}

func (e *Error) Error() string {
	if e.Name == "" || e.Name == "Error" {
		return e.Message
	}
	return e.Name + ": " + e.Message
}

var errSilent = errors.New("the code failed without saying why; it may have run out of memory")

func parseJSError(doc []byte) error {
	e := &Error{}
	if json.Unmarshal(doc, e) != nil || e.Message == "" {
		return errSilent
	}
	return e
}

func newGuest(limits Limits, log *slog.Logger, ops map[string]op, sync map[string]hostFunc) (*guest, error) {
	g := &guest{
		ops: ops, log: log,
		calls: map[int64]*call{}, requests: map[int64]*request{}, timers: map[int64]*alarm{},
	}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	hosts := map[string]hostFunc{
		"request": g.request, "pull": g.pull, "leave": g.leave,
		"timer": g.timer, "stopTimer": g.stopTimer, "state": g.state, "secret": g.secret, "events": g.events, "message": g.message,
		"credential": answer(g.credential), "dropCredential": answer(g.dropCredential),
	}
	maps.Copy(hosts, sync)
	var err error
	if g.engine, err = newEngine(limits, hosts, g.post); err != nil {
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
	if g.clock != nil {
		g.clock.Stop()
	}
	clear(g.timers)
	g.queue = nil
	g.mu.Unlock()
	g.wg.Wait()
}

// Call calls a function and waits for its result. params is JSON, empty for
// none.
func (g *guest) Call(ctx context.Context, fn int, params string, sc *scope) (reply, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, g.engine.limits.Call, errTimeout)
	defer cancel()
	id, c := g.begin(ctx, fn, params, sc, false)
	r, err := g.wait(ctx, id, c)
	if err != nil {
		return reply{}, err
	}
	return r, r.err
}

var errTimeout = errors.New("the call took too long, and was given up")

// Stream calls a generator. yield gets each item, and the generator goes on when
// it returns.
func (g *guest) Stream(ctx context.Context, fn int, params string, sc *scope, yield func(json.RawMessage) error) error {
	id, c := g.begin(ctx, fn, params, sc, true)
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

func (g *guest) begin(ctx context.Context, fn int, params string, sc *scope, stream bool) (int64, *call) {
	c := &call{ctx: ctx, scope: sc, replies: make(chan reply, 1)}
	g.mu.Lock()
	g.last++
	id := g.last
	g.calls[id] = c
	g.mu.Unlock()
	about := "{}"
	if sc != nil {
		about = sc.about
	}
	g.engine.call(id, fn, stream, params, about) // a dead engine shows in wait
	return id, c
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

// post takes what the guest says about a call.
func (g *guest) post(kind string, id int64, value, rest string) error {
	g.mu.Lock()
	c := g.calls[id]
	g.mu.Unlock()
	if c == nil {
		return nil // it was given up
	}
	if c.scope != nil && c.scope.result {
		if err := bounded.Fits(c.ctx, int64(len(value)+len(rest))); err != nil { // before it is copied
			c.answer(reply{kind: "err", err: fmt.Errorf("%w: ask for less", err)})
			return nil
		}
	}
	r := reply{kind: kind, value: json.RawMessage(value), rest: rest}
	// The author's code may have changed what writes JSON.
	if !json.Valid(r.value) {
		return errors.New("the answer is no JSON")
	}
	if kind == "err" {
		r.err = parseJSError(r.value)
		// An asynchronous function turns the interruption of its code into an
		// error like any other.
		cause := g.engine.fatal(r.err)
		if value == "null" {
			cause = g.engine.exhausted() // there was no memory to say more
		}
		if cause != nil {
			r.err = cause
			defer g.engine.end(cause)
		}
	}
	c.answer(r)
	return nil
}

func (c *call) answer(r reply) {
	select {
	case c.replies <- r:
	default: // a guest that speaks out of turn is not listened to
	}
}

// scopeOf is the scope of a call that JavaScript names.
func (g *guest) scopeOf(payload string) (*scope, error) {
	id, _ := strconv.ParseInt(payload, 10, 64)
	return g.scope(id)
}

func (g *guest) scope(id int64) (*scope, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c := g.calls[id]; c != nil && c.scope != nil {
		return c.scope, nil
	}
	return nil, errOver
}

func (g *guest) state(payload string) (string, error) {
	sc, err := g.scopeOf(payload)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(sc.state())
	return string(text), err
}

// secret is a value of the state that is for tools alone. The payload is the
// call, a space, and the key.
func (g *guest) secret(payload string) (string, error) {
	id, key, _ := strings.Cut(payload, " ")
	sc, err := g.scopeOf(id)
	if err != nil || sc.secret == nil || !tool.IsSecret(key) {
		return "null", err
	}
	value, ok := sc.secret(key)
	if !ok {
		return "null", nil
	}
	return string(value), nil
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
		list = slices.AppendSeq(list, sc.agent.Events())
	}
	text, err := json.Marshal(list)
	return string(text), err
}
