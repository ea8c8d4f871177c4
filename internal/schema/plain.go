package schema

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Plain rewrites the error of the validator in terms of the arguments: its own text
// is about schemas, and prints values as Go does.
func Plain(err error) string { return plain(err.Error()) }

func plain(text string) string {
	path := ""
	for {
		rest, ok := strings.CutPrefix(text, "validating ")
		if !ok {
			break
		}
		var where string
		if where, text, ok = strings.Cut(rest, ": "); !ok {
			return rest
		}
		if strings.HasPrefix(where, "/properties/") { // not the root or a $ref's target
			path = argument(where)
		}
	}
	keyword, msg, ok := strings.Cut(text, ": ")
	if !ok || strings.Contains(keyword, " ") {
		keyword, msg = "", text
	}
	switch keyword {
	case "type":
		if i := strings.LastIndex(msg, ` has type "`); i >= 0 { // drop the value
			msg = msg[i+1:]
		}
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		// "6/1 is greater than 5.000000"
		if _, bound, ok := strings.Cut(msg, " is "); ok {
			msg = "is " + strings.TrimRight(strings.TrimRight(bound, "0"), ".")
		}
	case "anyOf":
		msg = "fits none of the allowed forms"
		if _, reasons, ok := strings.Cut(text, "\n"); ok {
			var each []string
			for line := range strings.Lines(reasons) {
				each = append(each, plain(strings.TrimSpace(line)))
			}
			return strings.Join(each, "; or ")
		}
	case "oneOf", "not":
		msg = "fits none, or too many, of the allowed forms"
	}
	if path == "" {
		return msg
	}
	return path + ": " + msg
}

// argument converts the location of a schema to that of the value:
// /properties/stops/items/properties/city to stops[].city.
func argument(schemaPath string) string {
	var b strings.Builder
	steps := slices.Collect(jsontext.Pointer(schemaPath).Tokens())
	for i := 0; i < len(steps); i++ {
		switch steps[i] {
		case "properties":
			if i++; i == len(steps) {
				break
			}
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(steps[i])
		case "items":
			b.WriteString("[]")
		case "additionalProperties":
			b.WriteString(".*")
		case "allOf", "anyOf", "oneOf", "patternProperties", "prefixItems":
			i++ // which one
		}
	}
	return b.String()
}
