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

// render fills the places: strings as they are, everything else as JSON. Places for
// members that are missing stay as they are.
func (t template) render(state tool.Lookup, known scope, file func(name string) (text string, there bool, err error)) (string, error) {
	if len(t) == 1 {
		return t[0].text, nil
	}
	var b strings.Builder
	for _, s := range t {
		if s.key == "" {
			b.WriteString(s.text)
			continue
		}
		if s.raw != "" {
			b.WriteString(s.of(known))
			continue
		}
		if name, ok := strings.CutPrefix(s.key, "artifact."); ok {
			text, there, err := file(name)
			if err != nil {
				return "", err
			}
			if !there && !s.optional {
				return "", fmt.Errorf("artifact not found: `%s`; save it, or write {%s?} if it may be missing", name, s.key)
			}
			b.WriteString(text)
			continue
		}
		raw, ok := state.Get(s.key)
		if !ok && !s.optional {
			return "", fmt.Errorf("context variable not found: `%s`; set it in the session's state, or write {%s?} if it may be missing", s.key, s.key)
		}
		b.WriteString(plain(raw))
	}
	return b.String(), nil
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
