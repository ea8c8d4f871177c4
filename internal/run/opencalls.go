package run

import (
	"context"
	"encoding/json"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// OpenCall is a call that waits for an answer from outside: a question of the server,
// or a call that the client is to make.
type OpenCall struct {
	ID, Name string
	Args     json.RawMessage
	// Run is the run that made the call.
	Run string
}

// waitingPage is how many of the newest runs are searched for those that wait.
const waitingPage = 100

// OpenCalls returns the calls of a session that wait for an answer, in their order.
func (e *Engine) OpenCalls(ctx context.Context, key session.Key) ([]*OpenCall, error) {
	l, all, err := e.openCalls(ctx, key)
	if err != nil {
		return nil, err
	}
	var found []*OpenCall
	for _, open := range all {
		ev, err := waitingCall(l, &event.FunctionResponse{ID: open.id, Name: open.name})
		if err != nil {
			continue // it is made when the user has answered another one
		}
		for _, call := range ev.FunctionCalls() {
			if call.ID == open.id {
				found = append(found, &OpenCall{ID: call.ID, Name: call.Name, Args: call.Args, Run: ev.InvocationID})
			}
		}
	}
	return found, nil
}

// openCalls returns the calls of a session that have no answer, except expired ones,
// and the log that they are in. It reads the log from the first run that waits on, and
// nothing if none does, so a long session costs no more than a short one
// (TestTextReadsNoLog).
func (e *Engine) openCalls(ctx context.Context, key session.Key) (*log, []openCall, error) {
	first, err := e.firstWaiting(ctx, key)
	if first == 0 || err != nil {
		return nil, nil, err
	}
	s, err := e.cfg.Store.Get(ctx, key, session.Read{After: first - 1})
	if err != nil {
		return nil, nil, storeError("read the session", err)
	}
	l := newLog(s)
	var open []openCall
	for _, w := range waitsIn(l).all {
		if !e.tooOld(w.latest) {
			open = append(open, w.open...)
		}
	}
	return l, open, nil
}

// firstWaiting returns the sequence number of the first entry of a run that waits, 0 if
// none does. A session without runs is a fork, or was created with a history: all of
// that may wait.
func (e *Engine) firstWaiting(ctx context.Context, key session.Key) (first int64, err error) {
	rows, _, err := e.Runs(ctx, key, session.Page{Size: waitingPage})
	if err != nil {
		return 0, err
	}
	for _, r := range rows { // the oldest is the last
		if r.Status == session.Waiting && r.First != 0 {
			first = r.First
		}
	}
	if len(rows) == 0 {
		first = 1
	}
	return first, nil
}
