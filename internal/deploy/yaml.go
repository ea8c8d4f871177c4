package deploy

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// toYAML returns a value, as it is in JSON, in the block style of YAML. Texts are quoted
// as in Go, whose escapes YAML has, too, unless they are plain words. A library would be a
// hundred times as large.
func toYAML(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return "", err
	}
	var b strings.Builder
	writeYAML(&b, tree, "")
	return b.String(), nil
}

// writeYAML writes a value that begins in a new line, indented.
func writeYAML(b *strings.Builder, value any, indent string) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			b.WriteString(indent + word(name) + ":")
			writeMember(b, value[name], indent+"  ")
		}
	case []any:
		for _, item := range value {
			var inner strings.Builder
			writeMember(&inner, item, indent+"  ")
			// What is in lines of its own begins beside the dash.
			b.WriteString(indent + "- " + strings.TrimLeft(inner.String(), " \n"))
		}
	}
}

// writeMember writes a value after its name or its dash.
func writeMember(b *strings.Builder, value any, indent string) {
	switch inner := value.(type) {
	case map[string]any:
		if len(inner) > 0 {
			b.WriteByte('\n')
			writeYAML(b, value, indent)
			return
		}
	case []any:
		if len(inner) > 0 {
			b.WriteByte('\n')
			writeYAML(b, value, indent)
			return
		}
	case string:
		b.WriteString(" " + word(inner) + "\n")
		return
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // it was JSON before
	}
	b.WriteString(" " + string(text) + "\n")
}

var plainWord = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9./-]*$`)

// meanings are plain words that are not texts in YAML, in some version of it.
var meanings = []string{"y", "yes", "n", "no", "on", "off", "true", "false", "null"}

// word returns a text as YAML.
func word(text string) string {
	if plainWord.MatchString(text) && !slices.Contains(meanings, strings.ToLower(text)) {
		return text
	}
	return strconv.Quote(text)
}
