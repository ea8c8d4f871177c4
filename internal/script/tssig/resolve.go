package tssig

import (
	"maps"
	"strings"
)

// resolver turns types into JSON Schema.
type resolver struct {
	*module
	active map[string]bool // the declarations that are being resolved
	steps  int             // that remain; at 0, everything is any
}

// maxSteps bounds the size of one function's schema: types that use each other
// twice would double it with every name.
const maxSteps = 1000

type typeEnv map[string]*jsonSchema // type parameters

func (r *resolver) schema(t *typeExpr, env typeEnv) *jsonSchema {
	if r.steps--; r.steps < 0 || t == nil {
		return &jsonSchema{}
	}
	switch t.form {
	case formName:
		return r.name(t, env)
	case formLiteral:
		return enumOf([]any{t.value})
	case formText:
		return typed("string")
	case formArray:
		return &jsonSchema{Type: "array", Items: r.item(t.parts[0], env)}
	case formTuple:
		return r.tuple(t, env)
	case formUnion:
		return union(r.all(t.parts, env))
	case formIntersection:
		return intersection(r.all(t.parts, env))
	case formObject:
		return r.object(t, env)
	case formMapped:
		m := t.members[0]
		return r.record(r.schema(m.index, env), m.optional, func(key string) *jsonSchema {
			inner := typeEnv{}
			maps.Copy(inner, env)
			inner[m.name] = enumOf([]any{key})
			if key == "" {
				inner[m.name] = typed("string")
			}
			return r.schema(m.typ, inner)
		})
	case formFunction:
		return &jsonSchema{noData: true}
	case formKeyof:
		return keyof(r.schema(t.parts[0], env))
	case formTypeof:
		return r.typeof(t.name)
	case formIndex:
		return indexed(r.schema(t.parts[0], env), r.schema(t.parts[1], env))
	default:
		return &jsonSchema{}
	}
}

func (r *resolver) all(parts []*typeExpr, env typeEnv) []*jsonSchema {
	var list []*jsonSchema
	for _, p := range parts {
		if r.steps < 0 {
			break
		}
		list = append(list, r.schema(p, env))
	}
	return list
}

// item returns the type of an array's items; undefined in it is null in JSON.
func (r *resolver) item(t *typeExpr, env typeEnv) *jsonSchema {
	s := r.schema(t, env)
	if s.optional && !s.open() {
		s = s.nullable()
	}
	return s
}

func (r *resolver) object(t *typeExpr, env typeEnv) *jsonSchema {
	out := typed("object")
	for _, m := range t.members {
		if r.steps < 0 {
			break
		}
		s := r.schema(m.typ, env)
		switch {
		case m.index != nil:
			out.AdditionalProperties = s
		case !s.noData:
			out.set(schemaProperty{m.name, s.with(m.description), !m.optional && !s.optional})
		}
	}
	return out
}

// tuple returns a list of a fixed length. If all items have one type, the schema
// uses keywords that every model understands.
func (r *resolver) tuple(t *typeExpr, env typeEnv) *jsonSchema {
	out := typed("array")
	alike := true
	for _, m := range t.members {
		s := r.item(m.typ, env)
		if m.rest {
			out.Items = &jsonSchema{}
			if s.Items != nil {
				out.Items = s.Items
			}
			continue
		}
		if !m.optional {
			out.MinItems++
		}
		out.PrefixItems = append(out.PrefixItems, s)
		alike = alike && s.Format == "" && s.Type != nil && s.Type != "object" && s.Type != "array" && s.Enum == nil && s.Type == out.PrefixItems[0].Type
	}
	if out.Items == nil {
		out.MaxItems = len(out.PrefixItems)
		if alike && len(out.PrefixItems) > 0 {
			out.Items, out.PrefixItems = out.PrefixItems[0], nil
		}
	}
	if out.Items == nil && out.PrefixItems == nil {
		out.Items = &jsonSchema{}
	}
	return out
}

// name resolves a type name: a type parameter, a declaration of the file, or a
// built-in type. Any other is imported, and can be anything.
func (r *resolver) name(t *typeExpr, env typeEnv) *jsonSchema {
	if s := env[t.name]; s != nil {
		return s
	}
	if d := r.types[t.name]; d != nil {
		return r.declared(t.name, d, r.all(t.parts, env))
	}
	if enum, member, ok := strings.Cut(t.name, "."); ok && r.types[enum] != nil {
		for _, m := range r.types[enum].typ.members {
			if m.name == member {
				return r.schema(m.typ, nil)
			}
		}
		return &jsonSchema{}
	}
	return r.builtin(t.name, r.all(t.parts, env))
}

func (r *resolver) declared(name string, d *decl, args []*jsonSchema) *jsonSchema {
	if r.active[name] { // it contains itself
		if d.typ.form == formObject {
			return typed("object")
		}
		return &jsonSchema{}
	}
	r.active[name] = true
	defer delete(r.active, name)
	env := r.env(d.params, args)
	s := r.schema(d.typ, env)
	if len(d.extends) == 0 {
		return s
	}
	out := typed("object")
	for _, base := range r.all(d.extends, env) {
		if base.isObject() {
			out.merge(base)
		}
	}
	for _, p := range s.Properties {
		out.set(p) // also one that is no longer required
	}
	if s.AdditionalProperties != nil {
		out.AdditionalProperties = s.AdditionalProperties
	}
	return out
}

// env binds type parameters to their arguments.
func (r *resolver) env(params []typeParam, args []*jsonSchema) typeEnv {
	env := typeEnv{}
	for i, p := range params {
		if i < len(args) {
			env[p.name] = args[i]
		} else {
			env[p.name] = r.schema(p.fallback, env)
		}
	}
	return env
}

func (r *resolver) builtin(name string, args []*jsonSchema) *jsonSchema {
	first, second := &jsonSchema{}, &jsonSchema{}
	if len(args) > 0 {
		first = args[0]
	}
	if len(args) > 1 {
		second = args[1]
	}
	switch name {
	case "string", "String", "Uppercase", "Lowercase", "Capitalize", "Uncapitalize":
		return typed("string")
	case "number", "Number", "float", "double":
		return typed("number")
	case "boolean", "Boolean", "bool":
		return typed("boolean")
	case "int", "integer": // of JSDoc
		return typed("integer")
	case "bigint", "BigInt":
		return &jsonSchema{Type: "integer", Format: "int64"}
	case "Date":
		return &jsonSchema{Type: "string", Format: "date-time"}
	case "null":
		return typed("null")
	case "undefined", "void", "never":
		return &jsonSchema{optional: true}
	case "object", "Object":
		if len(args) == 0 {
			return typed("object")
		}
		return r.record(first, false, func(string) *jsonSchema { return second })
	case "Record":
		return r.record(first, false, func(string) *jsonSchema { return second })
	case "Array", "ReadonlyArray", "array":
		return &jsonSchema{Type: "array", Items: first}
	case "Function", "symbol":
		return &jsonSchema{noData: true}
	case "Promise", "PromiseLike", "Awaited", "Readonly", "NoInfer":
		return first
	case "NonNullable":
		return nonNull(first)
	case "Partial":
		return first.require(false)
	case "Required":
		return first.require(true)
	case "Pick":
		return first.pick(second.keys(), true)
	case "Omit":
		return first.pick(second.keys(), false)
	case "Exclude":
		return first.filter(second, false)
	case "Extract":
		return first.filter(second, true)
	}
	return &jsonSchema{}
}

// record returns an object type with the keys, whose values all have one type.
func (r *resolver) record(keys *jsonSchema, optional bool, value func(key string) *jsonSchema) *jsonSchema {
	out := typed("object")
	names := keys.keys()
	if len(names) == 0 {
		out.AdditionalProperties = value("")
		return out
	}
	for _, name := range names {
		if r.steps < 0 {
			break
		}
		s := value(name)
		out.set(schemaProperty{name, s, !optional && !s.optional})
	}
	return out
}

// typeof returns the type of a constant whose value is in the file.
func (r *resolver) typeof(name string) *jsonSchema {
	name, path, _ := strings.Cut(name, ".")
	s := r.schema(r.constants[name], nil)
	for part := range strings.SplitSeq(path, ".") {
		if part != "" {
			s = indexed(s, enumOf([]any{part}))
		}
	}
	return s
}
