package apidoc

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
)

// node is a value of the document. Unlike a map, it keeps the order of its
// members, which is the order in which people want to read them.
type node struct {
	raw     json.RawMessage
	names   []string
	members map[string]*node
	items   []*node
}

// UnmarshalJSON reads any JSON value.
func (n *node) UnmarshalJSON(b []byte) error {
	n.raw = bytes.Clone(b)
	switch b[0] {
	case '[':
		return json.Unmarshal(b, &n.items)
	case '{':
		n.members = map[string]*node{}
		dec := json.NewDecoder(bytes.NewReader(b))
		if _, err := dec.Token(); err != nil {
			return err
		}
		for dec.More() {
			name, err := dec.Token()
			if err != nil {
				return err
			}
			member := &node{}
			if err := dec.Decode(member); err != nil {
				return err
			}
			n.names = append(n.names, name.(string))
			n.members[name.(string)] = member
		}
	}
	return nil
}

// get is a member of a member, or nil.
func (n *node) get(path ...string) *node {
	for _, name := range path {
		if n == nil {
			return nil
		}
		n = n.members[name]
	}
	return n
}

// all are the members, in order.
func (n *node) all() iter.Seq2[string, *node] {
	return func(yield func(string, *node) bool) {
		if n == nil {
			return
		}
		for _, name := range n.names {
			if !yield(name, n.members[name]) {
				return
			}
		}
	}
}

func (n *node) list() []*node {
	if n == nil {
		return nil
	}
	return n.items
}

// text is a string as it is, and anything else as JSON.
func (n *node) text() string {
	if n == nil {
		return ""
	}
	var s string
	if json.Unmarshal(n.raw, &s) == nil {
		return s
	}
	return string(n.raw)
}

func (n *node) is(word string) bool { return n != nil && string(n.raw) == word }

// indented is JSON for people, and a string as it is.
func (n *node) indented() string {
	if n == nil {
		return ""
	}
	var b bytes.Buffer
	if n.raw[0] == '"' || json.Indent(&b, n.raw, "", "  ") != nil {
		return n.text()
	}
	return b.String()
}

// compact is JSON on one line, and a string as it is.
func (n *node) compact() string {
	var b bytes.Buffer
	if n.raw[0] == '"' || json.Compact(&b, n.raw) != nil {
		return n.text()
	}
	return b.String()
}

// document is a whole one.
type document struct{ *node }

const schemaPrefix = "#/components/schemas/"

// follow is a node, or the one that it stands for.
func (d document) follow(n *node) *node {
	ref := n.get("$ref").text()
	if ref == "" {
		return n
	}
	return d.get(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
}
