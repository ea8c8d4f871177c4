package run

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
)

// ledger counts the usage of a run, and tracks its calls without a response and its
// errors without a following event. It is safe for concurrent use.
type ledger struct {
	tokens atomic.Int64 // the total usage of the run

	mu      sync.Mutex
	logged  event.Usage // of the events in the log
	private event.Usage // of agents that are tools, whose events are not in the log
	calls   []openCall
	errors  []branchError
}

// openCall is a call without a response.
type openCall struct {
	id, name, author, branch string
	long                     bool // the answer may come from outside
}

// branchError is an error after which no agent that could see it has emitted an
// event.
type branchError struct{ branch, code, message string }

// reset discards everything that came from the log.
func (l *ledger) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.logged, l.calls, l.errors = event.Usage{}, nil, nil
	l.tokens.Store(l.private.Total)
}

// add counts an event of the log.
func (l *ledger) add(ev *event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if u := ev.Usage; u != nil {
		l.logged.Add(u)
		l.tokens.Add(u.Total)
	}
	l.addError(ev)
	if ev.Content == nil {
		return
	}
	for _, p := range ev.Content.Parts {
		switch {
		case p.FunctionCall != nil:
			l.calls = append(l.calls, openCall{
				id: p.FunctionCall.ID, name: p.FunctionCall.Name, author: ev.Author, branch: ev.Branch,
				long: slices.Contains(ev.LongRunningToolIDs, p.FunctionCall.ID),
			})
		case p.FunctionResponse != nil:
			l.calls = slices.DeleteFunc(l.calls, func(c openCall) bool { return c.id == p.FunctionResponse.ID })
		}
	}
}

// addError keeps an error until an agent that could see it emits an event, because
// then the run has continued. Parallel branches do not see each other's errors.
func (l *ledger) addError(ev *event.Event) {
	failed := ev.ErrorCode != "" || ev.ErrorMessage != ""
	if ev.Author == event.User || ev.Content == nil && !failed {
		return
	}
	l.errors = slices.DeleteFunc(l.errors, func(e branchError) bool { return !agentrt.Apart(e.branch, ev.Branch) })
	if failed {
		l.errors = append(l.errors, branchError{ev.Branch, cmp.Or(ev.ErrorCode, "UNKNOWN_ERROR"), cmp.Or(ev.ErrorMessage, ev.ErrorCode)})
	}
}

// addPrivate counts the tokens of a model call that is not in the log, by an agent
// that is used as a tool. note receives their sum.
func (l *ledger) addPrivate(u *event.Usage, note func(event.Usage)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.private.Add(u)
	l.tokens.Add(u.Total)
	note(l.private)
}

// restorePrivate sets the usage that an earlier worker on the run has noted.
func (l *ledger) restorePrivate(doc []byte) {
	var u event.Usage
	if doc == nil || u.UnmarshalJSON(doc) != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.private = u
	l.tokens.Store(l.logged.Total + u.Total)
}

// usage returns the total usage of the run.
func (l *ledger) usage() event.Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	sum := l.logged
	sum.Add(&l.private)
	return sum
}

// open returns the calls without a response.
func (l *ledger) open() []openCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.calls)
}

// failure returns the first error without a following event, or nil.
func (l *ledger) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.errors) == 0 {
		return nil
	}
	return &agentrt.Failure{Code: l.errors[0].code, Message: l.errors[0].message}
}
