// Package tool defines tools, the functions that a model can call.
//
// New makes a Tool from a Go function, whose arguments it describes to models and
// checks. The function receives a Context: the session's State, the files and the
// logins of the user, and requests to the user. A Toolset is a source of tools that
// can change. Confirm makes a tool ask the user first; RequestInput and UserChoice
// are tools with which a model asks the user itself.
package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/redact"
)

// Tool is a function that a model can call. Implementations must be safe for
// concurrent use.
type Tool interface {
	// Declaration describes the tool. It is the same on every call.
	Declaration() Declaration

	// Call runs the tool. Its result is encoded as JSON: an object is passed
	// to the model unchanged, any other value as {"result": value}. An error
	// is passed to the model, too, as {"status": "error", "error_message": text};
	// the run continues.
	//
	// A long-running tool may return nil: its answer comes later, from outside.
	Call(ctx *Context, args json.RawMessage) (any, error)
}

// Declaration describes a tool to models and to people.
type Declaration struct {
	Name        string
	Description string
	// Parameters is the JSON Schema of the arguments, of type object.
	Parameters json.RawMessage
	// LongRunning marks a tool that returns before its work is done: a client
	// sends the final response later, with the id of the call.
	LongRunning bool
	// Effect says whether a call may be repeated when the process that made it
	// died before the result was stored. The zero value is Once.
	Effect Effect
	// NeedsLogin says that calls ask users to log in. A server that cannot
	// store logins refuses to start with such a tool, instead of failing at the
	// first call.
	NeedsLogin bool
}

// Effect is what a call of a tool does to the outside world. It decides what
// happens to a call that had begun when its process died.
type Effect string

// The effects.
const (
	// Once is for tools that must not run twice: the call is not repeated, and
	// its answer to the model says that it was interrupted.
	Once Effect = "once"
	// Ask is like Once for tools whose outcome a person has to determine: the user
	// is asked for the outcome of the call, and the run waits for the answer, which
	// is sent as for a long-running call.
	Ask Effect = "ask"
	// Idempotent is for tools that recognize a repetition: the call is repeated
	// with the same Context.FunctionCallID. Use it as the idempotency key.
	Idempotent Effect = "idempotent"
	// Pure is for tools that only read or compute: the call is repeated.
	Pure Effect = "pure"
)

// Repeatable reports whether a call may be repeated if its progress is unknown.
func (e Effect) Repeatable() bool { return e == Pure || e == Idempotent }

// Check returns an error if e is neither empty, which means Once, nor one of the
// constants.
func (e Effect) Check() error {
	switch e {
	case "", Once, Ask, Idempotent, Pure:
		return nil
	}
	return fmt.Errorf("the effect %q is not known: it is one of %q, %q, %q and %q", string(e), Pure, Idempotent, Once, Ask)
}

// Context describes the run to a call. Callbacks of agents receive one, too,
// without
// a function call.
//
// A Context belongs to one call. A call that uses it from several goroutines
// must synchronize them.
type Context struct {
	context.Context

	App, User, Session string
	InvocationID       string
	Agent              string         // the name of the active agent
	UserContent        *event.Content // the message that started the run
	// FunctionCallID is empty outside of a tool call. It stays the same when
	// another process repeats a call; see Effect.
	FunctionCallID string

	// State is the session's state. Changes become part of Actions.
	State *State
	// Actions become part of the event with the result of the call.
	Actions *event.Actions
	// Credentials are the logins of the user, nil if there is no store for
	// them.
	Credentials Credentials
	// Confirmation is set when the user has approved the call; see
	// RequestConfirmation.
	Confirmation *Confirmation
	// Artifacts are the files of the session and of the user, nil if there is
	// no store for them. See SaveArtifact and LoadArtifact.
	Artifacts Artifacts
	// Memory searches earlier sessions, nil if there is none. See SearchMemory.
	Memory Memory
}

// Lookup reads the session's state.
type Lookup interface {
	// Get returns the value of a key and whether there is one.
	Get(key string) (json.RawMessage, bool)
	// All returns a copy of the whole state.
	All() map[string]json.RawMessage
}

// State is the session's state as one call sees it: what is stored, and what
// the call itself has changed.
//
// A value that is set replaces the one that the key has when the event of the
// call is stored: if calls set one key at the same time, the one whose event is
// stored later wins, and within one event, the later call in the order of the
// model's response. Increment and Append lose nothing.
//
// Keys that start with "user:" are shared by all sessions of the user, those
// with "app:" by all users of the application; "temp:" keys are deleted when
// the run ends. Only tools can read "secret:" keys: clients cannot read or
// write them, and neither events nor All contain them.
type State struct {
	base    Lookup
	actions *event.Actions
	sealed  opener // nil if nothing is sealed
}

// opener is a Lookup that can open sealed values.
type opener interface {
	Open(key string) (value json.RawMessage, ok bool, err error)
}

// NewState returns a view of base that records changes in actions. Authors need
// it for tests of their tools.
func NewState(base Lookup, actions *event.Actions) *State {
	sealed, _ := base.(opener)
	return &State{base: base, actions: actions, sealed: sealed}
}

// Raw returns the JSON of a value and whether there is one. A value that cannot
// be read counts as missing; Get returns the error.
func (s *State) Raw(key string) (json.RawMessage, bool) {
	v, ok, err := s.find(key)
	return v, ok && err == nil
}

func (s *State) find(key string) (v json.RawMessage, ok bool, err error) {
	v, ok, err = s.set(key)
	for i := range s.actions.StateChanges {
		if c := &s.actions.StateChanges[i]; c.Key == key && err == nil {
			v, err = c.Apply(v)
			ok = true
		}
	}
	return v, ok, err
}

// set returns the value of a key before StateChanges are applied.
func (s *State) set(key string) (v json.RawMessage, ok bool, err error) {
	v, ok = s.actions.StateDelta[key]
	switch {
	case ok && string(v) != redact.Sealed:
		return v, string(v) != "null", nil
	case !ok && (s.sealed == nil || !IsSecret(key)):
		v, ok = s.base.Get(key)
	}
	if s.sealed != nil && (string(v) == redact.Sealed || IsSecret(key)) {
		if v, ok, err = s.sealed.Open(key); err != nil {
			return nil, true, fmt.Errorf("state %q: %w", key, err)
		}
	}
	return v, ok, nil
}

// Get decodes the value of key into the variable that into points to, and
// reports whether there was one. See also Value.
func (s *State) Get(key string, into any) (bool, error) {
	v, ok, err := s.find(key)
	if !ok || err != nil {
		return ok, err
	}
	if err := json.Unmarshal(v, into); err != nil {
		return true, fmt.Errorf("state %q: %w", key, err)
	}
	return true, nil
}

// Value returns the value of a key of the state, and the zero value if there is
// none.
func Value[T any](s *State, key string) (value T, err error) {
	_, err = s.Get(key, &value)
	return value, err
}

// Set sets a value. nil deletes the key.
func (s *State) Set(key string, value any) error {
	v, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("state %q: %w", key, err)
	}
	s.actions.Merge(&event.Actions{StateDelta: map[string]json.RawMessage{key: v}})
	return nil
}

// Increment adds to a number; a missing key counts as 0. Unlike Set, it changes
// the value that the key has when the event of the call is stored, so calls
// that run at the same time add up. "user:", "app:" and "secret:" keys cannot
// be incremented.
func (s *State) Increment(key string, by float64) error {
	n := json.Number(strconv.FormatFloat(by, 'f', -1, 64))
	if math.IsNaN(by) || math.IsInf(by, 0) {
		return fmt.Errorf("state %q: %v cannot be added", key, by)
	}
	return s.change(event.StateChange{Key: key, Increment: n})
}

// Append adds values to the end of a list; a missing key counts as an empty
// one. It works like Increment.
func (s *State) Append(key string, values ...any) error {
	c := event.StateChange{Key: key, Append: make([]json.RawMessage, 0, len(values))}
	for _, value := range values {
		v, err := json.Marshal(value)
		if err != nil {
			return fmt.Errorf("state %q: %w", key, err)
		}
		c.Append = append(c.Append, v)
	}
	return s.change(c)
}

// change records a change, if the current value allows it.
func (s *State) change(c event.StateChange) error {
	for _, prefix := range []string{"user:", "app:", SecretPrefix} {
		if strings.HasPrefix(c.Key, prefix) {
			return fmt.Errorf("state %q: keys that start with %s cannot be incremented or appended to, since other sessions may change them at the same time. Use a key of the session, or Set", c.Key, prefix)
		}
	}
	v, _, err := s.find(c.Key)
	if err != nil {
		return err
	}
	if _, err := c.Apply(v); err != nil {
		return err
	}
	s.actions.StateChanges = append(slices.Clip(s.actions.StateChanges), c)
	return nil
}

// Delete deletes a key.
func (s *State) Delete(key string) { _ = s.Set(key, nil) }

// All returns a copy of the whole state without "secret:" keys.
func (s *State) All() map[string]json.RawMessage {
	all := s.stored()
	for k, v := range all {
		if s.sealed == nil || string(v) != redact.Sealed {
			continue
		}
		if v, ok := s.Raw(k); ok {
			all[k] = v
		} else {
			delete(all, k)
		}
	}
	return all
}

// stored returns the state with its sealed values as they are stored.
func (s *State) stored() map[string]json.RawMessage {
	all := s.base.All()
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	for k, v := range s.actions.StateDelta {
		if string(v) == "null" || IsSecret(k) {
			delete(all, k)
		} else {
			all[k] = v
		}
	}
	for i := range s.actions.StateChanges {
		c := &s.actions.StateChanges[i]
		if v, err := c.Apply(all[c.Key]); err == nil {
			all[c.Key] = v
		}
	}
	return all
}
