package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/parley-run/parley/internal/wire"
)

// op answers a request of JavaScript. It sends items with yield, which returns
// when the next one is asked for.
type op func(ctx context.Context, params json.RawMessage, yield func(any) error) error

// early is an item after which the others need not be asked for, from when free
// is closed.
type early struct {
	item any
	free <-chan struct{}
}

// request is a request of JavaScript that Go is working on.
type request struct {
	cancel context.CancelFunc
	pulls  chan struct{}
}

// message is what Go has to say, but for calls.
type message struct {
	T      string     `json:"t"`
	ID     int64      `json:"id"`
	Value  any        `json:"value,omitempty"`
	Reason string     `json:"reason,omitempty"`
	Error  *hostError `json:"error,omitempty"`
}

type hostError struct {
	Name    string `json:"name,omitempty"`
	Message string `json:"message"`
	Code    string `json:"code,omitempty"`
}

func (g *guest) send(m message) {
	text, err := json.Marshal(m)
	if err != nil {
		text = fmt.Appendf(nil, `{"t":%q,"id":%d,"error":{"message":%s}}`, m.T, m.ID, wire.Quote(nil, err.Error()))
	}
	g.engine.deliver(string(text))
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
	}
	if err := json.Unmarshal([]byte(payload), &m); err != nil {
		return "", err
	}
	todo, ok := g.ops[m.Op]
	if !ok {
		return "", fmt.Errorf("there is no host operation %q", m.Op)
	}
	// What is asked for on behalf of a call ends with it; the rest, such as a
	// fetch at the top level of a module, with the guest. A response may be read
	// when its call is over: what ends a fetch is its signal.
	parent := g.ctx
	g.mu.Lock()
	if len(g.requests) >= maxRequests {
		g.mu.Unlock()
		return "", fmt.Errorf("there are %d requests under way already", maxRequests)
	}
	if c := g.calls[m.Call]; c != nil {
		parent = context.WithValue(c.ctx, scopeKey{}, c.scope)
		if m.Op == "fetch" {
			parent = context.WithoutCancel(parent)
		}
	}
	ctx, cancel := context.WithCancel(parent)
	r := &request{cancel: cancel, pulls: make(chan struct{}, 1)}
	g.requests[m.ID] = r
	g.mu.Unlock()
	stop := context.AfterFunc(g.ctx, cancel)

	g.wg.Go(func() {
		defer stop()
		defer cancel()
		out := message{T: "reply", ID: m.ID}
		if err := g.work(ctx, todo, m.ID, m.Params, r); err != nil {
			out.Error = toHostError(err)
		}
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.requests, m.ID)
		g.send(out) // under the lock: until then the request is under way
	})
	return "", nil
}

// maxRequests is how many requests an application may have under way at a time.
const maxRequests = 10_000

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

func (g *guest) work(ctx context.Context, todo op, id int64, params json.RawMessage, r *request) (err error) {
	defer func() {
		if v := recover(); v != nil {
			g.log.Error("a host operation panicked", "panic", v)
			err = errors.New("the host operation panicked")
		}
	}()
	return todo(ctx, params, func(item any) error {
		soon, _ := item.(early)
		if soon.item != nil {
			item = soon.item
		}
		g.send(message{T: "item", ID: id, Value: item})
		select {
		case <-r.pulls:
			return nil
		case <-soon.free:
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
