package offline

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// schema is the part of JSON Schema that the model understands. Whatever it
// does not understand it leaves out: schemas come from anywhere.
type schema struct {
	Type        kind
	Description string
	Enum        []json.RawMessage
	Const       json.RawMessage
	Default     json.RawMessage

	Properties members
	Required   []string
	Items      json.RawMessage
	MinItems   int

	Format               string
	MinLength, MaxLength *int
	Minimum, Maximum     *float64
	ExclusiveMinimum     *float64

	Ref                 string `json:"$ref"`
	AnyOf, OneOf, AllOf []json.RawMessage
}

// kind is the name of a type in lower case: string, number, integer, boolean,
// array, object, null, or "" when it is not known.
type kind string

// UnmarshalJSON takes a name in any case, or a list of names, of which the
// first counts that is not null.
func (k *kind) UnmarshalJSON(raw []byte) error {
	var names []string
	if json.Unmarshal(raw, &names) != nil {
		names = []string{""}
		_ = json.Unmarshal(raw, &names[0]) // neither: not known
	}
	for _, name := range names {
		if *k = kind(strings.ToLower(name)); *k != "null" {
			break
		}
	}
	return nil
}

// members are those of an object, in the order in which they were written.
type members []member

type member struct {
	name  string
	value json.RawMessage
}

func (m *members) UnmarshalJSON(raw []byte) error {
	*m = readMembers(raw)
	return nil
}

// readMembers takes an object apart; nil when raw is something else.
func readMembers(raw json.RawMessage) members {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	list := members{}
	for dec.More() {
		key, err := dec.Token()
		name, ok := key.(string)
		var value json.RawMessage
		if err != nil || !ok || dec.Decode(&value) != nil {
			return nil
		}
		list = append(list, member{name, value})
	}
	return list
}

func (m members) get(name string) json.RawMessage {
	for _, member := range m {
		if member.name == name {
			return member.value
		}
	}
	return nil
}

// document is the schema that references inside of it are relative to.
type document json.RawMessage

// read decodes a schema. It goes on to the definition that a reference names,
// and to the first of several alternatives that is not null. Chains of those
// may be circular, so it follows only so many.
func (d document) read(raw json.RawMessage) schema {
	var s schema
	for range 16 {
		// What is said on the way, such as a description, stays unless it is
		// said again. A member of the wrong type is skipped, and the others
		// are decoded.
		s.Ref, s.AnyOf, s.OneOf, s.AllOf = "", nil, nil, nil
		_ = json.Unmarshal(raw, &s)
		if s.Type != "" || s.Properties != nil {
			break
		}
		next := d.resolve(s.Ref)
		for _, option := range slices.Concat(s.AnyOf, s.OneOf, s.AllOf) {
			if next == nil && !isNull(option) {
				next = option
			}
		}
		if next == nil {
			break
		}
		raw = next
	}
	if s.Type == "" {
		s.Type = s.guess()
	}
	return s
}

func isNull(raw json.RawMessage) bool {
	var s struct{ Type kind }
	_ = json.Unmarshal(raw, &s) // without a type it is not null
	return s.Type == "null"
}

// guess tells the type from what else the schema says.
func (s *schema) guess() kind {
	switch {
	case s.Properties != nil:
		return "object"
	case s.Items != nil:
		return "array"
	}
	for _, raw := range s.values() {
		var v any
		_ = json.Unmarshal(raw, &v)
		switch v.(type) {
		case string:
			return "string"
		case bool:
			return "boolean"
		case float64:
			return "number"
		}
	}
	return ""
}

// values are the only ones that are allowed, when there is such a list.
func (s *schema) values() []json.RawMessage {
	if len(s.Const) > 0 {
		return []json.RawMessage{s.Const}
	}
	return s.Enum
}

// resolve finds what a reference such as #/$defs/City points to.
func (d document) resolve(ref string) json.RawMessage {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	raw := json.RawMessage(d)
	for name := range strings.SplitSeq(path, "/") {
		if name != "" { // before the first slash
			raw = readMembers(raw).get(name)
		}
	}
	return raw
}

// param is one argument of a tool.
type param struct {
	name     string
	words    map[string]bool // of the name
	kind     kind            // of the value; of its items, when list
	list     bool
	required bool
	schema   schema
	choices  []json.RawMessage // what the value, or an item, may be
}

// readParams takes the parameters from the schema of a tool, in order.
func readParams(raw json.RawMessage) []*param {
	doc := document(raw)
	root := doc.read(raw)
	required := map[string]bool{}
	for _, name := range root.Required {
		required[name] = true
	}
	var params []*param
	for _, m := range root.Properties {
		s := doc.read(m.value)
		p := &param{name: m.name, words: set(m.name), kind: s.Type, required: required[m.name], schema: s, choices: s.values()}
		if s.Type == "array" {
			item := doc.read(s.Items)
			p.list, p.kind, p.choices = true, item.Type, item.values()
		}
		params = append(params, p)
	}
	return params
}

// textual reports whether any text is a value.
func (p *param) textual() bool {
	return len(p.choices) == 0 && (p.kind == "string" || p.kind == "")
}
