package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/parley-run/parley/internal/wire"
)

// request is a request of the code in flight.
type request struct {
	cancel context.CancelFunc
	pulls  chan struct{}
}

// message is a message to js/guest.js. Calls are not messages.
type message struct {
	T      string     `json:"t"`
	ID     int64      `json:"id"`
	Value  any        `json:"value,omitempty"`
	Reason string     `json:"reason,omitempty"`
	Error  *hostError `json:"error,omitempty"`
}

func (e *Engine) send(m message) {
	text, err := json.Marshal(m)
	if err != nil {
		text = fmt.Appendf(nil, `{"t":%q,"id":%d,"error":{"message":%s}}`, m.T, m.ID, wire.Quote(nil, err.Error()))
	}
	e.thread.Deliver(string(text))
}

// request starts an operation.
func (e *Engine) request(payload string) (string, error) {
	var m struct {
		ID     int64           `json:"id"`
		Op     string          `json:"op"`
		Params json.RawMessage `json:"params"`
		Call   int64           `json:"call"`
	}
	if err := json.Unmarshal([]byte(payload), &m); err != nil {
		return "", err
	}
	operation, ok := e.operations[m.Op]
	if !ok {
		return "", fmt.Errorf("there is no host operation %q", m.Op)
	}
	// An operation on behalf of a call ends with it; others, such as a fetch at
	// the top level of a module, end with the engine. A response may be read after
	// its call has ended: a fetch ends with its signal.
	parent := e.ctx
	e.mu.Lock()
	if len(e.requests) >= maxRequests {
		e.mu.Unlock()
		return "", fmt.Errorf("there are %d requests in flight already", maxRequests)
	}
	if e.requests[m.ID] != nil { // the limit counts numbers
		e.mu.Unlock()
		return "", errors.New("a request has this number already")
	}
	if c := e.calls[m.Call]; c != nil {
		parent = context.WithValue(c.context(), scopeKey{}, c.Scope)
		if m.Op == "fetch" {
			parent = context.WithoutCancel(parent)
		}
	}
	ctx, cancel := context.WithCancel(parent)
	r := &request{cancel: cancel, pulls: make(chan struct{}, 1)}
	e.requests[m.ID] = r
	e.mu.Unlock()
	stop := context.AfterFunc(e.ctx, cancel)

	e.wg.Go(func() {
		defer stop()
		defer cancel()
		out := message{T: "reply", ID: m.ID}
		if err := e.work(ctx, operation, m.ID, m.Params, r); err != nil {
			out.Error = toHostError(err)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.requests, m.ID)
		e.send(out) // with e.mu held, see Idle
	})
	return "", nil
}

// maxRequests is how many requests an engine may have in flight.
const maxRequests = 10_000

func (e *Engine) work(ctx context.Context, operation Operation, id int64, params json.RawMessage, r *request) (err error) {
	defer func() {
		if v := recover(); v != nil {
			e.log.Error("a host operation panicked", "panic", v)
			err = errors.New("the host operation panicked")
		}
	}()
	return operation(ctx, params, func(item any) error {
		soon, _ := item.(Early)
		if soon.Item != nil {
			item = soon.Item
		}
		e.send(message{T: "item", ID: id, Value: item})
		select {
		case <-r.pulls:
			return nil
		case <-soon.Free:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

func (e *Engine) pull(payload string) (string, error) {
	if r := e.requestOf(payload); r != nil {
		select {
		case r.pulls <- struct{}{}:
		default:
		}
	}
	return "", nil
}

func (e *Engine) leave(payload string) (string, error) {
	if r := e.requestOf(payload); r != nil {
		r.cancel()
	}
	return "", nil
}

func (e *Engine) requestOf(payload string) *request {
	id, _ := strconv.ParseInt(payload, 10, 64)
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.requests[id]
}
