package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
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
	if _, err := inputSchema(args); err != nil {
		return nil, err
	}
	return nil, nil
}

// inputSchema returns the schema for the answer to a call of InputCall; nil for
// none.
func inputSchema(args json.RawMessage) (*schema, error) {
	var in struct {
		Camel json.RawMessage `json:"responseSchema"`
		Snake json.RawMessage `json:"response_schema"`
	}
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, errors.New("the arguments are not a JSON object")
	}
	doc := in.Camel
	if len(doc) == 0 {
		doc = in.Snake
	}
	if len(doc) == 0 || string(doc) == "null" {
		return nil, nil
	}
	var loose any
	if err := json.Unmarshal(doc, &loose); err != nil {
		return nil, err
	}
	if len(doc)*levels(loose) > maxSchema {
		return nil, errors.New("responseSchema is too long")
	}
	doc, err := json.Marshal(lowerTypes(loose))
	if err != nil {
		return nil, err
	}
	root := &jsonschema.Schema{}
	if err := json.Unmarshal(doc, root); err != nil {
		return nil, fmt.Errorf("responseSchema is no JSON Schema: %w", err)
	}
	resolved, err := resolve(root)
	if err != nil {
		return nil, fmt.Errorf("responseSchema is no JSON Schema: %w", err)
	}
	return resolved, nil
}

// lowerTypes converts the types of a schema to those of JSON Schema: models that
// know the schemas of Gemini write STRING.
func lowerTypes(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if text, ok := member.(string); ok && name == "type" {
				v[name] = strings.ToLower(text)
			} else {
				v[name] = lowerTypes(member)
			}
		}
	case []any:
		for i := range v {
			v[i] = lowerTypes(v[i])
		}
	}
	return v
}

// CheckInput returns what is wrong with an answer to a call of InputCall with
// the given arguments, nil if it is valid. The value may be the answer itself,
// or its only member, as it is or as a string of JSON.
func CheckInput(args, answer json.RawMessage) error {
	schema, err := inputSchema(args)
	if schema == nil || err != nil {
		return nil //nolint:nilerr // a call with a schema that is none has been refused, and the user is not asked
	}
	var given any
	if err := json.Unmarshal(answer, &given); err != nil {
		return errors.New("it is no JSON")
	}
	mismatch := schema.check(given)
	if mismatch == nil {
		return nil
	}
	object, _ := given.(map[string]any)
	for _, name := range []string{"result", "response"} {
		only, ok := object[name]
		if !ok || len(object) != 1 {
			continue
		}
		err := schema.check(only)
		if err == nil {
			return nil
		}
		var inside any
		if text, ok := only.(string); ok && json.Unmarshal([]byte(text), &inside) == nil && schema.check(inside) == nil {
			return nil
		}
		mismatch = err
	}
	return errors.New(plain(mismatch.Error()))
}

// InputValue returns what the answer to a call of InputCall with the given
// arguments says: the answer itself, or its only member "result". A string of JSON
// is decoded unless the schema of the answer accepts strings.
func InputValue(args, answer json.RawMessage) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(answer, &object) != nil || len(object) != 1 || object["result"] == nil {
		return answer
	}
	value := object["result"]
	var text string
	if json.Unmarshal(value, &text) != nil || !json.Valid([]byte(text)) {
		return value
	}
	if schema, err := inputSchema(args); err == nil && schema != nil && schema.check(text) == nil {
		return value
	}
	return json.RawMessage(text)
}
