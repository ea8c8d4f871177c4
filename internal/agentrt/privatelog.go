package agentrt

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/parley-run/parley/event"
)

// PrivateLog is a conversation that is not part of a session: that of an agent
// which is used as a tool, or which a script runs itself. Delta, Changes and
// Saved may be accessed while no agent runs.
type PrivateLog struct {
	// Delta holds the values that the conversation has set.
	Delta map[string]json.RawMessage
	// Changes are those of keys that are not in Delta.
	Changes []event.StateChange
	// Saved names the artifacts that the conversation has saved.
	Saved event.Actions

	mu     sync.RWMutex
	events []*event.Event
	state  map[string]json.RawMessage

	derived any
}

var _ Log = (*PrivateLog)(nil)

// NewPrivateLog returns a conversation that starts with a state and events. The
// caller must not use them afterwards.
func NewPrivateLog(state map[string]json.RawMessage, events []*event.Event) *PrivateLog {
	if state == nil {
		state = map[string]json.RawMessage{}
	}
	return &PrivateLog{events: events, state: state, Delta: map[string]json.RawMessage{}}
}

// Emit appends an event. Partial events are dropped.
func (o *PrivateLog) Emit(ev *event.Event) error {
	if ev.Partial {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	changes := ev.Actions.StateChanges
	for key := range ev.Actions.StateDelta {
		o.Changes = slices.DeleteFunc(o.Changes, func(c event.StateChange) bool { return c.Key == key })
	}
	set := ev.Actions.StateDelta
	if err := ev.Actions.Resolve(func(key string) (json.RawMessage, bool) { v, ok := o.state[key]; return v, ok }); err != nil {
		return err
	}
	for _, c := range changes {
		_, now := set[c.Key]
		if _, before := o.Delta[c.Key]; !now && !before {
			o.Changes = append(o.Changes, c)
		}
	}
	ev.ID = event.NewID()
	o.events = append(o.events, ev)
	o.Saved.Merge(&event.Actions{ArtifactDelta: ev.Actions.ArtifactDelta})
	for k, v := range ev.Actions.StateDelta {
		if !slices.ContainsFunc(o.Changes, func(c event.StateChange) bool { return c.Key == k }) {
			o.Delta[k] = v
		}
		if string(v) == "null" {
			delete(o.state, k)
		} else {
			o.state[k] = v
		}
	}
	return nil
}

// Last returns the last text of the agent, or the error of its model if there is
// none.
func (o *PrivateLog) Last() (string, error) {
	for _, ev := range slices.Backward(o.events) {
		if ev.Author == event.User {
			continue
		}
		if text := ev.Content.Text(); text != "" {
			return text, nil
		}
		if ev.ErrorCode != "" || ev.ErrorMessage != "" {
			return "", errors.New(strings.TrimPrefix(ev.ErrorCode+": "+ev.ErrorMessage, ": "))
		}
	}
	return "", nil
}

// Len returns the number of events.
func (o *PrivateLog) Len() int {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return len(o.events)
}

// At returns the event at index i.
func (o *PrivateLog) At(i int) *event.Event {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.events[i]
}

// Events returns the events. It may be called while no agent runs.
func (o *PrivateLog) Events() []*event.Event { return o.events }

// Derived returns the value that create has returned in the first call; see
// session.CallIndex.
func (o *PrivateLog) Derived(create func() any) any {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.derived == nil {
		o.derived = create()
	}
	return o.derived
}

// Get returns a value of the state.
func (o *PrivateLog) Get(key string) (json.RawMessage, bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	v, ok := o.state[key]
	return v, ok
}

// All returns a copy of the state.
func (o *PrivateLog) All() map[string]json.RawMessage {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return maps.Clone(o.state)
}
