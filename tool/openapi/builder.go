package openapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/parley-run/parley/tool"
)

// builder creates the tools of one document.
type builder struct {
	cfg   Config
	doc   *document
	api   *api
	names map[string]bool
	base  *url.URL // of the document's first server
}

// methods are the methods of operations, in the order of their tools.
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	http.MethodOptions, http.MethodTrace,
}

func (b *builder) build() (*Toolset, error) {
	set := &Toolset{}
	count := 0
	for _, path := range b.doc.Paths.Keys() {
		item := b.doc.Paths.Value(path)
		if item == nil {
			continue
		}
		for _, method := range methods {
			op := item.GetOperation(method)
			if op == nil {
				continue
			}
			count++
			name := unique(b.names, toolName(op.OperationID, method, path), b.maxName())
			if b.cfg.Filter != nil && !b.cfg.Filter(name) {
				continue
			}
			if b.cfg.Prefix != "" {
				name = b.cfg.Prefix + "_" + name
			}
			o := &operation{api: b.api, method: method, at: method + " " + path}
			if err := b.operation(o, name, path, item, op); err != nil {
				return nil, fmt.Errorf("paths.%s.%s: %w", path, strings.ToLower(method), err)
			}
			set.tools = append(set.tools, o)
		}
	}
	switch {
	case count == 0:
		return nil, errors.New("paths: the document has no operations")
	case len(set.tools) == 0:
		return nil, errors.New("none of the document's operations passes the filter")
	}
	return set, nil
}

// maxName is the maximum length of a name without the prefix.
func (b *builder) maxName() int {
	if b.cfg.Prefix == "" {
		return maxName
	}
	return maxName - len(b.cfg.Prefix) - 1
}

func (b *builder) operation(o *operation, name, path string, item *openapi3.PathItem, op *openapi3.Operation) error {
	decl := tool.Declaration{Name: name, Description: description(o.at, item, op)}
	var err error
	if decl.Effect, err = effect(o.method, op.Extensions); err != nil {
		return err
	}
	if o.base, err = b.server(item, op); err != nil {
		return err
	}
	if o.path, err = parsePath(path); err != nil {
		return err
	}
	if o.login, err = b.login(op); err != nil {
		return err
	}
	decl.NeedsLogin = o.login != nil && o.login.problem == nil && o.login.cfg.NeedsUser()
	args := newArguments(b.cfg.PreserveNames)
	for _, p := range merged(item.Parameters, op.Parameters) {
		if !o.login.carries(p) {
			o.params = append(o.params, args.param(p))
		}
	}
	if op.RequestBody != nil && op.RequestBody.Value != nil {
		o.body = args.body(op.RequestBody.Value)
	}
	o.args = args.list
	if decl.Parameters, err = args.schema(); err != nil {
		return err
	}
	o.inner, err = tool.New(decl, func(_ *tool.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil })
	return err
}

func description(at string, item *openapi3.PathItem, op *openapi3.Operation) string {
	text := at
	for _, said := range []string{op.Description, op.Summary, item.Description, item.Summary} {
		if said = strings.TrimSpace(said); said != "" {
			text = said
			break
		}
	}
	if op.Deprecated {
		text = remark(text, "Deprecated.")
	}
	return text
}

// effect returns the effect that HTTP defines for a method, unless the document
// overrides it.
func effect(method string, extensions map[string]any) (tool.Effect, error) {
	if own, ok := extensions["x-parley-effect"]; ok {
		text, _ := own.(string)
		e := tool.Effect(text)
		if err := e.Check(); err != nil || e == "" {
			return "", fmt.Errorf("x-parley-effect: %v is not known: it is one of %q, %q and %q", own, tool.Pure, tool.Idempotent, tool.Once)
		}
		return e, nil
	}
	switch method {
	case http.MethodGet, http.MethodHead:
		return tool.Pure, nil
	case http.MethodPut, http.MethodDelete:
		return tool.Idempotent, nil
	}
	return tool.Once, nil
}

// merged returns the parameters of an operation and of its path. Those of the
// operation take precedence. Three headers are never parameters, even if a document
// has them.
func merged(shared, own openapi3.Parameters) (list []*openapi3.Parameter) {
	for _, ref := range slices.Concat(own, shared) {
		if ref == nil || ref.Value == nil {
			continue
		}
		p := ref.Value
		if p.In == openapi3.ParameterInHeader && slices.Contains([]string{"accept", "content-type", "authorization"}, strings.ToLower(p.Name)) {
			continue
		}
		if !slices.ContainsFunc(list, func(q *openapi3.Parameter) bool { return p.Name == q.Name && p.In == q.In }) {
			list = append(list, p)
		}
	}
	order := []string{"path", "query", "header", "cookie"}
	slices.SortStableFunc(list, func(p, q *openapi3.Parameter) int {
		return slices.Index(order, p.In) - slices.Index(order, q.In)
	})
	return list
}

// arguments collects the arguments of a tool.
type arguments struct {
	preserve bool
	taken    map[string]bool
	list     []*argument
	schemas  *schemas
}

// argument is one argument of a tool.
type argument struct {
	name     string
	required bool
	null     bool            // whether null is a value; otherwise it counts as missing
	fallback json.RawMessage // the default

	description string
	binary      bool                  // base64 stands for bytes
	many        bool                  // a list
	from        []*openapi3.SchemaRef // all of which hold
}

func newArguments(preserve bool) *arguments {
	return &arguments{preserve: preserve, taken: map[string]bool{}, schemas: newSchemas()}
}

// add adds an argument under a unique name.
func (a *arguments) add(name, place string, arg *argument) *argument {
	if plain := snake(name); !a.preserve && plain != "" {
		name = plain
	}
	arg.name = unique(a.taken, name, math.MaxInt, "_"+place)
	for _, ref := range arg.from {
		a.schemas.scan(ref)
	}
	// An argument with a default is optional, even if the parameter is required.
	if arg.required {
		arg.fallback = preset(arg)
		arg.required = arg.fallback == nil
	}
	a.list = append(a.list, arg)
	return arg
}

// preset returns the default of an argument.
func preset(arg *argument) json.RawMessage {
	for _, ref := range arg.from {
		if ref != nil && ref.Value != nil && ref.Value.Default != nil {
			return encoded(ref.Value.Default)
		}
	}
	return nil
}

// schema returns the JSON Schema of all arguments.
func (a *arguments) schema() (json.RawMessage, error) {
	root := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	for _, arg := range a.list {
		root.Properties[arg.name] = a.property(arg)
		root.PropertyOrder = append(root.PropertyOrder, arg.name)
		if arg.required {
			root.Required = append(root.Required, arg.name)
		}
	}
	if len(a.schemas.defs) > 0 {
		root.Defs = a.schemas.defs
	}
	return json.Marshal(root)
}

func (a *arguments) property(arg *argument) *jsonschema.Schema {
	var out *jsonschema.Schema
	switch {
	case arg.binary && !arg.many:
		out = &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}
		if len(arg.from) > 0 && arg.from[0] != nil && arg.from[0].Value != nil {
			out.Description = arg.from[0].Value.Description
		}
	case len(arg.from) == 1:
		out = a.schemas.convert(arg.from[0])
	default:
		out = &jsonschema.Schema{AllOf: a.schemas.list(arg.from)}
	}
	if arg.description != "" {
		if out.Ref != "" { // some models accept no other members next to it
			out = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{out}}
		}
		out.Description = arg.description
	}
	if arg.binary && out.Ref == "" {
		out.Description = remark(out.Description, "The bytes in base64.")
	}
	return out
}
