package agentrt

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
)

// Failure ends a run after its reason has been emitted as an event, so that
// nothing more is sent to the client.
type Failure struct{ Code, Message string } //nolint:errname // it is first of all an outcome

func (f *Failure) Error() string { return f.Message }

// NodeFailure is the failure of a node whose code is not Go.
type NodeFailure struct { //nolint:errname // it is first of all an outcome
	Message string
	Code    string   // empty for none
	Names   []string // of the class of the error
	// Final means that another attempt does not help.
	Final bool
}

func (f *NodeFailure) Error() string { return f.Message }

// CallError is the error of a tool call whose result has a form of its own.
type CallError struct {
	Err      error
	Message  string
	Response json.RawMessage // what the model sees
}

func (e *CallError) Error() string { return e.Message }

func (e *CallError) Unwrap() error { return e.Err }

// Moved is the cause with which the context of a run ends that another process
// continues.
type Moved string //nolint:errname // it is first of all an outcome

func (m Moved) Error() string { return string(m) }

// Panic is a panic in code that an agent called: a model, a tool, a callback.
// Its value and stack are for the server's log; they never reach a client.
type Panic struct { //nolint:errname // it is first of all an outcome
	Where string
	Value any
	Stack []byte
}

func (p *Panic) Error() string { return p.Where + " panicked" }

func (p *Panic) String() string { return fmt.Sprintf("%s panicked: %v\n%s", p.Where, p.Value, p.Stack) }

// Recover turns a panic into an error of type *Panic, which names the code that
// panicked. It is called by defer.
func Recover(err *error, what, name string) {
	if v := recover(); v != nil {
		*err = &Panic{Where: strings.TrimSpace(what + " " + name), Value: v, Stack: debug.Stack()}
	}
}
