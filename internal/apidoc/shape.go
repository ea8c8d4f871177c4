package apidoc

import "strings"

// shape is what a value looks like.
type shape struct {
	Ref   string // the name of a schema that says the rest
	Kind  string // string, array, …; empty for anything
	Facts []string
	Enum  []string
	Items *shape // of an array
	How   string // "One of", "All of" or "Any of"
	Of    []*shape

	Fields []field
	Other  *shape // members that have no name here
	Closed bool   // there are no such

	Description markup
}

type field struct {
	Name     string
	Required bool
	Shape    *shape
}

// facts are the members of a schema that narrow it down, and how to say so.
var facts = []struct{ name, words string }{
	{"format", ""},
	{"minimum", "at least "},
	{"maximum", "at most "},
	{"minLength", "characters at least "},
	{"maxLength", "characters at most "},
	{"minItems", "items at least "},
	{"maxItems", "items at most "},
	{"minProperties", "members at least "},
	{"pattern", "pattern "},
	{"default", "default "},
}

func (b *builder) shape(n *node) *shape {
	if n == nil {
		return &shape{}
	}
	if ref := n.get("$ref").text(); ref != "" {
		return &shape{Ref: strings.TrimPrefix(ref, schemaPrefix)}
	}
	s := &shape{Kind: n.get("type").text(), Description: b.prose(n.get("description"))}
	if n.get("nullable").is("true") {
		s.Facts = append(s.Facts, "or null")
	}
	for _, f := range facts {
		if v := n.get(f.name); v != nil {
			words := f.words
			if f.name == "maximum" && n.get("exclusiveMaximum").is("true") {
				words = "less than "
			}
			s.Facts = append(s.Facts, words+v.text())
		}
	}
	for _, v := range n.get("enum").list() {
		s.Enum = append(s.Enum, v.text())
	}
	if items := n.get("items"); items != nil {
		s.Items = b.shape(items)
	}
	for _, way := range [][2]string{{"oneOf", "One of"}, {"anyOf", "Any of"}, {"allOf", "All of"}} {
		for _, alternative := range n.get(way[0]).list() {
			s.How, s.Of = way[1], append(s.Of, b.shape(alternative))
		}
	}
	required := map[string]bool{}
	for _, name := range n.get("required").list() {
		required[name.text()] = true
	}
	for name, member := range n.get("properties").all() {
		s.Fields = append(s.Fields, field{name, required[name], b.shape(member)})
	}
	switch other := n.get("additionalProperties"); {
	case other.is("false"):
		s.Closed = true
	case other != nil && !other.is("true"):
		s.Other = b.shape(other)
	}
	return s
}
