package run

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/memory"
	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// log is the session as the agents of one run see it: the snapshot at its
// beginning, and the events that it has appended.
type log struct {
	before  []*session.Entry
	whole   []*session.Entry // of the snapshot, including rewound events
	indexed *session.CallIndex
	resume  *agentrt.Resume

	mu       sync.RWMutex
	events   []*event.Event
	first    [usualEvents]*event.Event // where events begins, which saves allocations (BenchmarkRun in package bench)
	state    session.State
	own      bool                       // the state is a private copy
	undo     map[string]json.RawMessage // the previous values of the session's own state that the run has changed
	calls    map[string]struct{}        // the ids of the calls in the first searched events
	searched int

	// What the agents need that see the log: one allocation with it (BenchmarkRun).
	invocation agentrt.Invocation
	memory     memory.Session
}

var _ Log = (*log)(nil)

// usualEvents is how many events most runs have: the message, a call, its
// response, and the answer (BenchmarkRun).
const usualEvents = 4

// newLog creates a log from a snapshot.
func newLog(s *session.Session) *log {
	l := &log{before: s.Seen(), whole: s.Entries, indexed: s.Calls, state: s.State}
	l.events = l.first[:0]
	if l.indexed == nil {
		l.indexed = &session.CallIndex{}
	}
	return l
}

func (l *log) append(ev *event.Event, delta session.State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, ev)
	for k, v := range delta {
		l.remember(k)
		if sessionrt.IsNull(v) {
			delete(l.changing(), k)
		} else {
			l.changing()[k] = v
		}
	}
}

// drop removes the last events, which are not stored. The state keeps their changes.
func (l *log) drop(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = l.events[:len(l.events)-n]
	l.searched, l.calls = 0, nil
}

// changing returns the state for a change. The first call copies the state of the
// snapshot, which is shared with readers.
func (l *log) changing() session.State {
	if !l.own {
		copied := make(session.State, len(l.state)+1)
		maps.Copy(copied, l.state)
		l.state, l.own = copied, true
	}
	return l.state
}

// remember saves the value that a key had before the run.
func (l *log) remember(key string) {
	if session.ScopeOf(key) != session.ScopeSession {
		return
	}
	if _, ok := l.undo[key]; ok {
		return
	}
	if l.undo == nil {
		l.undo = map[string]json.RawMessage{}
	}
	if l.undo[key] = l.state[key]; l.undo[key] == nil {
		l.undo[key] = json.RawMessage("null")
	}
}

// rememberAll is like remember for keys that changed before this log was created.
func (l *log) rememberAll(changed, before session.State) {
	after := l.state
	l.state = before
	for key := range changed {
		l.remember(key)
	}
	l.state = after
}

// inverse returns the delta that restores the session's own state to before the
// run.
func (l *log) inverse() map[string]json.RawMessage {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return maps.Clone(l.undo)
}

// temp returns a copy of the state that ends with the run, or nil.
func (l *log) temp() session.State {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if !l.own {
		return nil // stored state has no temp: keys
	}
	return session.State(nil).Apply(session.ScopeTemp, l.state)
}

// restore applies the notes of an earlier worker about the state that ends with the
// run. It begins with the state from the message.
func (l *log) restore(notes session.Journal, asked session.State) {
	var temp session.State
	if json.Unmarshal(notes[tempNote], &temp) != nil {
		temp = session.State{}.Apply(session.ScopeTemp, asked)
	}
	maps.Copy(l.changing(), temp)
}

func (l *log) Len() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.before) + len(l.events)
}

// Own implements Log.
func (l *log) Own(to []*event.Event) (first int, events []*event.Event) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.before), append(to, l.events...)
}

func (l *log) At(i int) *event.Event {
	if i < len(l.before) {
		ev, err := l.before[i].Decode()
		if err != nil {
			// Entries that this package encoded always decode, and no run works
			// with a damaged entry.
			return &event.Event{}
		}
		return ev
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.events[i-len(l.before)]
}

// HasCall reports whether a function call of the session has the id, including
// rewound ones.
func (l *log) HasCall(id string) bool {
	return l.hasOwnCall(id) || l.indexed.Has(l.whole, id)
}

// derived is what runs of a session keep of its log.
type derived struct {
	waits openWaits

	mu     sync.Mutex
	agents any
}

func (l *log) derived() *derived {
	d, _ := l.indexed.Derived(func() any { return &derived{} }).(*derived)
	return d
}

// Derived returns what agents have kept about the session.
func (l *log) Derived(create func() any) any {
	d := l.derived()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.agents == nil {
		d.agents = create()
	}
	return d.agents
}

// hasOwnCall is HasCall for the calls of the run. Most runs ask once, before
// their first call, so events are indexed when it is asked.
func (l *log) hasOwnCall(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for ; l.searched < len(l.events); l.searched++ {
		for _, call := range l.events[l.searched].FunctionCalls() {
			if l.calls == nil {
				l.calls = map[string]struct{}{}
			}
			l.calls[call.ID] = struct{}{}
		}
	}
	_, ok := l.calls[id]
	return ok
}

func (l *log) Get(key string) (json.RawMessage, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	v, ok := l.state[key]
	return v, ok
}

// Shared implements Log.
func (l *log) Shared() (shared session.State) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for k, v := range l.state {
		if scope := session.ScopeOf(k); scope == session.ScopeUser || scope == session.ScopeApp {
			if shared == nil {
				shared = session.State{}
			}
			shared[k] = v
		}
	}
	return shared
}

func (l *log) All() map[string]json.RawMessage {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return maps.Clone(l.state)
}

// answers matches the function responses in a message to calls in the log, and
// returns where to continue; nil if the message answers nothing.
func answers(l *log, message *event.Content) (*agentrt.Resume, error) {
	var resume *agentrt.Resume
	var first *event.Event
	responses := message.FunctionResponses()
	for i, r := range responses {
		if slices.ContainsFunc(responses[:i], func(earlier *event.FunctionResponse) bool { return earlier.ID == r.ID && !earlier.Interim() }) {
			return nil, fmt.Errorf("%w: %s", ErrAnswered, r.ID)
		}
		call, err := waitingCall(l, r)
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = call
			resume = &agentrt.Resume{Agent: agentrt.Waiter(call), InvocationID: call.InvocationID}
			continue
		}
		if resume.Names(agentrt.Waiter(call)) {
			continue
		}
		if call.InvocationID != first.InvocationID || !agentrt.Apart(call.Branch, first.Branch) {
			return nil, fmt.Errorf("%w: %s asked for %s, and %s for %s", ErrSeparate, first.Author, responses[0].ID, call.Author, r.ID)
		}
		resume.Others = append(resume.Others, agentrt.Waiter(call))
	}
	return resume, nil
}

// waitingCall returns the event with the call that r answers.
func waitingCall(l *log, r *event.FunctionResponse) (*event.Event, error) {
	said := false  // something about the call
	asked := false // after a takeover, by the event that should have had the result
	for i := l.Len() - 1; i >= 0; i-- {
		ev := l.At(i)
		asked = asked || slices.Contains(ev.LongRunningToolIDs, r.ID)
		for _, earlier := range ev.FunctionResponses() {
			if earlier.ID == r.ID && !said && agentrt.Unmade(ev, earlier) {
				return nil, fmt.Errorf("%w: %s is made when the user has answered another call", ErrUnknownCall, r.ID)
			}
			said = said || earlier.ID == r.ID
			if earlier.ID == r.ID && ev.ErrorCode == Aborted && string(earlier.Response) == agentrt.Expired {
				return nil, expired(r.ID)
			}
			if earlier.ID == r.ID && isFinal(ev, earlier) {
				return nil, fmt.Errorf("%w: %s", ErrAnswered, r.ID)
			}
		}
		for _, call := range ev.FunctionCalls() {
			if call.ID != r.ID {
				continue
			}
			if !asked {
				return nil, fmt.Errorf("%w: %s", ErrAnswered, r.ID)
			}
			if call.Name != r.Name && (!tool.IsCredentialCall(call.Name) || !tool.IsCredentialCall(r.Name)) {
				return nil, fmt.Errorf("%w: the call %s is of %s, not of %s", ErrUnknownCall, r.ID, call.Name, r.Name)
			}
			return ev, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", ErrUnknownCall, r.ID)
}

// isFinal reports whether a response in ev to a call that waits for an answer from
// outside is final. The response of the tool itself is not.
func isFinal(ev *event.Event, r *event.FunctionResponse) bool {
	return ev.Author == event.User && !r.Interim() || ev.ErrorCode == Aborted || agentrt.Closed(r)
}
