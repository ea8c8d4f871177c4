package agent

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/parley-run/parley/event"
)

// PrivateLog is a conversation that no session knows of: that of an agent which
// is used as a tool, or is run by its own code.
type PrivateLog struct {
	mu     sync.RWMutex
	events []*event.Event
	state  map[string]json.RawMessage
	delta  map[string]json.RawMessage
	// changes are those of keys that are not in delta.
	changes []event.StateChange
	saved   event.Actions // the artifacts
}

var _ Log = (*PrivateLog)(nil)

// NewPrivateLog is a conversation that starts with a state and events, which it
// takes over.
func NewPrivateLog(state map[string]json.RawMessage, events []*event.Event) *PrivateLog {
	if state == nil {
		state = map[string]json.RawMessage{}
	}
	return &PrivateLog{events: events, state: state, delta: map[string]json.RawMessage{}}
}

// Emit adds an event. Pieces are dropped.
func (o *PrivateLog) Emit(ev *event.Event) error {
	if ev.Partial {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	changes := ev.Actions.StateChanges
	for key := range ev.Actions.StateDelta {
		o.changes = slices.DeleteFunc(o.changes, func(c event.StateChange) bool { return c.Key == key })
	}
	set := ev.Actions.StateDelta
	if err := ev.Actions.Resolve(func(key string) (json.RawMessage, bool) { v, ok := o.state[key]; return v, ok }); err != nil {
		return err
	}
	for _, c := range changes {
		_, now := set[c.Key]
		if _, before := o.delta[c.Key]; !now && !before {
			o.changes = append(o.changes, c)
		}
	}
	ev.ID = event.NewID()
	o.events = append(o.events, ev)
	o.saved.Merge(&event.Actions{ArtifactDelta: ev.Actions.ArtifactDelta})
	for k, v := range ev.Actions.StateDelta {
		if !slices.ContainsFunc(o.changes, func(c event.StateChange) bool { return c.Key == k }) {
			o.delta[k] = v
		}
		if string(v) == "null" {
			delete(o.state, k)
		} else {
			o.state[k] = v
		}
	}
	return nil
}

// last is what the agent said at the end, or why its model said nothing.
func (o *PrivateLog) last() (string, error) {
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

// Len is the number of events.
func (o *PrivateLog) Len() int {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return len(o.events)
}

// At is the event at a place.
func (o *PrivateLog) At(i int) *event.Event {
	o.mu.RLock()
	defer o.mu.RUnlock()
	return o.events[i]
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
