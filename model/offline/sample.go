package offline

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// formats are values for strings that cannot be just any text.
var formats = map[string]string{
	"date":      "1970-01-01",
	"time":      "00:00:00Z",
	"date-time": "1970-01-01T00:00:00Z",
	"email":     "nobody@example.com",
	"uri":       "https://example.com/",
	"uuid":      "00000000-0000-0000-0000-000000000000",
}

// sample is the smallest JSON that fits the schema: required members only,
// with text for strings, and for the rest what the user mentioned or a zero.
func sample(raw json.RawMessage, text, user string) json.RawMessage {
	s := sampler{doc: document(raw), text: text, user: parse(user), budget: 1000}
	return encode(s.value(raw, 0))
}

type sampler struct {
	doc    document
	text   string
	user   *utterance
	number int // of the user's numbers that are used up
	budget int // of values: a schema may ask for itself, twice
}

const maxDepth = 16

func (s *sampler) value(raw json.RawMessage, depth int) any {
	s.budget--
	if s.budget < 0 || depth > maxDepth {
		return nil
	}
	sc := s.doc.read(raw)
	if choices := sc.values(); len(choices) > 0 {
		if found := s.user.mentions(choices, s.user.all()); len(found) > 0 {
			return found[0].value
		}
		return choices[0]
	}
	switch sc.Type {
	case "object":
		return s.object(sc, depth)
	case "array":
		list := []any{}
		for len(list) < sc.MinItems && s.budget > 0 {
			list = append(list, s.value(sc.Items, depth+1))
		}
		return list
	case "number", "integer":
		return s.amount(sc)
	case "boolean":
		yes, _, _ := s.user.flag(nil)
		return yes
	case "null":
		return nil
	}
	return s.string(sc)
}

func (s *sampler) object(sc schema, depth int) any {
	object := map[string]any{}
	for _, name := range sc.Required {
		object[name] = s.value(sc.Properties.get(name), depth+1)
	}
	return object
}

func (s *sampler) amount(sc schema) any {
	n := 0.0
	for s.number < len(s.user.numbers) {
		next := s.user.numbers[s.number]
		s.number++
		if sc.Type == "number" || next.whole() {
			n = next.value
			break
		}
	}
	if sc.Minimum != nil {
		n = max(n, *sc.Minimum)
	}
	if sc.ExclusiveMinimum != nil && n <= *sc.ExclusiveMinimum {
		n = *sc.ExclusiveMinimum + 1
	}
	if sc.Maximum != nil {
		n = min(n, *sc.Maximum)
	}
	return n
}

func (s *sampler) string(sc schema) string {
	if fixed, ok := formats[sc.Format]; ok {
		return fixed
	}
	text := s.text
	if sc.MinLength != nil {
		if short := min(*sc.MinLength, textLimit) - utf8.RuneCountInString(text); short > 0 {
			text += strings.Repeat(".", short)
		}
	}
	if sc.MaxLength != nil && *sc.MaxLength >= 0 {
		text = firstRunes(text, *sc.MaxLength)
	}
	return text
}
