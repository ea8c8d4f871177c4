// Package schema validates values by JSON Schemas that models and authors write,
// within bounds of time, and describes mismatches in terms of the values.
package schema

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// The validator follows all references of a schema. It does not end if a reference
// leads back without a step into the value, and it checks repeated parts
// repeatedly, so that a few dozen lines can keep it busy for years. Therefore
// schemas are measured before they are used.
const (
	maxExpansion = 10_000  // schemas that apply to one value
	maxDepth     = 1000    // nested schemas, for a value and everything in it
	maxEffort    = 1 << 20 // schemas that are visited; 64 bytes of text count as one
	maxSchema    = 8 << 20 // bytes, for each level of the schema, because each level reads the nested values again
)

// Schema is a JSON Schema for validation.
type Schema struct {
	*jsonschema.Resolved
	parts map[*jsonschema.Schema][]part
	where map[*jsonschema.Schema]string // by the text of a $ref
	at    map[string]*jsonschema.Schema // the reverse, and anchors
	sizes map[*jsonschema.Schema]int    // of expansions
}

// part is a schema in a schema, or one that it refers to.
type part struct {
	keyword string
	name    string // among those of the keyword, if it has several
	path    string
	schema  *jsonschema.Schema
}

// Resolve prepares a schema for use. It rejects infinite ones.
func Resolve(root *jsonschema.Schema) (*Schema, error) {
	resolved, err := root.Resolve(nil)
	if err != nil {
		return nil, err
	}
	s := &Schema{
		Resolved: resolved, parts: map[*jsonschema.Schema][]part{}, where: map[*jsonschema.Schema]string{},
		at: map[string]*jsonschema.Schema{}, sizes: map[*jsonschema.Schema]int{},
	}
	s.collect(root, "#")
	for one := range s.where {
		if err := s.follow(one); err != nil {
			return nil, err
		}
	}
	for _, where := range slices.Sorted(maps.Keys(s.at)) {
		if err := s.expand(s.at[where], 0); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// collect finds the schemas in a schema, and the names that references use.
func (s *Schema) collect(one *jsonschema.Schema, where string) {
	s.parts[one], s.where[one], s.at[where] = partsOf(one), where, one
	for _, anchor := range []string{one.Anchor, one.DynamicAnchor} {
		if anchor != "" {
			s.at["#"+anchor] = one
		}
	}
	for _, p := range s.parts[one] {
		s.collect(p.schema, where+p.path)
	}
}

// partsOf returns the schemas in a schema.
func partsOf(one *jsonschema.Schema) (list []part) {
	for keyword, inner := range map[string]*jsonschema.Schema{
		"not": one.Not, "if": one.If, "then": one.Then, "else": one.Else, "contentSchema": one.ContentSchema,
		"items": one.Items, "additionalItems": one.AdditionalItems, "contains": one.Contains, "unevaluatedItems": one.UnevaluatedItems,
		"additionalProperties": one.AdditionalProperties, "propertyNames": one.PropertyNames, "unevaluatedProperties": one.UnevaluatedProperties,
	} {
		if inner != nil {
			list = append(list, part{keyword, "", "/" + keyword, inner})
		}
	}
	for keyword, inner := range map[string][]*jsonschema.Schema{
		"allOf": one.AllOf, "anyOf": one.AnyOf, "oneOf": one.OneOf, "prefixItems": one.PrefixItems, "items": one.ItemsArray,
	} {
		for i, inner := range inner {
			name := strconv.Itoa(i)
			list = append(list, part{keyword, name, "/" + keyword + "/" + name, inner})
		}
	}
	for keyword, inner := range map[string]map[string]*jsonschema.Schema{
		"$defs": one.Defs, "definitions": one.Definitions, "dependentSchemas": one.DependentSchemas, "dependencies": one.DependencySchemas,
		"properties": one.Properties, "patternProperties": one.PatternProperties,
	} {
		for name, inner := range inner {
			list = append(list, part{keyword, name, "/" + keyword + "/" + escape.Replace(name), inner})
		}
	}
	return list
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// follow adds the targets of references to the parts of a schema.
func (s *Schema) follow(one *jsonschema.Schema) error {
	if one.ID != "" && one != s.Schema() { // from where its references would start
		return fmt.Errorf("%s has an $id, which only the whole schema can have", s.where[one])
	}
	for _, ref := range []string{one.Ref, one.DynamicRef} {
		if ref == "" {
			continue
		}
		var target *jsonschema.Schema
		if u, err := url.Parse(ref); err == nil && strings.HasPrefix(ref, "#") {
			target = s.at["#"+u.Fragment]
		}
		if target == nil {
			return fmt.Errorf("%s refers to %s, where it should be a place in the schema itself, as #/$defs/name", s.where[one], ref)
		}
		s.parts[one] = append(s.parts[one], part{keyword: "$ref", schema: target})
	}
	return nil
}

// expand computes how many schemas apply to each value that one applies to.
func (s *Schema) expand(one *jsonschema.Schema, depth int) error {
	const open = -1
	switch size := s.sizes[one]; {
	case size == open:
		return fmt.Errorf("%s contains itself, as in allOf: no value could ever be checked", s.where[one])
	case size > 0:
		return nil
	case depth > maxDepth:
		return fmt.Errorf("%s is too far inside of other schemas", s.where[one])
	}
	s.sizes[one] = open
	size := 1
	for _, p := range s.parts[one] {
		if !p.inPlace() {
			continue
		}
		if err := s.expand(p.schema, depth+1); err != nil {
			return err
		}
		if size += s.sizes[p.schema]; size > maxExpansion {
			return fmt.Errorf("%s asks for too much: more than %d schemas would apply to one value", s.where[one], maxExpansion)
		}
	}
	s.sizes[one] = size
	return nil
}

// Check is like Validate, but rejects values that would take too long.
func (s *Schema) Check(value any) error {
	left := maxEffort
	if !s.measure(s.Schema(), value, 0, &left) {
		return errors.New("it is too much to be checked")
	}
	return s.Validate(value)
}

// measure subtracts from left an upper bound of the cost to check a value, and
// reports whether it is enough. Errors repeat values, so their text counts.
func (s *Schema) measure(one *jsonschema.Schema, value any, depth int, left *int) bool {
	text := textIn(value)*(1+len(one.PatternProperties)) + textIn(one.Enum) + len(s.parts[one])
	if one.Const != nil {
		text += textIn(*one.Const)
	}
	if *left -= 1 + text/64; *left < 0 || depth > maxDepth {
		return false
	}
	for _, p := range s.parts[one] {
		for inner := range p.values(value) {
			if !s.measure(p.schema, inner, depth+1, left) {
				return false
			}
		}
	}
	return true
}

// inPlace reports whether the part applies to the same value as the whole.
func (p part) inPlace() bool {
	switch p.keyword {
	case "$ref", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies":
		return true
	}
	return false
}

// values returns the values that the part may apply to if the whole applies to
// value.
func (p part) values(value any) iter.Seq[any] {
	return func(yield func(any) bool) {
		object, _ := value.(map[string]any)
		list, _ := value.([]any)
		switch p.keyword {
		case "properties":
			if member, ok := object[p.name]; ok {
				yield(member)
			}
		case "patternProperties", "additionalProperties", "unevaluatedProperties":
			maps.Values(object)(yield)
		case "propertyNames":
			for name := range object {
				if !yield(name) {
					return
				}
			}
		case "prefixItems", "items", "additionalItems", "contains", "unevaluatedItems":
			slices.Values(list)(yield)
		default:
			if p.inPlace() {
				yield(value)
			}
		}
	}
}

// textIn returns the approximate length of a value as text.
func textIn(value any) int {
	n := 1
	switch value := value.(type) {
	case string:
		n += len(value)
	case []any:
		for _, item := range value {
			n += textIn(item)
		}
	case map[string]any:
		for name, member := range value {
			n += len(name) + textIn(member)
		}
	}
	return n
}

// levels returns the depth of a value.
func levels(value any) int {
	deepest := 0
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			deepest = max(deepest, levels(item))
		}
	case map[string]any:
		for _, member := range value {
			deepest = max(deepest, levels(member))
		}
	}
	return deepest + 1
}
