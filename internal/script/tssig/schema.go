package tssig

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/parley-run/parley/internal/wire"
)

// jsonSchema is the part of JSON Schema that TypeScript types need.
type jsonSchema struct {
	Type                 any              `json:"type,omitempty"` // a name, or a list of names
	Format               string           `json:"format,omitempty"`
	Description          string           `json:"description,omitempty"`
	Enum                 []any            `json:"enum,omitempty"`
	AnyOf                []*jsonSchema    `json:"anyOf,omitempty"`
	Items                *jsonSchema      `json:"items,omitempty"`
	PrefixItems          []*jsonSchema    `json:"prefixItems,omitempty"`
	MinItems             int              `json:"minItems,omitempty"`
	MaxItems             int              `json:"maxItems,omitempty"`
	Properties           schemaProperties `json:"properties,omitempty"`
	Required             []string         `json:"required,omitempty"` // set when it is encoded
	AdditionalProperties *jsonSchema      `json:"additionalProperties,omitempty"`

	optional bool // it may be left out
	noData   bool // a function, which JSON cannot carry
}

// schemaProperties keep their order in the source, because models read them in
// order.
type schemaProperties []schemaProperty

type schemaProperty struct {
	name     string
	schema   *jsonSchema
	required bool
}

func (list schemaProperties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, p := range list {
		b.WriteByte("{,"[min(i, 1)])
		value, err := encode(p.schema)
		if err != nil {
			return nil, err
		}
		b.Write(append(wire.Quote(nil, p.name), ':'))
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (s *jsonSchema) MarshalJSON() ([]byte, error) {
	type plain jsonSchema
	out := plain(*s)
	for _, p := range s.Properties {
		if p.required {
			out.Required = append(out.Required, p.name)
		}
	}
	return encode(&out)
}

// encode is like json.Marshal, but does not escape < and >.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

func typed(name string) *jsonSchema { return &jsonSchema{Type: name} }

func (s *jsonSchema) isObject() bool { return s.Type == "object" }

// open reports whether a schema allows any value.
func (s *jsonSchema) open() bool {
	return s.Type == nil && s.AnyOf == nil && s.Enum == nil && !s.noData
}

// with returns a copy with another description, if there is one.
func (s *jsonSchema) with(description string) *jsonSchema {
	out := *s
	out.Properties = slices.Clone(s.Properties)
	if description != "" {
		out.Description = description
	}
	return &out
}

func (s *jsonSchema) property(name string) *schemaProperty {
	for i := range s.Properties {
		if s.Properties[i].name == name {
			return &s.Properties[i]
		}
	}
	return nil
}

// set adds a property, or replaces one with the same name.
func (s *jsonSchema) set(p schemaProperty) {
	if p.name == "__proto__" {
		return // which an object literal of JavaScript would take for something else
	}
	if old := s.property(p.name); old != nil {
		*old = p
		return
	}
	s.Properties = append(s.Properties, p)
}

// merge adds the properties of another object type.
func (s *jsonSchema) merge(other *jsonSchema) {
	for _, p := range other.Properties {
		if old := s.property(p.name); old != nil {
			p.required = p.required || old.required
		}
		s.set(p)
	}
	if other.AdditionalProperties != nil {
		s.AdditionalProperties = other.AdditionalProperties
	}
	if s.Description == "" {
		s.Description = other.Description
	}
}

// nullable returns a copy that also allows null.
func (s *jsonSchema) nullable() *jsonSchema {
	out := s.with("")
	switch t := s.Type.(type) {
	case string:
		out.Type = []string{t, "null"}
	case []string:
		out.Type = append(slices.Clone(t), "null")
	default:
		if s.AnyOf != nil {
			out.AnyOf = append(slices.Clone(s.AnyOf), typed("null"))
		}
	}
	if s.Enum != nil {
		out.Enum = append(slices.Clone(s.Enum), nil)
	}
	return out
}

// keys returns the strings that a schema allows.
func (s *jsonSchema) keys() []string {
	var list []string
	for _, v := range s.Enum {
		if name, ok := v.(string); ok {
			list = append(list, name)
		}
	}
	return list
}

// union returns a schema for values that match any of several.
func union(all []*jsonSchema) *jsonSchema {
	var u unionOf
	for _, s := range all {
		u.add(s)
	}
	return u.schema()
}

// unionOf collects the alternatives of a union.
type unionOf struct {
	others                     []*jsonSchema
	values                     []any
	plain                      map[string]bool // types that are taken whole
	null, optional, open, none bool
}

func (u *unionOf) add(s *jsonSchema) {
	u.optional = u.optional || s.optional
	switch {
	case s.optional && s.open():
	case s.noData:
		u.none = true
	case s.open():
		u.open = true
	case s.AnyOf != nil && s.Type == nil && s.Enum == nil:
		for _, one := range s.AnyOf {
			u.add(one)
		}
	case s.Type == "null":
		u.null = true
	case s.Enum != nil:
		for _, v := range s.Enum {
			if v == nil {
				u.null = true
			} else if !slices.Contains(u.values, v) && len(u.values) < maxValues {
				u.values = append(u.values, v)
			}
		}
	default:
		u.other(s)
	}
}

// maxValues bounds an enum: longer ones do not help models.
const maxValues = 500

func (u *unionOf) other(s *jsonSchema) {
	if list, ok := s.Type.([]string); ok && slices.Contains(list, "null") {
		u.null = true
		s = s.with("")
		s.Type = list[0]
	}
	name, ok := s.Type.(string)
	if ok && s.Format == "" && (name == "string" || name == "number" || name == "boolean") {
		if u.plain[name] {
			return
		}
		if u.plain == nil {
			u.plain = map[string]bool{}
		}
		u.plain[name] = true
	}
	u.others = append(u.others, s)
}

func (u *unionOf) schema() *jsonSchema {
	if slices.Contains(u.values, any(true)) && slices.Contains(u.values, any(false)) {
		u.other(typed("boolean"))
	}
	values := slices.DeleteFunc(u.values, func(v any) bool { return u.plain[typeOfValue(v)] })
	all := u.others
	if len(values) > 0 {
		all = append(all, enumOf(values))
	}
	var out *jsonSchema
	switch {
	case u.open:
		out = &jsonSchema{}
	case len(all) == 0 && u.null:
		out = typed("null")
		u.null = false
	case len(all) == 0:
		out = &jsonSchema{noData: u.none}
	case len(all) == 1:
		out = all[0].with("")
	default:
		out = &jsonSchema{AnyOf: all}
	}
	if u.null {
		out = out.nullable()
	}
	out.optional = u.optional
	return out
}

// enumOf returns a schema that allows only some literals.
func enumOf(values []any) *jsonSchema {
	var types []string
	for _, v := range values {
		if t := typeOfValue(v); !slices.Contains(types, t) {
			types = append(types, t)
		}
	}
	if len(types) == 1 {
		return &jsonSchema{Type: types[0], Enum: values}
	}
	return &jsonSchema{Type: types, Enum: values}
}

func typeOfValue(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	}
	return "number"
}
