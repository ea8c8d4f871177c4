package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Input returns the schema for the answer to a call of tool.InputCall with the given
// arguments; nil for none.
func Input(args json.RawMessage) (*Schema, error) {
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
		return nil, fmt.Errorf("responseSchema is not a JSON Schema: %w", err)
	}
	resolved, err := Resolve(root)
	if err != nil {
		return nil, fmt.Errorf("responseSchema is not a JSON Schema: %w", err)
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

// CheckInput returns what is wrong with an answer to a call of tool.InputCall with
// the given arguments, nil if it is valid. The value may be the answer itself,
// or its only member, as it is or as a string of JSON.
func CheckInput(args, answer json.RawMessage) error {
	schema, err := Input(args)
	if schema == nil || err != nil {
		return nil //nolint:nilerr // a call with a schema that is none has been refused, and the user is not asked
	}
	var given any
	if err := json.Unmarshal(answer, &given); err != nil {
		return errors.New("it is not JSON")
	}
	mismatch := schema.Check(given)
	if mismatch == nil {
		return nil
	}
	object, _ := given.(map[string]any)
	for _, name := range []string{"result", "response"} {
		only, ok := object[name]
		if !ok || len(object) != 1 {
			continue
		}
		err := schema.Check(only)
		if err == nil {
			return nil
		}
		var inside any
		if text, ok := only.(string); ok && json.Unmarshal([]byte(text), &inside) == nil && schema.Check(inside) == nil {
			return nil
		}
		mismatch = err
	}
	return errors.New(Plain(mismatch))
}

// InputValue returns what the answer to a call of tool.InputCall with the given
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
	if schema, err := Input(args); err == nil && schema != nil && schema.Check(text) == nil {
		return value
	}
	return json.RawMessage(text)
}
