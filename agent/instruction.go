package agent

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/parley-run/parley/tool"
)

// template is an instruction with places for values of the state, for files, and
// for members of the input of a node and of the outputs of other nodes.
type template []segment

// segment is literal text or, when key is set, a place.
type segment struct {
	text     string
	key      string
	optional bool
	raw      string // the text of a place for a member of the input or of an output
	node     string // whose output it is
}

// scope is what an agent knows as a node. The zero value is for other agents.
type scope struct {
	input  json.RawMessage
	output func(node string) json.RawMessage // the latest in the run; nil for none
}

var (
	braces   = regexp.MustCompile(`\{+[^{}]*\}+`)
	file     = regexp.MustCompile(`^artifact\.\S(?:.*\S)?$`)
	places   = regexp.MustCompile(braces.String() + "|" + fromNode.String())
	fromNode = regexp.MustCompile(`<\s*[A-Za-z_]\w*\.([A-Za-z_]\w*)\s+from\s+([A-Za-z_]\w*)\s*>`)
	member   = regexp.MustCompile(`^[A-Za-z_]\w*\.([A-Za-z_]\w*)$`)
	key      = regexp.MustCompile(`^(?:(?:app|user|temp):)?[\p{L}_][\p{L}\p{N}_]*$`)
)

// parseTemplate finds the places. Braces around anything that is not the name
// of a value stay as they are, so that JSON in an instruction survives.
func parseTemplate(text string) template {
	var t template
	from := 0
	for _, at := range places.FindAllStringIndex(text, -1) {
		if found := fromNode.FindStringSubmatch(text[at[0]:at[1]]); found != nil {
			t = append(t, segment{text: text[from:at[0]]}, segment{key: found[1], raw: found[0], node: found[2]})
			from = at[1]
			continue
		}
		name := strings.TrimSpace(strings.Trim(text[at[0]:at[1]], "{}"))
		name, optional := strings.CutSuffix(name, "?")
		place := segment{key: name, optional: optional}
		if !key.MatchString(name) && !file.MatchString(name) {
			found := member.FindStringSubmatch(name)
			if found == nil {
				continue
			}
			place.key, place.raw = found[1], text[at[0]:at[1]]
		}
		t = append(t, segment{text: text[from:at[0]]}, place)
		from = at[1]
	}
	return append(t, segment{text: text[from:]})
}

// filled is a place of a template in the text that was made of it, in bytes.
type filled struct {
	segment
	from, to int
}

// written is the place as it is in the template.
func (s segment) written() string {
	switch {
	case s.raw != "":
		return s.raw
	case s.optional:
		return "{" + s.key + "?}"
	}
	return "{" + s.key + "}"
}

// source is what the place is for, as people call it.
func (s segment) source() string {
	switch scope, _, scoped := strings.Cut(s.key, ":"); {
	case s.node != "":
		return "output of " + s.node
	case s.raw != "":
		return "input"
	case strings.HasPrefix(s.key, "artifact."):
		return "artifact"
	case scoped:
		return scope + " state"
	}
	return "session state"
}

// render fills the places: strings as they are, everything else as JSON. Places for
// members that are missing stay as they are.
func (t template) render(state tool.Lookup, known scope, file func(name string) (text string, there bool, err error)) (string, error) {
	return t.fill(state, known, file, nil)
}

// fill is like render, and adds the places to places unless it is nil.
func (t template) fill(state tool.Lookup, known scope, file func(name string) (text string, there bool, err error), places *[]filled) (string, error) {
	if len(t) == 1 {
		return t[0].text, nil
	}
	var b strings.Builder
	for _, s := range t {
		if s.key == "" {
			b.WriteString(s.text)
			continue
		}
		text, err := s.value(state, known, file)
		if err != nil {
			return "", err
		}
		if places != nil && (s.raw == "" || text != s.raw) {
			*places = append(*places, filled{s, b.Len(), b.Len() + len(text)})
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// value returns the text for a place.
func (s segment) value(state tool.Lookup, known scope, file func(name string) (text string, there bool, err error)) (string, error) {
	if s.raw != "" {
		return s.of(known), nil
	}
	if name, ok := strings.CutPrefix(s.key, "artifact."); ok {
		text, there, err := file(name)
		if err == nil && !there && !s.optional {
			err = fmt.Errorf("artifact not found: `%s`; save it, or write {%s?} if it may be missing", name, s.key)
		}
		return text, err
	}
	raw, ok := state.Get(s.key)
	if !ok && !s.optional {
		return "", fmt.Errorf("context variable not found: `%s`; set it in the session's state, or write {%s?} if it may be missing", s.key, s.key)
	}
	return plain(raw), nil
}

// of returns the member that the place is for.
func (s segment) of(known scope) string {
	if known.output == nil {
		return s.raw
	}
	value := known.input
	if s.node != "" {
		value = known.output(s.node)
	}
	return s.in(value)
}

func (s segment) in(object json.RawMessage) string {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(object, &members) // what is not an object has no members
	value, ok := members[s.key]
	if !ok && !s.optional {
		return s.raw
	}
	return plain(value)
}

// plain returns a string as it is, and everything else as JSON.
func plain(raw json.RawMessage) string {
	var str string
	if json.Unmarshal(raw, &str) == nil {
		return str
	}
	return string(raw)
}
