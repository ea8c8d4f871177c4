package tool

import (
	"encoding/json"
	"errors"

	"github.com/parley-run/parley/internal/schema"
)

// The names of the tools with which a model asks the user something. They are
// long-running: the answer is what a client sends for the call.
const (
	InputCall  = "adk_request_input"
	ChoiceCall = "get_user_choice"
)

// RequestInput returns a tool with which a model asks the user for a text, or
// for a value that matches a schema. An answer that does not match is refused,
// and the user can answer again.
func RequestInput() Tool {
	return ask{Declaration{
		Name: InputCall, LongRunning: true, Effect: Pure,
		Description: "Asks the user for something that is not known, and waits for the answer.",
		Parameters: json.RawMessage(`{"type":"object","properties":{` +
			`"message":{"type":"string","description":"The question, as the user is to read it."},` +
			`"responseSchema":{"type":"object","description":"The JSON Schema of the answer, if it is to be more than a text."}},` +
			`"required":["message"]}`),
	}}
}

// UserChoice returns a tool with which a model lets the user choose from a
// list.
func UserChoice() Tool {
	return ask{Declaration{
		Name: ChoiceCall, LongRunning: true, Effect: Pure,
		Description: "Shows options to the user, and waits until one of them is chosen.",
		Parameters:  json.RawMessage(`{"type":"object","properties":{"options":{"type":"array","items":{"type":"string"}}},"required":["options"]}`),
	}}
}

// ask is a tool that does nothing but wait.
type ask struct{ decl Declaration }

func (a ask) Declaration() Declaration { return a.decl }

func (a ask) Call(_ *Context, args json.RawMessage) (any, error) {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, errors.New("the arguments are not a JSON object")
	}
	if a.decl.Name == ChoiceCall {
		var options []string
		if err := json.Unmarshal(in["options"], &options); err != nil || len(options) == 0 {
			return nil, errors.New("invalid arguments: options must be a list of texts")
		}
		return nil, nil
	}
	// The user must be able to answer.
	if _, err := schema.Input(args); err != nil {
		return nil, err
	}
	return nil, nil
}
