package credential

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/parley-run/parley/internal/wire"
)

// value holds the value of a member, and decodes and encodes it.
type value interface {
	empty() bool
	clear()
	read(r *wire.Reader) error
	write(w *writer)
}

// holder is a value that is an object of this package.
type holder interface {
	inner() (table, bool)
}

// text is a string.
type text struct{ at *string }

func (v text) empty() bool               { return *v.at == "" }
func (v text) clear()                    { *v.at = "" }
func (v text) read(r *wire.Reader) error { return r.String(v.at) }
func (v text) write(w *writer)           { w.string(*v.at) }

// flag is a boolean.
type flag struct{ at *bool }

func (v flag) empty() bool               { return !*v.at }
func (v flag) clear()                    { *v.at = false }
func (v flag) read(r *wire.Reader) error { return r.Bool(v.at) }
func (v flag) write(w *writer)           { w.dst = strconv.AppendBool(w.dst, *v.at) }

// number is a number of seconds. Decoding truncates fractions and accepts strings,
// because clients copy times from many sources.
type number struct{ at *int64 }

func (v number) empty() bool     { return *v.at == 0 }
func (v number) clear()          { *v.at = 0 }
func (v number) write(w *writer) { w.dst = strconv.AppendInt(w.dst, *v.at, 10) }

func (v number) read(r *wire.Reader) error {
	var f float64
	if r.Kind() == '"' {
		var s string
		if err := r.String(&s); err != nil {
			return err
		}
		var err error
		if f, err = strconv.ParseFloat(s, 64); err != nil {
			return r.Errorf("float_type", "Input should be a number")
		}
	} else if err := r.Float(&f); err != nil {
		return err
	}
	const exact = 1 << 53
	if !(-exact <= f && f <= exact) { // written so that it holds for NaN too
		return r.Errorf("int_type", "The number is out of range")
	}
	*v.at = int64(f)
	return nil
}

// list is an array of strings.
type list struct{ at *[]string }

func (v list) empty() bool     { return len(*v.at) == 0 }
func (v list) clear()          { *v.at = nil }
func (v list) write(w *writer) { w.strings(*v.at) }

func (v list) read(r *wire.Reader) error {
	err := r.Strings(v.at)
	if len(*v.at) == 0 {
		*v.at = nil
	}
	return err
}

// scopes are encoded as an object of names and descriptions. They are decoded from
// that, from an array of names, or from a string of names separated by spaces.
type scopes struct{ at *[]Scope }

func (v scopes) empty() bool { return len(*v.at) == 0 }
func (v scopes) clear()      { *v.at = nil }

func (v scopes) read(r *wire.Reader) error {
	*v.at = nil
	places := map[string]int{}
	add := func(s Scope) {
		i, seen := places[s.Name]
		if !seen {
			places[s.Name] = len(*v.at)
			*v.at = append(*v.at, s)
			return
		}
		(*v.at)[i] = s
	}
	switch r.Kind() {
	case '{':
		return r.Members(func(name string) error {
			s := Scope{Name: name}
			if !r.Null() {
				if err := r.String(&s.Description); err != nil {
					return err
				}
			}
			add(s)
			return nil
		})
	case '"':
		var all string
		err := r.String(&all)
		for name := range strings.FieldsSeq(all) {
			add(Scope{Name: name})
		}
		return err
	}
	return r.Array(func() error {
		var s Scope
		err := r.String(&s.Name)
		add(s)
		return err
	})
}

func (v scopes) write(w *writer) {
	written := map[string]bool{}
	w.dst = append(w.dst, '{')
	for _, s := range *v.at {
		if !written[s.Name] {
			written[s.Name] = true
			w.key(s.Name)
			w.string(s.Description)
		}
	}
	w.dst = append(w.dst, '}')
}

// scopeNames are scopes without descriptions, encoded as an array.
type scopeNames struct{ at *[]string }

func (v scopeNames) empty() bool     { return len(*v.at) == 0 }
func (v scopeNames) clear()          { *v.at = nil }
func (v scopeNames) write(w *writer) { w.strings(*v.at) }

func (v scopeNames) read(r *wire.Reader) error {
	var all []Scope
	err := scopes{&all}.read(r)
	*v.at = nil
	for _, s := range all {
		*v.at = append(*v.at, s.Name)
	}
	return err
}

// headers are encoded in the order of their names.
type headers struct{ at *map[string]string }

func (v headers) empty() bool { return len(*v.at) == 0 }
func (v headers) clear()      { *v.at = nil }

func (v headers) read(r *wire.Reader) error {
	*v.at = nil
	return r.Members(func(name string) error {
		if r.Null() {
			return nil
		}
		var s string
		if err := r.String(&s); err != nil {
			return err
		}
		if *v.at == nil {
			*v.at = map[string]string{}
		}
		(*v.at)[name] = s
		return nil
	})
}

func (v headers) write(w *writer) {
	w.dst = append(w.dst, '{')
	for _, name := range slices.Sorted(maps.Keys(*v.at)) {
		w.key(name)
		w.string((*v.at)[name])
	}
	w.dst = append(w.dst, '}')
}

// schemeType is the kind of a scheme. It is always encoded in OpenAPI's spelling.
type schemeType struct{ at *Type }

func (v schemeType) empty() bool     { return *v.at == "" }
func (v schemeType) clear()          { *v.at = "" }
func (v schemeType) write(w *writer) { w.string(string(*v.at)) }

func (v schemeType) read(r *wire.Reader) error {
	var s string
	err := r.String(&s)
	*v.at, _ = parseType(s)
	return err
}

// authType is the kind of a credential.
type authType struct{ at *Type }

func (v authType) empty() bool { return *v.at == "" }
func (v authType) clear()      { *v.at = "" }

func (v authType) read(r *wire.Reader) error {
	var s string
	if err := r.String(&s); err != nil {
		return err
	}
	t, known := parseType(s)
	if !known {
		return r.Errorf("enum", "Input should be 'apiKey', 'http', 'oauth2', 'openIdConnect' or 'serviceAccount'")
	}
	*v.at = t
	return nil
}

func (v authType) write(w *writer) {
	if spec, ok := specTypes[*v.at]; ok && w.spelling == Snake {
		w.string(spec)
		return
	}
	w.string(string(*v.at))
}

// apiKey is a string in ADK, and an object with a string in the specification.
type apiKey struct{ at *string }

func (v apiKey) empty() bool { return *v.at == "" }
func (v apiKey) clear()      { *v.at = "" }

func (v apiKey) read(r *wire.Reader) error {
	*v.at = ""
	switch r.Kind() {
	case '{':
		return table{members: []member{{name: "apiKey", value: plainKey(v)}}}.read(r)
	case '0':
		var raw json.RawMessage
		err := r.Raw(&raw)
		*v.at = string(raw)
		return err
	}
	return r.String(v.at)
}

func (v apiKey) write(w *writer) {
	if w.spelling == Snake {
		w.object(table{members: []member{{name: "apiKey", value: plainKey(v)}}})
		return
	}
	w.string(*v.at)
}

// plainKey decodes the key itself. It keeps the spelling of a number.
type plainKey struct{ at *string }

func (v plainKey) empty() bool     { return *v.at == "" }
func (v plainKey) clear()          { *v.at = "" }
func (v plainKey) write(w *writer) { w.string(*v.at) }

func (v plainKey) read(r *wire.Reader) error {
	if r.Kind() == '{' {
		return r.String(v.at) // the error of the string says what is expected
	}
	return apiKey(v).read(r)
}
