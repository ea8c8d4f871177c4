package agent

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/parley-run/parley/tool"
)

// template is an instruction with places for values of the state, and for files.
type template []segment

// segment is literal text or, when key is set, a place.
type segment struct {
	text     string
	key      string
	optional bool
}

var (
	braces = regexp.MustCompile(`\{+[^{}]*\}+`)
	file   = regexp.MustCompile(`^artifact\.\S(?:.*\S)?$`)
	key    = regexp.MustCompile(`^(?:(?:app|user|temp):)?[\p{L}_][\p{L}\p{N}_]*$`)
)

// parseTemplate finds the places. Braces around anything that is not the name
// of a value stay as they are, so that JSON in an instruction survives.
func parseTemplate(text string) template {
	var t template
	from := 0
	for _, at := range braces.FindAllStringIndex(text, -1) {
		name := strings.TrimSpace(strings.Trim(text[at[0]:at[1]], "{}"))
		name, optional := strings.CutSuffix(name, "?")
		if !key.MatchString(name) && !file.MatchString(name) {
			continue
		}
		t = append(t, segment{text: text[from:at[0]]}, segment{key: name, optional: optional})
		from = at[1]
	}
	return append(t, segment{text: text[from:]})
}

// render fills the places: strings as they are, everything else as JSON.
func (t template) render(state tool.Lookup, file func(name string) (text string, there bool, err error)) (string, error) {
	if len(t) == 1 {
		return t[0].text, nil
	}
	var b strings.Builder
	for _, s := range t {
		if s.key == "" {
			b.WriteString(s.text)
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
		var str string
		if json.Unmarshal(raw, &str) == nil {
			b.WriteString(str)
		} else {
			b.Write(raw)
		}
	}
	return b.String(), nil
}
