package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/parley-run/parley/internal/schema"
	"github.com/parley-run/parley/internal/wire"
)

// New returns a tool made from a Go function. The schema of the arguments is
// derived from In, a struct whose fields have json tags, and jsonschema tags for
// their descriptions; decl.Parameters, if set, is used instead. Arguments that do
// not match the schema do not reach the function: the model receives an error that
// describes the mismatch.
func New[In, Out any](decl Declaration, fn func(ctx *Context, in In) (Out, error)) (Tool, error) {
	if decl.Name == "" {
		return nil, fmt.Errorf("new tool: it needs a name")
	}
	if err := decl.Effect.Check(); err != nil {
		return nil, fmt.Errorf("new tool %s: %w", decl.Name, err)
	}
	shape := &jsonschema.Schema{}
	derived := decl.Parameters == nil
	if !derived {
		if err := json.Unmarshal(decl.Parameters, shape); err != nil {
			return nil, fmt.Errorf("new tool %s: parameters: %w", decl.Name, err)
		}
	} else {
		var err error
		if shape, err = jsonschema.For[In](nil); err != nil {
			return nil, fmt.Errorf("new tool %s: parameters: %w", decl.Name, err)
		}
		relax(shape)
		if decl.Parameters, err = json.Marshal(shape); err != nil {
			return nil, fmt.Errorf("new tool %s: parameters: %w", decl.Name, err)
		}
	}
	if shape.Type != "object" {
		return nil, fmt.Errorf("new tool %s: the arguments must be a struct or another object, not %q", decl.Name, shape.Type)
	}
	resolved, err := schema.Resolve(shape)
	if err != nil {
		return nil, fmt.Errorf("new tool %s: parameters: %w", decl.Name, err)
	}
	return &function[In, Out]{decl: decl, schema: resolved.Resolved, flat: derived && isFlat(shape), fn: fn}, nil
}

// Must returns t, and panics if err is not nil. It is for tools that a program
// creates when it starts.
func Must(t Tool, err error) Tool {
	if err != nil {
		panic(err)
	}
	return t
}

type function[In, Out any] struct {
	decl   Declaration
	schema *jsonschema.Resolved
	flat   bool // see isFlat
	fn     func(*Context, In) (Out, error)
}

func (f *function[In, Out]) Declaration() Declaration { return f.decl }

func (f *function[In, Out]) Call(ctx *Context, args json.RawMessage) (any, error) {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	in, err := f.decode(args)
	if err != nil {
		return nil, err
	}
	out, err := f.fn(ctx, in)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (f *function[In, Out]) check(args json.RawMessage) error {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	_, err := f.decode(args)
	return err
}

// decode validates and decodes arguments.
func (f *function[In, Out]) decode(args json.RawMessage) (in In, err error) {
	if f.flat && complete(args, f.schema.Schema().Required) && jsonv2.Unmarshal(args, &in, exact) == nil {
		return in, nil // the schema requires no more
	}
	var loose map[string]any
	if err := json.Unmarshal(args, &loose); err != nil {
		return in, errors.New("the arguments are not a JSON object")
	}
	if err := f.schema.Validate(loose); err != nil {
		return in, fmt.Errorf("invalid arguments: %s", schema.Plain(err))
	}
	in = *new(In)
	if err := jsonv2.Unmarshal(args, &in, exact); err != nil {
		return in, fmt.Errorf("invalid arguments: %s", mismatch(err))
	}
	return in, nil
}

// isFlat reports whether a derived schema says no more than a struct does: which
// members there are, their simple types, and which are required. Most tools are
// like that, and for them decoding is sufficient validation.
func isFlat(s *jsonschema.Schema) bool {
	for _, p := range s.Properties {
		switch p.Type {
		case "string", "number", "integer", "boolean":
		default:
			return false
		}
	}
	return s.AdditionalProperties == nil
}

// complete reports whether args is an object that has all the required members,
// and no null.
func complete(args json.RawMessage, required []string) bool {
	found := 0
	err := wire.Decode(args, func(r *wire.Reader) error {
		return r.Members(func(name string) error {
			if r.Null() {
				return errNull
			}
			if slices.Contains(required, name) {
				found++
			}
			return r.Skip()
		})
	})
	return err == nil && found == len(required)
}

var errNull = errors.New("null")

// exact decodes structs like encoding/json, except that the case of names matters
// and duplicates are rejected: the function must see exactly the values that were
// validated.
var exact = jsonv2.JoinOptions(
	jsonv1.DefaultOptionsV1(),
	jsonv1.ReportErrorsWithLegacySemantics(false),
	jsonv2.MatchCaseInsensitiveNames(false),
	jsontext.AllowDuplicateNames(false),
)

// relax allows additional members in derived objects. Models invent arguments;
// unknown ones are ignored rather than refused.
func relax(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil { // how "false" is spelled
		s.AdditionalProperties = nil
	}
	relax(s.AdditionalProperties)
	relax(s.Items)
	for _, p := range s.Properties {
		relax(p)
	}
}

// mismatch returns the argument that passed the schema but does not fit its field.
func mismatch(err error) string {
	var at jsontext.Pointer
	msg := "the value does not fit"
	if sem, ok := errors.AsType[*jsonv2.SemanticError](err); ok {
		at = sem.JSONPointer
		if sem.JSONKind == '0' {
			msg = "the number must be in range and, where it is a whole one, written without a fraction"
		} else if sem.Err != nil {
			msg = sem.Err.Error()
		}
	} else if syn, ok := errors.AsType[*jsontext.SyntacticError](err); ok && syn.Err != nil {
		at, msg = syn.JSONPointer, syn.Err.Error()
	}
	if at == "" {
		return msg
	}
	return strings.Join(slices.Collect(at.Tokens()), ".") + ": " + msg
}
