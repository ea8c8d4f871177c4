package run

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/session"
)

// log is the session as the agents of one run see it: what was there when the
// run began, and what the run has added.
type log struct {
	before []*session.Entry
	resume *agent.Resume

	mu     sync.RWMutex
	events []*event.Event
	state  session.State
}

var _ agent.Log = (*log)(nil)

// newLog takes over the state of the snapshot, which belongs to whoever acquired
// the session.
func newLog(s *session.Session) *log {
	return &log{before: s.Entries, state: s.State, events: make([]*event.Event, 0, typicalTurn)}
}

// typicalTurn is how many events most runs have: the message, a call, its
// response, and the answer.
const typicalTurn = 4

func (l *log) append(ev *event.Event, delta session.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, ev)
	for k, v := range delta {
		if session.IsNull(v) {
			delete(l.state, k)
		} else {
			l.state[k] = v
		}
	}
}

func (l *log) Len() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.before) + len(l.events)
}

func (l *log) At(i int) *event.Event {
	if i < len(l.before) {
		ev, err := l.before[i].Decode()
		if err != nil {
			// Our own encoding always reads back. If a store was tampered
			// with, the conversation goes on without that entry.
			return &event.Event{}
		}
		return ev
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.events[i-len(l.before)]
}

func (l *log) Get(key string) (json.RawMessage, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	v, ok := l.state[key]
	return v, ok
}

func (l *log) All() map[string]json.RawMessage {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return maps.Clone(l.state)
}

// answers checks the function responses in a message against the calls in the
// log, and says where to go on. It is nil when the message answers nothing.
func answers(l *log, message *event.Content) (*agent.Resume, error) {
	var resume *agent.Resume
	responses := message.FunctionResponses()
	for i, r := range responses {
		if slices.ContainsFunc(responses[:i], func(earlier *event.FunctionResponse) bool { return earlier.ID == r.ID && !earlier.Interim() }) {
			return nil, fmt.Errorf("%w: %s", ErrAnswered, r.ID)
		}
		call, err := waitingCall(l, r)
		if err != nil {
			return nil, err
		}
		if resume == nil {
			resume = &agent.Resume{Agent: call.Author, InvocationID: call.InvocationID}
		}
	}
	return resume, nil
}

// waitingCall is the event with the call that r answers.
func waitingCall(l *log, r *event.FunctionResponse) (*event.Event, error) {
	for i := l.Len() - 1; i >= 0; i-- {
		ev := l.At(i)
		for _, earlier := range ev.FunctionResponses() {
			if earlier.ID == r.ID && (ev.Author == event.User && !earlier.Interim() || ev.ErrorCode == Aborted) {
				return nil, fmt.Errorf("%w: %s", ErrAnswered, r.ID)
			}
		}
		for _, call := range ev.FunctionCalls() {
			if call.ID != r.ID {
				continue
			}
			if !slices.Contains(ev.LongRunningToolIDs, r.ID) {
				return nil, fmt.Errorf("%w: %s", ErrAnswered, r.ID)
			}
			if call.Name != r.Name {
				return nil, fmt.Errorf("%w: the call %s is of %s, not of %s", ErrUnknownCall, r.ID, call.Name, r.Name)
			}
			return ev, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", ErrUnknownCall, r.ID)
}
