// Package tool is the edge to the world: what an agent can do, the context that
// a call gets, and tools made from Go functions.
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
	"github.com/parley-run/parley/internal/wire"
)

// Tool is something that a model can call. Implementations must be safe for
// concurrent use.
type Tool interface {
	// Declaration describes the tool. It is the same on every call.
	Declaration() Declaration

	// Call runs the tool. What it returns is encoded as JSON: an object goes
	// to the model as it is, any other value as {"result": value}. An error
	// goes to the model too, as {"status": "error", "error_message": text};
	// the run goes on.
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
	// LongRunning marks a tool whose result is only a receipt: the real answer
	// is sent by a client, later, with the id of the call.
	LongRunning bool
	// Effect says whether a call may be made again when the process that made
	// it died before the result was stored. The zero value is Once.
	Effect Effect
	// NeedsLogin says that calls ask users to log in: a server that could not
	// keep their logins refuses to start with such a tool, rather than to fail
	// when the first user comes.
	NeedsLogin bool
}

// Effect is what calling a tool does to the world outside. It decides what
// becomes of a call that was under way when its process died, and nobody knows
// how far it had come.
type Effect string

// The effects.
const (
	// Once is for tools that must not run twice: the call is not made again,
	// and the model is told that it was interrupted.
	Once Effect = "once"
	// Ask is Once for tools where somebody has to know: a call that may or may
	// not have been made is put before the user, and the run waits for the
	// answer, which is sent like that to a long-running call.
	Ask Effect = "ask"
	// Idempotent is for tools that can tell a repetition: the call is made
	// again, and Context.FunctionCallID is the same as it was the first time.
	// Give it to whatever does the work as the idempotency key.
	Idempotent Effect = "idempotent"
	// Pure is for tools that only read or reckon: the call is made again.
	Pure Effect = "pure"
)

// Repeatable reports whether a call may be made again if nobody knows how far
// it had come.
func (e Effect) Repeatable() bool { return e == Pure || e == Idempotent }

// Check reports an effect that is none of the above.
func (e Effect) Check() error {
	switch e {
	case "", Once, Ask, Idempotent, Pure:
		return nil
	}
	return fmt.Errorf("the effect %q is not known: it is one of %q, %q, %q and %q", string(e), Pure, Idempotent, Once, Ask)
}

// Context is what a call sees of the run that it is part of. Callbacks of
// agents get one too, without a function call.
//
// A Context belongs to one call; the call may use it from several goroutines
// only if it does its own locking.
type Context struct {
	context.Context

	App, User, Session string
	InvocationID       string
	Agent              string         // the name of the agent that is at work
	UserContent        *event.Content // the message that started the run
	// FunctionCallID is empty outside of a tool call. It stays the same when a
	// call is made again by another process; see Effect.
	FunctionCallID string

	// State is the session's state. What is set becomes part of Actions.
	State *State
	// Actions are carried by the event that reports the call.
	Actions *event.Actions
	// Credentials are the logins of the user, nil where there are none.
	Credentials Credentials
	// Confirmation is set when the user has approved the call; see
	// RequestConfirmation.
	Confirmation *Confirmation
	// Artifacts are the files of the session and of the user, nil where there
	// can be none. See SaveArtifact and LoadArtifact.
	Artifacts Artifacts
	// Memory is what was said in earlier sessions, nil where there is none. See
	// SearchMemory.
	Memory Memory
}

// Lookup finds a value of the session's state.
type Lookup interface {
	// Get returns the value of a key and whether there is one.
	Get(key string) (json.RawMessage, bool)
	// All returns a copy of everything.
	All() map[string]json.RawMessage
}

// State is the session's state as one call sees it: what is stored, and what
// the call itself has changed. What is set replaces the value that the key has
// when the event of the call is stored: of calls that set one key at the same
// time, the one whose event comes later wins, and within one event, the later
// call in the order of the model's. Increment and Append lose nothing. Keys that start with "user:" are shared by all
// sessions of the user, with "app:" by all users of the application; "temp:"
// keys are gone when the run ends. "secret:" keys are for tools alone: no client
// reads or writes them, they are in no event, and All does not have them.
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

// Raw returns the JSON of a value and whether there is one. One that cannot be
// read counts as absent; Get says why.
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

// set is the value of a key without what StateChanges make of it.
func (s *State) set(key string) (v json.RawMessage, ok bool, err error) {
	v, ok = s.actions.StateDelta[key]
	switch {
	case ok && string(v) != Sealed:
		return v, string(v) != "null", nil
	case !ok && (s.sealed == nil || !IsSecret(key)):
		v, ok = s.base.Get(key)
	}
	if s.sealed != nil && (string(v) == Sealed || IsSecret(key)) {
		if v, ok, err = s.sealed.Open(key); err != nil {
			return nil, true, fmt.Errorf("state %q: %w", key, err)
		}
	}
	return v, ok, nil
}

// Get decodes the value of key into the variable that into points to, and
// reports whether there was one.
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

// Set changes a value. nil deletes the key.
func (s *State) Set(key string, value any) error {
	v, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("state %q: %w", key, err)
	}
	s.actions.Merge(&event.Actions{StateDelta: map[string]json.RawMessage{key: v}})
	return nil
}

// Increment adds to a number; a key that is not there counts as 0. Other than Set,
// it works on the value as it is when the event of the call is stored: calls that
// are made at the same time add up. Only keys of the session itself, and "temp:"
// keys, can be incremented.
func (s *State) Increment(key string, by float64) error {
	n := json.Number(strconv.FormatFloat(by, 'f', -1, 64))
	if math.IsNaN(by) || math.IsInf(by, 0) {
		return fmt.Errorf("state %q: %v cannot be added", key, by)
	}
	return s.change(event.StateChange{Key: key, Increment: n})
}

// Append adds values to the end of a list, which need not be there yet. It works
// like Increment.
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

// change records a change, if the value as it is now would take it.
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

// Delete removes a key.
func (s *State) Delete(key string) { _ = s.Set(key, nil) }

// All returns a copy of the whole state, but for "secret:" keys.
func (s *State) All() map[string]json.RawMessage {
	all := s.stored()
	for k, v := range all {
		if s.sealed == nil || string(v) != Sealed {
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

// Result is the JSON object that stands for what a tool returned.
func Result(value any) (json.RawMessage, error) {
	raw, ok := value.(json.RawMessage)
	if !ok {
		var err error
		if raw, err = json.Marshal(value); err != nil {
			return nil, fmt.Errorf("encode the result: %w", err)
		}
		if raw[0] == '{' && wire.IsKept(raw) {
			return raw, nil
		}
	}
	if len(raw) == 0 {
		raw = json.RawMessage("null")
	}
	// A RawMessage is whatever the tool got hold of: here is where a broken one
	// can still be told to the model, later it would break the event.
	out, err := wire.Compact([]byte(`{"result":`), raw)
	if err != nil {
		return nil, fmt.Errorf("encode the result: %w", err)
	}
	if object := out[len(`{"result":`):]; object[0] == '{' {
		return object, nil
	}
	return append(out, '}'), nil
}

// ErrorResult is the JSON object that tells a model that a call failed.
func ErrorResult(message string) json.RawMessage {
	return append(wire.Quote([]byte(`{"status":"error","error_message":`), message), '}')
}
