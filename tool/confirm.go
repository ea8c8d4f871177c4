package tool

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Confirmation is the user's answer to the question whether a call may be made.
type Confirmation struct {
	// Hint is the text that the user saw.
	Hint string
	// Confirmed means that the user approved. A rejected call is not made, so
	// tools always see true.
	Confirmed bool
	// Payload is what the user sent with the answer, which may be null, or else
	// the payload of the question; nil if there was neither.
	Payload json.RawMessage
	// Args replace the arguments of the call; nil if the user has not changed them.
	Args json.RawMessage
	// Reason is why the user rejected the call, for the model; it may be empty.
	Reason string
}

// NeedsConfirmation is the result that a model receives while the user decides.
const NeedsConfirmation = "This tool call requires confirmation, please approve or reject."

var errNoQuestion = errors.New("only a tool that an agent calls can ask for a confirmation")

// RequestConfirmation asks the user whether the call may be made. The call
// should then return without doing anything: the run waits, and when the user
// has approved, the call is repeated with the same id, the same arguments unless
// the user has changed them, and Context.Confirmation. The hint explains the question to the user; payload,
// which may be nil, is data to decide on or to fill in.
func (c *Context) RequestConfirmation(hint string, payload any) error {
	if c.FunctionCallID == "" {
		return errNoQuestion
	}
	question := struct {
		Hint      string `json:"hint"`
		Confirmed bool   `json:"confirmed"`
		Payload   any    `json:"payload,omitempty"`
	}{Hint: hint, Payload: payload}
	doc, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("encode the payload of a confirmation: %w", err)
	}
	if c.Actions.RequestedToolConfirmations == nil {
		c.Actions.RequestedToolConfirmations = map[string]json.RawMessage{}
	}
	c.Actions.RequestedToolConfirmations[c.FunctionCallID] = doc
	return nil
}

// When decides whether a call has to be confirmed by the user.
type When func(ctx *Context, args json.RawMessage) (bool, error)

// Confirm returns a tool that calls t only when the user has approved the call.
// With a when, only the calls for which it returns true are asked about.
func Confirm(t Tool, when When) Tool { return &guarded{t, when} }

type guarded struct {
	Tool
	when When
}

// AsksFirst reports whether every call is confirmed before the tool does anything.
func (g *guarded) AsksFirst() bool { return g.when == nil }

// checker is a tool that can check arguments before a call.
type checker interface {
	check(args json.RawMessage) error
}

func (g *guarded) Call(ctx *Context, args json.RawMessage) (any, error) {
	if ctx.Confirmation != nil {
		return g.Tool.Call(ctx, args)
	}
	if t, ok := g.Tool.(checker); ok {
		if err := t.check(args); err != nil {
			return nil, err // the user should not approve a call that cannot be made
		}
	}
	if g.when != nil {
		if ask, err := g.when(ctx, args); err != nil {
			return nil, err
		} else if !ask {
			return g.Tool.Call(ctx, args)
		}
	}
	name := g.Declaration().Name
	if err := ctx.RequestConfirmation("Please approve or reject the call of "+name+".", nil); err != nil {
		return nil, err
	}
	return map[string]string{"error": NeedsConfirmation}, nil
}
