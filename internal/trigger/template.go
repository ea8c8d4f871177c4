package trigger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxTemplate     = 32 << 10
	maxPlaceholders = 100
	maxDepth        = 32
	// maxOutput bounds what is made of a payload.
	maxOutput = 256 << 10
)

// PayloadError means that a payload does not have what a trigger makes a message of.
type PayloadError struct{ Message string }

func (e *PayloadError) Error() string { return e.Message }

// template is a text with placeholders such as {{ body.issue.title ?? "none" }}. It can
// do no more than name values.
type template struct{ parts []part }

// part is a text, or the first of some terms that has a value.
type part struct {
	text  string
	terms []term // nil for a text
}

// term is the path of a value, or a text.
type term struct {
	path []string // nil for a text
	text string
	name string // as it is written
	full bool   // an empty text is no value: || follows
}

// constant reports whether the template has no placeholders.
func (t *template) constant() bool {
	for _, p := range t.parts {
		if p.terms != nil {
			return false
		}
	}
	return true
}

// parse reads a template.
func parse(text string) (*template, error) {
	if len(text) > maxTemplate {
		return nil, fmt.Errorf("must have at most %d bytes", maxTemplate)
	}
	t := &template{}
	for n := 0; ; n++ {
		before, rest, found := strings.Cut(text, "{{")
		if before != "" {
			t.parts = append(t.parts, part{text: before})
		}
		if !found {
			return t, nil
		}
		if n == maxPlaceholders {
			return nil, fmt.Errorf("must have at most %d placeholders", maxPlaceholders)
		}
		terms, after, err := parseTerms(rest)
		if err != nil {
			return nil, err
		}
		t.parts, text = append(t.parts, part{terms: terms}), after
	}
}

// parseTerms reads the terms of a placeholder, and returns what follows it.
func parseTerms(text string) (terms []term, rest string, err error) {
	for {
		text = strings.TrimLeft(text, " \t\n")
		var one term
		if strings.HasPrefix(text, `"`) {
			one, text, err = parseText(text)
		} else {
			end := strings.IndexAny(text, " \t\n}?|")
			if end < 0 {
				return nil, "", errors.New("a placeholder has no end: write {{ body.name }}")
			}
			one.name, text = text[:end], text[end:]
			one.path, err = parsePath(one.name)
		}
		if err != nil {
			return nil, "", err
		}
		terms = append(terms, one)
		text = strings.TrimLeft(text, " \t\n")
		if after, ok := strings.CutPrefix(text, "}}"); ok {
			return terms, after, nil
		}
		after, ok := strings.CutPrefix(text, "??")
		if !ok {
			after, ok = strings.CutPrefix(text, "||")
			terms[len(terms)-1].full = ok
		}
		if !ok {
			return nil, "", errors.New(`a placeholder is a path, such as {{ body.name }}, or has several values, such as {{ body.name ?? "none" }}`)
		}
		text = after
	}
}

// parseText reads a text in quotes.
func parseText(text string) (term, string, error) {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			var one term
			if json.Unmarshal([]byte(text[:i+1]), &one.text) != nil {
				return one, "", errors.New("a text in quotes must be one of JSON")
			}
			return one, text[i+1:], nil
		}
	}
	return term{}, "", errors.New("a text in quotes has no end")
}

// roots are what paths begin with.
var roots = []string{"body", "headers", "query", "attributes", "id", "type"}

// parsePath reads a path with dots, such as body.issue.title, or a JSON pointer, such as
// /body/issue/title.
func parsePath(text string) ([]string, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("a path must be UTF-8")
	}
	var path []string
	if pointer, ok := strings.CutPrefix(text, "/"); ok {
		path = strings.Split(pointer, "/")
		for i, one := range path {
			path[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(one)
		}
	} else {
		path = strings.Split(text, ".")
		if slices.Contains(path, "") {
			return nil, fmt.Errorf("%q is not a path, such as body.issue.title", text)
		}
	}
	if len(path) > maxDepth {
		return nil, fmt.Errorf("a path must have at most %d names", maxDepth)
	}
	for _, root := range roots {
		if path[0] != root {
			continue
		}
		if root == "headers" {
			for i := range path {
				path[i] = strings.ToLower(path[i])
			}
		}
		return path, nil
	}
	return nil, fmt.Errorf("%q is not a path: it begins with one of %s", text, strings.Join(roots, ", "))
}

// lookUp returns the value at a path; nil for none, as for null.
func lookUp(value any, path []string) any {
	for _, name := range path {
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) || strconv.Itoa(i) != name {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// value returns the first value that there is.
func (p *part) value(payload any) (any, error) {
	for _, one := range p.terms {
		if one.path == nil {
			return one.text, nil
		}
		if v := lookUp(payload, one.path); v != nil && (v != "" || !one.full) {
			return v, nil
		}
	}
	return nil, &PayloadError{fmt.Sprintf("the payload has no %.200s, which the trigger needs", p.terms[len(p.terms)-1].name)}
}

// render returns the text with the values in place of the placeholders.
func (t *template) render(payload any) (string, error) {
	var out strings.Builder
	for _, p := range t.parts {
		text := p.text
		if p.terms != nil {
			v, err := p.value(payload)
			if err != nil {
				return "", err
			}
			if text, err = textOf(v); err != nil {
				return "", err
			}
		}
		if out.Len()+len(text) > maxOutput {
			return "", errLarge
		}
		out.WriteString(text)
	}
	return out.String(), nil
}

var errLarge = &PayloadError{fmt.Sprintf("what the trigger makes of the payload has more than %d bytes: choose parts of it with a template", maxOutput)}

// textOf returns a text as it is, and other values as JSON.
func textOf(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	}
	doc, err := encode(v, "  ")
	return string(doc), err
}

// encode returns a value as JSON.
func encode(v any, indent string) ([]byte, error) {
	var out bytes.Buffer
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	to.SetIndent("", indent)
	if err := to.Encode(v); err != nil {
		return nil, &PayloadError{"the payload cannot be written as JSON"}
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// checkValue reports what is wrong with the templates in a value.
func checkValue(doc json.RawMessage) error {
	_, err := renderValue(doc, func(text string) (any, error) {
		_, err := parse(text)
		return nil, err
	})
	return err
}

// renderValue replaces the texts in a value.
func renderValue(doc json.RawMessage, replace func(string) (any, error)) (any, error) {
	v, err := decode(doc)
	if err != nil {
		return nil, errors.New("must be JSON")
	}
	return walk(v, replace, 0)
}

func walk(v any, replace func(string) (any, error), depth int) (_ any, err error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("must have at most %d levels", maxDepth)
	}
	switch v := v.(type) {
	case string:
		return replace(v)
	case []any:
		for i := range v {
			if v[i], err = walk(v[i], replace, depth+1); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for name := range v {
			if v[name], err = walk(v[name], replace, depth+1); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// renderText returns a text, or the value itself if the template is one placeholder.
func renderText(text string, payload any) (any, error) {
	t, err := parse(text)
	if err != nil {
		return nil, err
	}
	if len(t.parts) == 1 && t.parts[0].terms != nil {
		return t.parts[0].value(payload)
	}
	return t.render(payload)
}

// decode reads JSON, and keeps numbers as they are written.
func decode(doc []byte) (v any, err error) {
	in := json.NewDecoder(bytes.NewReader(doc))
	in.UseNumber()
	if err := in.Decode(&v); err != nil {
		return nil, err
	}
	if in.More() {
		return nil, errors.New("there is more than one value")
	}
	return v, nil
}
