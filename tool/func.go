package tool

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// New makes a tool from a Go function. The schema of the arguments is derived
// from In, a struct whose fields have json tags, and jsonschema tags for their
// descriptions; decl.Parameters, when set, is used instead. Arguments that do
// not fit the schema never reach the function: the model is told what is wrong
// with them.
func New[In, Out any](decl Declaration, fn func(ctx *Context, in In) (Out, error)) (Tool, error) {
	if decl.Name == "" {
		return nil, fmt.Errorf("new tool: it needs a name")
	}
	schema := &jsonschema.Schema{}
	if decl.Parameters != nil {
		if err := json.Unmarshal(decl.Parameters, schema); err != nil {
			return nil, fmt.Errorf("new tool %s: parameters: %w", decl.Name, err)
		}
	} else {
		var err error
		if schema, err = jsonschema.For[In](nil); err != nil {
			return nil, fmt.Errorf("new tool %s: parameters: %w", decl.Name, err)
		}
		// Models invent arguments; those that we do not know are ignored
		// rather than refused.
		schema.AdditionalProperties = nil
		if decl.Parameters, err = json.Marshal(schema); err != nil {
			return nil, fmt.Errorf("new tool %s: parameters: %w", decl.Name, err)
		}
	}
	if schema.Type != "object" {
		return nil, fmt.Errorf("new tool %s: the arguments must be a struct or another object, not %q", decl.Name, schema.Type)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("new tool %s: parameters: %w", decl.Name, err)
	}
	return &function[In, Out]{decl: decl, schema: resolved, fn: fn}, nil
}

// Must is for tools that are made at start: it panics when err is not nil.
func Must(t Tool, err error) Tool {
	if err != nil {
		panic(err)
	}
	return t
}

type function[In, Out any] struct {
	decl   Declaration
	schema *jsonschema.Resolved
	fn     func(*Context, In) (Out, error)
}

func (f *function[In, Out]) Declaration() Declaration { return f.decl }

func (f *function[In, Out]) Call(ctx *Context, args json.RawMessage) (any, error) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	var loose map[string]any
	if err := json.Unmarshal(args, &loose); err != nil {
		return nil, fmt.Errorf("the arguments are not an object: %w", err)
	}
	if err := f.schema.Validate(loose); err != nil {
		return nil, fmt.Errorf("invalid arguments: %s", plain(err))
	}
	var in In
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, fmt.Errorf("invalid arguments: %s", plain(err))
	}
	out, err := f.fn(ctx, in)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// plain drops the Go-side prefixes of an error, which mean nothing to a model.
func plain(err error) string {
	text := err.Error()
	for _, prefix := range []string{"validating root: ", "json: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return text
}
