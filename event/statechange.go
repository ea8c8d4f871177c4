package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// StateChange changes a value of the state relative to the value that it has
// when the event is appended to the log. Changes of agents and tools that run
// at the same time add up, whereas of two values that are set only the later
// one remains.
//
// The server resolves it when it appends the event: the log and clients see the
// result in the state delta.
type StateChange struct {
	Key string `json:"key"`
	// Increment is added to a number; a missing value counts as 0.
	Increment json.Number `json:"increment,omitempty"`
	// Append are added to the end of a list, which may be missing.
	Append []json.RawMessage `json:"append,omitempty"`
}

var (
	errNoNumber = errors.New("the value is not a number, so that it cannot be incremented")
	errNoList   = errors.New("the value is not a list, so that nothing can be appended to it")
)

// Apply returns the changed value. value is empty or null if there is none.
func (c *StateChange) Apply(value json.RawMessage) (out json.RawMessage, err error) {
	if c.Increment != "" {
		out, err = add(value, c.Increment)
	} else {
		out, err = appendTo(value, c.Append)
	}
	if err != nil {
		return nil, fmt.Errorf("state %q: %w", c.Key, err)
	}
	return out, nil
}

func isNull(value json.RawMessage) bool { return len(value) == 0 || string(value) == "null" }

// add returns the sum of two numbers: an integer if both are and it fits.
func add(value json.RawMessage, by json.Number) (json.RawMessage, error) {
	if isNull(value) {
		value = json.RawMessage("0")
	}
	if a, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		if b, err := by.Int64(); err == nil && (b >= 0) == (a+b >= a) {
			return strconv.AppendInt(nil, a+b, 10), nil
		}
	}
	var a float64
	b, err := by.Float64()
	if json.Unmarshal(value, &a) != nil || err != nil {
		return nil, errNoNumber
	}
	return json.Marshal(a + b)
}

func appendTo(value json.RawMessage, more []json.RawMessage) (json.RawMessage, error) {
	var out []byte
	switch value = bytes.TrimSpace(value); {
	case isNull(value):
		out = []byte{'['}
	case value[0] != '[' || !json.Valid(value):
		return nil, errNoList
	default:
		out = bytes.TrimRight(slices.Clone(value[:len(value)-1]), " \t\r\n")
	}
	for _, v := range more {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']'), nil
}

// Resolve applies the changes to the state delta; get returns the state before the
// event.
func (a *Actions) Resolve(get func(key string) (json.RawMessage, bool)) error {
	if len(a.StateChanges) == 0 {
		return nil
	}
	delta := make(map[string]json.RawMessage, len(a.StateDelta)+len(a.StateChanges))
	maps.Copy(delta, a.StateDelta)
	for i := range a.StateChanges {
		c := &a.StateChanges[i]
		value, ok := delta[c.Key]
		if !ok {
			value, _ = get(c.Key)
		}
		var err error
		if delta[c.Key], err = c.Apply(value); err != nil {
			return err
		}
	}
	a.StateDelta, a.StateChanges = delta, nil
	return nil
}

// unchange drops the changes of a key whose value is replaced.
func (a *Actions) unchange(key string) {
	if len(a.StateChanges) > 0 {
		a.StateChanges = slices.DeleteFunc(slices.Clone(a.StateChanges), func(c StateChange) bool { return c.Key == key })
	}
}
