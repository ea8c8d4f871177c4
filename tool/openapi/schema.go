package openapi

import (
	"encoding/json"
	"iter"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/jsonschema-go/jsonschema"
)

// schemas converts schemas of a document to JSON Schemas in one
// declaration. A schema that is used in several places, or recursively, is
// written once, under $defs.
//
// First everything is scanned, then converted.
type schemas struct {
	uses   map[*openapi3.Schema]int
	open   map[*openapi3.Schema]bool   // being scanned
	loops  map[*openapi3.Schema]bool   // met inside of themselves
	labels map[*openapi3.Schema]string // their names in the document
	names  map[*openapi3.Schema]string // their location in defs
	taken  map[string]bool
	defs   map[string]*jsonschema.Schema
}

func newSchemas() *schemas {
	return &schemas{
		uses: map[*openapi3.Schema]int{}, open: map[*openapi3.Schema]bool{}, loops: map[*openapi3.Schema]bool{},
		labels: map[*openapi3.Schema]string{}, names: map[*openapi3.Schema]string{},
		taken: map[string]bool{}, defs: map[string]*jsonschema.Schema{},
	}
}

// scan counts the uses of a schema and of those inside it.
func (s *schemas) scan(ref *openapi3.SchemaRef) {
	if ref == nil || ref.Value == nil {
		return
	}
	v := ref.Value
	if ref.Ref != "" && s.labels[v] == "" {
		s.labels[v] = ref.Ref[strings.LastIndexByte(ref.Ref, '/')+1:]
	}
	s.uses[v]++
	s.loops[v] = s.loops[v] || s.open[v]
	if s.uses[v] > 1 {
		return
	}
	s.open[v] = true
	for inner := range parts(v) {
		s.scan(inner)
	}
	delete(s.open, v)
}

// parts returns the schemas directly inside v that apply to a request.
func parts(v *openapi3.Schema) iter.Seq[*openapi3.SchemaRef] {
	return func(yield func(*openapi3.SchemaRef) bool) {
		lists := [][]*openapi3.SchemaRef{
			v.AllOf, v.AnyOf, v.OneOf, v.PrefixItems,
			{
				v.Not, v.Items, v.AdditionalProperties.Schema, v.Contains, v.PropertyNames,
				v.UnevaluatedItems.Schema, v.UnevaluatedProperties.Schema, v.If, v.Then, v.Else,
			},
		}
		for _, m := range []openapi3.Schemas{v.Properties, v.PatternProperties, v.DependentSchemas} {
			for _, name := range slices.Sorted(maps.Keys(m)) {
				lists = append(lists, []*openapi3.SchemaRef{m[name]})
			}
		}
		for _, list := range lists {
			for _, ref := range list {
				if ref != nil && ref.Value != nil && !ref.Value.ReadOnly && !yield(ref) {
					return
				}
			}
		}
	}
}

// convert returns a new schema each time, because schemas are a tree.
func (s *schemas) convert(ref *openapi3.SchemaRef) *jsonschema.Schema {
	if ref == nil || ref.Value == nil {
		return &jsonschema.Schema{}
	}
	v := ref.Value
	if !s.loops[v] && (s.uses[v] < 2 || s.labels[v] == "" || isSimple(v)) {
		return s.write(v)
	}
	name, ok := s.names[v]
	if !ok {
		name = unique(s.taken, label(s.labels[v]), math.MaxInt)
		s.names[v] = name
		s.defs[name] = s.write(v)
	}
	return &jsonschema.Schema{Ref: "#/$defs/" + name}
}

// label returns a name for $defs that needs no escaping.
func label(name string) string {
	name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, ".json"), ".yaml"), ".yml")
	name = strings.Map(func(c rune) rune {
		if isWord(c) {
			return c
		}
		return '_'
	}, name)
	if name == "" {
		return "schema"
	}
	return name
}

// isSimple reports whether a schema is short enough to be written twice.
func isSimple(v *openapi3.Schema) bool {
	for range parts(v) {
		return false
	}
	return len(v.Enum) < 10
}

func (s *schemas) write(v *openapi3.Schema) *jsonschema.Schema {
	if v.Always != nil {
		if *v.Always {
			return &jsonschema.Schema{}
		}
		return &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	out := &jsonschema.Schema{
		Title: v.Title, Description: v.Description, Format: v.Format, Deprecated: v.Deprecated,
		Enum: v.Enum, Default: encoded(v.Default), Examples: v.Examples,
		MultipleOf: v.MultipleOf, MinLength: least(v.MinLength), MaxLength: most(v.MaxLength),
		MinItems: least(v.MinItems), MaxItems: most(v.MaxItems), UniqueItems: v.UniqueItems,
		MinProperties: least(v.MinProps), MaxProperties: most(v.MaxProps),
		ContentEncoding: v.ContentEncoding, ContentMediaType: v.ContentMediaType,
		AllOf: s.list(v.AllOf), AnyOf: s.list(v.AnyOf), PrefixItems: s.list(v.PrefixItems),
		Not: s.inner(v.Not), Items: s.inner(v.Items), Contains: s.inner(v.Contains), PropertyNames: s.inner(v.PropertyNames),
		MinContains: most(v.MinContains), MaxContains: most(v.MaxContains),
		If: s.inner(v.If), Then: s.inner(v.Then), Else: s.inner(v.Else),
		Properties: s.members(v.Properties), DependentSchemas: s.members(v.DependentSchemas),
		DependentRequired:     v.DependentRequired,
		AdditionalProperties:  s.others(v.AdditionalProperties),
		UnevaluatedProperties: s.others(v.UnevaluatedProperties), UnevaluatedItems: s.others(v.UnevaluatedItems),
	}
	if v.Example != nil && out.Examples == nil {
		out.Examples = []any{v.Example}
	}
	if v.Const != nil {
		out.Const = new(v.Const)
	}
	for _, name := range v.Required {
		if p := v.Properties[name]; p == nil || p.Value == nil || !p.Value.ReadOnly {
			out.Required = append(out.Required, name)
		}
	}
	// A validator may not be able to distinguish what a discriminator does.
	if one := s.list(v.OneOf); v.Discriminator == nil {
		out.OneOf = one
	} else {
		out.AnyOf = append(out.AnyOf, one...)
	}
	bounds(v, out)
	s.patterns(v, out)
	return types(v, out)
}

// types writes the types of a value, including null.
func types(v *openapi3.Schema, out *jsonschema.Schema) *jsonschema.Schema {
	list := slices.Clone(v.Type.Slice())
	composed := len(out.AllOf)+len(out.AnyOf)+len(out.OneOf) > 0
	if v.Nullable && !composed {
		if len(list) > 0 && !slices.Contains(list, "null") {
			list = append(list, "null")
		}
		if out.Enum != nil && !slices.Contains(out.Enum, nil) {
			out.Enum = append(slices.Clone(out.Enum), nil)
		}
	}
	switch len(list) {
	case 0:
	case 1:
		out.Type = list[0]
	default:
		out.Types = list
	}
	if v.Nullable && composed {
		return &jsonschema.Schema{Description: v.Description, AnyOf: []*jsonschema.Schema{out, {Type: "null"}}}
	}
	return out
}

// bounds are booleans next to a number in OpenAPI 3.0, and separate numbers in 3.1.
func bounds(v *openapi3.Schema, out *jsonschema.Schema) {
	out.Minimum, out.ExclusiveMinimum = v.Min, v.ExclusiveMin.Value
	out.Maximum, out.ExclusiveMaximum = v.Max, v.ExclusiveMax.Value
	if v.ExclusiveMin.IsTrue() {
		out.Minimum, out.ExclusiveMinimum = nil, v.Min
	}
	if v.ExclusiveMax.IsTrue() {
		out.Maximum, out.ExclusiveMaximum = nil, v.Max
	}
	if out.MultipleOf != nil && *out.MultipleOf <= 0 {
		out.MultipleOf = nil
	}
}

// patterns keeps regular expressions that Go supports. JavaScript supports more:
// those are described to the model, and the API has to check them.
func (s *schemas) patterns(v *openapi3.Schema, out *jsonschema.Schema) {
	if _, err := regexp.Compile(v.Pattern); err == nil {
		out.Pattern = v.Pattern
	} else {
		out.Description = remark(out.Description, "Pattern: "+v.Pattern)
	}
	for pattern, ref := range v.PatternProperties {
		if _, err := regexp.Compile(pattern); err == nil {
			if out.PatternProperties == nil {
				out.PatternProperties = map[string]*jsonschema.Schema{}
			}
			out.PatternProperties[pattern] = s.convert(ref)
		} else { // whatever has such a name is let through
			out.AdditionalProperties, out.UnevaluatedProperties = nil, nil
		}
	}
}

func remark(description, more string) string { return strings.TrimSpace(description + "\n" + more) }

func (s *schemas) inner(ref *openapi3.SchemaRef) *jsonschema.Schema {
	if ref == nil {
		return nil
	}
	return s.convert(ref)
}

func (s *schemas) list(refs openapi3.SchemaRefs) (list []*jsonschema.Schema) {
	for _, ref := range refs {
		list = append(list, s.convert(ref))
	}
	return list
}

// members omits what only responses have.
func (s *schemas) members(refs openapi3.Schemas) map[string]*jsonschema.Schema {
	var out map[string]*jsonschema.Schema
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		if ref := refs[name]; ref == nil || ref.Value == nil || !ref.Value.ReadOnly {
			if out == nil {
				out = map[string]*jsonschema.Schema{}
			}
			out[name] = s.convert(ref)
		}
	}
	return out
}

func (s *schemas) others(b openapi3.BoolSchema) *jsonschema.Schema {
	switch {
	case b.Schema != nil:
		return s.convert(b.Schema)
	case b.Has == nil:
		return nil
	case *b.Has:
		return &jsonschema.Schema{}
	}
	return &jsonschema.Schema{Not: &jsonschema.Schema{}}
}

func encoded(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}

func least(n uint64) *int {
	if n == 0 {
		return nil
	}
	return most(&n)
}

func most(n *uint64) *int {
	if n == nil {
		return nil
	}
	return new(int(min(*n, math.MaxInt32)))
}

// takesNull reports whether a schema allows null.
func takesNull(ref *openapi3.SchemaRef, seen map[*openapi3.Schema]bool) bool {
	if ref == nil || ref.Value == nil {
		return true
	}
	v := ref.Value
	if seen[v] {
		return false
	}
	seen[v] = true
	if v.Nullable || v.Type.IncludesNull() {
		return true
	}
	for _, alt := range slices.Concat(v.AnyOf, v.OneOf) {
		if takesNull(alt, seen) {
			return true
		}
	}
	return v.Type.IsEmpty() && len(v.AllOf)+len(v.AnyOf)+len(v.OneOf)+len(v.Enum) == 0 && v.Const == nil
}
