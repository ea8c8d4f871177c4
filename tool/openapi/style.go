package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json/jsontext"
)

// style is the encoding of a value in a path, a query, a header or a cookie.
type style struct {
	name     string
	explode  bool
	reserved bool // whether reserved characters stay unescaped
}

func newStyle(in, name string, explode *bool, reserved bool) style {
	if name == "" {
		name = openapi3.SerializationForm
		if in == "path" || in == "header" {
			name = openapi3.SerializationSimple
		}
	}
	s := style{name: name, explode: name == openapi3.SerializationForm, reserved: reserved}
	if explode != nil {
		s.explode = *explode
	}
	return s
}

// param is an argument that is a parameter.
type param struct {
	*argument
	in, field string // its location, and its name in the document
	style     style
	json      bool // encoded as JSON, without a style
}

// param returns the argument of a parameter.
func (a *arguments) param(p *openapi3.Parameter) *param {
	out := &param{in: p.In, field: p.Name, style: newStyle(p.In, p.Style, p.Explode, p.AllowReserved)}
	schema := p.Schema
	for name, media := range p.Content { // there is one
		f, _ := formOf(name)
		out.json = f == formJSON
		if media != nil {
			schema = media.Schema
		}
	}
	arg := &argument{required: p.Required, description: p.Description, from: []*openapi3.SchemaRef{schema}}
	out.argument = a.add(p.Name, p.In, arg)
	return out
}

// value is an argument to be encoded. Values nested deeper than the style supports
// are encoded as JSON.
type value struct {
	kind  jsontext.Kind
	text  string
	items []value  // of an array or object
	names []string // of an object, one for each item
}

func newValue(raw json.RawMessage) (value, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	v, err := readValue(dec)
	if err != nil {
		return value{}, fmt.Errorf("read the value: %w", err)
	}
	return v, nil
}

func readValue(dec *jsontext.Decoder) (value, error) {
	v := value{kind: dec.PeekKind()}
	raw, err := dec.ReadValue()
	if err != nil {
		return v, err
	}
	v.text = string(raw)
	switch v.kind {
	case '"':
		var text []byte
		if text, err = jsontext.AppendUnquote(nil, raw); err == nil {
			v.text = string(text)
		}
	case '0':
		v.text = number(v.text)
	case '[', '{':
		inner := jsontext.NewDecoder(strings.NewReader(v.text))
		_, _ = inner.ReadToken()
		for inner.PeekKind() != ']' && inner.PeekKind() != '}' {
			if v.kind == '{' {
				name, err := inner.ReadToken()
				if err != nil {
					return v, err
				}
				v.names = append(v.names, name.String())
			}
			item, err := readValue(inner)
			if err != nil {
				return v, err
			}
			v.items = append(v.items, item)
		}
	default:
	}
	return v, err
}

// number writes integers without a fraction: models write 3.0 for 3.
func number(text string) string {
	if strings.ContainsAny(text, ".eE") {
		if f, err := strconv.ParseFloat(text, 64); err == nil && f == float64(int64(f)) && f < 1<<53 && f > -1<<53 {
			return strconv.FormatInt(int64(f), 10)
		}
	}
	return text
}

// words returns the parts of a value that a style joins: a scalar, the items of an
// array, the names and values of an object.
func (s style) words(v value, escape func(string) string) (list []string) {
	if v.kind != '[' && v.kind != '{' {
		return []string{escape(v.text)}
	}
	for i, item := range v.items {
		switch {
		case v.kind == '[':
			list = append(list, escape(item.text))
		case s.explode:
			list = append(list, escape(v.names[i])+"="+escape(item.text))
		default:
			list = append(list, escape(v.names[i]), escape(item.text))
		}
	}
	return list
}

// segment encodes a value for a path or a header.
func (s style) segment(name string, v value, escape func(string) string) string {
	words := s.words(v, escape)
	switch s.name {
	case openapi3.SerializationLabel:
		if s.explode {
			return "." + strings.Join(words, ".")
		}
		return "." + strings.Join(words, ",")
	case openapi3.SerializationMatrix:
		switch {
		case v.kind == '{' && s.explode:
			return ";" + strings.Join(words, ";")
		case v.kind == '[' && s.explode:
			return ";" + escape(name) + "=" + strings.Join(words, ";"+escape(name)+"=")
		case v.kind == '"' && v.text == "":
			return ";" + escape(name)
		}
		return ";" + escape(name) + "=" + strings.Join(words, ",")
	}
	return strings.Join(words, ",")
}

// pairs encodes a value as the name=value pairs of a query, a form or a cookie.
func (s style) pairs(name string, v value) []string {
	key := escape(name)
	if v.kind == 'n' {
		return nil
	}
	if s.name == openapi3.SerializationDeepObject {
		return s.deep(key, v)
	}
	words := s.words(v, s.escape)
	switch {
	case v.kind != '[' && v.kind != '{':
		return []string{key + "=" + words[0]}
	case len(words) == 0:
		return nil
	case s.explode && v.kind == '{':
		return words
	case s.explode:
		for i := range words {
			words[i] = key + "=" + words[i]
		}
		return words
	}
	separator := ","
	switch s.name {
	case openapi3.SerializationSpaceDelimited:
		separator = "%20"
	case openapi3.SerializationPipeDelimited:
		separator = "%7C"
	}
	return []string{key + "=" + strings.Join(words, separator)}
}

// deep writes a[b]=c, to any depth; the items of arrays are numbered.
func (s style) deep(key string, v value) (pairs []string) {
	switch v.kind {
	case 'n':
	case '{', '[':
		for i, item := range v.items {
			step := strconv.Itoa(i)
			if v.kind == '{' {
				step = escape(v.names[i])
			}
			pairs = append(pairs, s.deep(key+"%5B"+step+"%5D", item)...)
		}
	default:
		pairs = []string{key + "=" + s.escape(v.text)}
	}
	return pairs
}

func (s style) escape(text string) string {
	if s.reserved {
		// Not # and &, which would end the value, nor + and =, which servers
		// interpret in different ways.
		return escapeBut(text, ":/?[]@!$'()*,;")
	}
	return escape(text)
}

// escape escapes every character with a meaning in any part of a URL.
func escape(text string) string { return escapeBut(text, "") }

func escapeBut(text, keep string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(text) {
		c := text[i]
		if c != '_' && isWord(rune(c)) || strings.IndexByte("-._~", c) >= 0 || strings.IndexByte(keep, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.Write([]byte{'%', digits[c>>4], digits[c&15]})
	}
	return b.String()
}
