package run

import (
	"encoding/json"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/wire"
)

// checkMessage refuses messages that a user cannot send. The error is a *wire.Error
// with the path of the invalid member. A message without a role belongs to the
// user.
func checkMessage(m *event.Content) error {
	problem := func(msg string, path ...any) error {
		return &wire.Error{Type: "value_error", Path: append([]any{"newMessage"}, path...), Msg: msg}
	}
	if m == nil {
		return wire.Missing("newMessage")
	}
	if m.Role == "" {
		m.Role = event.RoleUser
	}
	if m.Role != event.RoleUser {
		return problem(`The role of a message must be "user"`, "role")
	}
	if len(m.Parts) == 0 {
		return problem("No parts in the new_message", "parts")
	}
	for i, p := range m.Parts {
		if p.FunctionCall != nil {
			return problem("User message cannot contain function calls", "parts", i)
		}
		if r := p.FunctionResponse; r != nil {
			if r.ID == "" {
				return problem("A function response needs the id of the call that it answers", "parts", i, "functionResponse", "id")
			}
			if len(r.Response) == 0 {
				r.Response = json.RawMessage("{}")
			}
		}
	}
	return nil
}
