package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

// calls are the calls whose clients wait on this server, so that they can cancel them.
type calls struct {
	mu   sync.Mutex
	runs map[string]*waitingCall
}

// waitingCall is a call and the run that it has come to.
type waitingCall struct {
	calls *calls
	id    string
	run   *run.Run
}

// add notes a call. It is not noted if its id is empty.
func (c *calls) add(id string, started *run.Run) *waitingCall {
	call := &waitingCall{calls: c, id: id, run: started}
	if id == "" {
		return call
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs == nil {
		c.runs = map[string]*waitingCall{}
	}
	c.runs[id] = call
	return call
}

// is notes that another run continues the call.
func (w *waitingCall) is(next *run.Run) {
	w.calls.mu.Lock()
	defer w.calls.mu.Unlock()
	w.run = next
}

// forget removes the call, unless another one has its id by now.
func (w *waitingCall) forget() {
	w.calls.mu.Lock()
	defer w.calls.mu.Unlock()
	if w.calls.runs[w.id] == w {
		delete(w.calls.runs, w.id)
	}
}

func (c *calls) find(id string) *run.Run {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call := c.runs[id]; call != nil {
		return call.run
	}
	return nil
}

// callID identifies a request among those of all clients; empty if the client has no
// session of the protocol.
func (e *exchange) callID(id string) string {
	_, who, err := e.key("")
	if e.connection == "" || err != nil {
		return ""
	}
	return strings.Join([]string{e.app, who.User, e.connection, id}, "\x00")
}

// cancelled cancels the run of a request. The notification of a request that another
// server answers is ignored, as the protocol permits.
func (e *exchange) cancelled() {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if e.params(&p) != nil {
		return
	}
	started := e.calls.find(e.callID(string(p.ID)))
	if started == nil {
		return
	}
	ctx := e.r.Context()
	if row, err := e.Engine().Run(ctx, started.Key(), started.ID()); err == nil {
		_ = e.cancel(ctx, row) // a notification has no answer
	}
}

// cancel cancels a run, also one that waits.
func (e *exchange) cancel(ctx context.Context, row *session.Run) (err error) {
	if row.Status == session.Waiting {
		_, err = e.Engine().CancelWait(ctx, row.Key, row.ID)
	} else {
		_, err = e.Engine().Cancel(ctx, row.Key, row.ID)
	}
	return err
}
