// Package wire reads the JSON that clients send: both spellings of every
// name, nulls as absence, unknown members ignored, and an error that says
// where in the document it was.
//
// It is the mechanics only. Which members exist, and what they mean, is known
// by the packages that call it.
package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Reader walks one JSON document from front to back.
type Reader struct {
	scanner
	names map[string]*spelling // names of members that were seen before
}

// spelling is the name of a member, as it was written and folded to camelCase.
type spelling struct {
	text, name string
	// several is whether the name has other spellings, which names of one word
	// do not have.
	several bool
}

var (
	lenient  = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	verbatim = jsonv2.JoinOptions(lenient, jsontext.PreserveRawStrings(true))
)

// readers are used again: clients send the same names over and over (BenchmarkRun in package bench).
var readers = sync.Pool{New: func() any {
	return &Reader{names: map[string]*spelling{}}
}}

// What a reader remembers is bounded. There are not that many names in the
// contract, and none that is as long: what is beyond it is a client's invention.
const (
	maxNames    = 256
	longestName = 64
)

// Decode runs read over the whole of doc and makes sure that nothing follows.
// The reader is read's for that time only. Strings are copied out of doc.
//
// Escapes of lone surrogates pass in text (JavaScript produces them when it cuts an
// emoji in half), and are refused in keys and identifiers. Bytes that are not
// UTF-8 are refused everywhere.
func Decode(doc []byte, read func(*Reader) error) error {
	if !utf8.Valid(doc) {
		return &Error{Type: "json_invalid", Msg: "the document is not valid UTF-8"}
	}
	r, _ := readers.Get().(*Reader)
	r.scanner = scanner{doc: doc}
	defer func() {
		r.scanner = scanner{}
		readers.Put(r)
	}()
	if err := read(r); err != nil {
		return err
	}
	if r.peek(); r.pos < len(doc) {
		return &Error{Type: "json_invalid", Msg: "unexpected data after the JSON value"}
	}
	return nil
}

// Null consumes a null and reports whether there was one.
func (r *Reader) Null() bool { return r.kind() == 'n' && r.literal("null") }

// Object calls field for each member, its name folded to camelCase. field must
// read the member's value or Skip it. Members that are null are passed over. Two
// spellings of one name must not have different values: a proxy that looks at
// one of them would be told something else than the server.
func (r *Reader) Object(field func(name string) error) error { return r.object(false, field) }

// Patch is Object for a change of an object, in which null resets a member: field is
// called for those that are null, too.
func (r *Reader) Patch(field func(name string) error) error { return r.object(true, field) }

func (r *Reader) object(nulls bool, field func(name string) error) error {
	if err := r.begin('{', "object_type", "Input should be an object"); err != nil {
		return err
	}
	var few [8]member // with several spellings; others are in many
	seen := few[:0]
	var many map[string]member
	for {
		if more, ok := r.more('}'); !more {
			return r.valid(ok)
		}
		name, err := r.spelled()
		if err != nil {
			return err
		}
		if !nulls && r.Null() {
			continue
		}
		from := r.pos
		if err := field(name.name); err != nil {
			return err
		}
		if !name.several {
			continue
		}
		this := member{name, from, r.pos}
		i := slices.IndexFunc(seen, func(m member) bool { return m.name == name.name })
		other := many[name.name]
		if i >= 0 {
			other = seen[i]
		}
		switch {
		case other.spelling == nil && len(seen) < len(few):
			seen = append(seen, this)
		case other.spelling == nil:
			if many == nil {
				many = map[string]member{}
			}
			many[name.name] = this
		case other.text != name.text && !bytes.Equal(r.textOf(other), r.textOf(this)):
			return r.Errorf("value_error", "%s and %s are the same member, with different values: send one of them", other.text, name.text)
		}
	}
}

// Members is Object for maps whose keys are data: names are not folded and
// nulls are shown.
func (r *Reader) Members(field func(name string) error) error {
	return r.keys(func(raw []byte) (string, error) { return unquote(raw), nil }, field)
}

func (r *Reader) keys(key func(raw []byte) (string, error), field func(name string) error) error {
	if err := r.begin('{', "object_type", "Input should be an object"); err != nil {
		return err
	}
	for {
		if more, ok := r.more('}'); !more {
			return r.valid(ok)
		}
		raw, err := r.member()
		if err != nil {
			return err
		}
		name, err := key(raw)
		if err != nil {
			return err
		}
		if err := field(name); err != nil {
			return err
		}
	}
}

// member is where in the document the value of a member is.
type member struct {
	*spelling
	from, to int
}

// textOf is the text of a member's value.
func (r *Reader) textOf(m member) []byte { return r.doc[m.from:m.to] }

// spelled reads the name of a member.
func (r *Reader) spelled() (*spelling, error) {
	raw, err := r.member()
	if err != nil {
		return nil, err
	}
	if known, ok := r.names[string(raw)]; ok {
		return known, nil
	}
	text := unquote(raw)
	s := &spelling{text: text, name: Camel(text)}
	s.several = s.text != s.name || strings.ContainsFunc(s.name, func(c rune) bool { return 'A' <= c && c <= 'Z' })
	if len(r.names) < maxNames && len(raw) <= longestName {
		r.names[string(raw)] = s
	}
	return s, nil
}

// Array calls item for each element; item must read it.
func (r *Reader) Array(item func() error) error {
	if err := r.begin('[', "list_type", "Input should be an array"); err != nil {
		return err
	}
	for {
		if more, ok := r.more(']'); !more {
			return r.valid(ok)
		}
		if r.kind() == 0 {
			return r.broken()
		}
		if err := item(); err != nil {
			return err
		}
	}
}

// begin opens an object or an array.
func (r *Reader) begin(kind byte, typ, msg string) error {
	if err := r.expect(kind, typ, msg); err != nil {
		return err
	}
	return r.valid(r.open())
}

// expect fails if the next value is of another kind.
func (r *Reader) expect(kind byte, typ, msg string) error {
	switch r.kind() {
	case kind:
		return nil
	case 0:
		return r.broken()
	}
	return r.mismatch(typ, msg)
}

// valid fails if the document is broken, which is what a scanner says.
func (r *Reader) valid(ok bool) error {
	if ok {
		return nil
	}
	return r.broken()
}

// raw reads a value of any kind.
func (r *Reader) raw() ([]byte, error) {
	r.peek()
	from := r.pos
	if !r.value() {
		return nil, r.brokenAt(from)
	}
	return r.doc[from:r.pos], nil
}

// member reads the name of a member.
func (r *Reader) member() ([]byte, error) {
	from := r.pos
	raw, ok := r.name()
	if !ok {
		return nil, r.brokenAt(from)
	}
	return raw, nil
}

// Kind is the kind of the next value: one of n, f, t, ", 0, {, [ as in JSON's
// own first characters.
func (r *Reader) Kind() byte { return r.kind() }

// Skip passes over the next value.
func (r *Reader) Skip() error {
	_, err := r.raw()
	return err
}

// String reads a string.
func (r *Reader) String(into *string) error {
	raw, err := r.scalar('"', "string_type", "Input should be a string")
	if err == nil {
		*into = unquote(raw)
	}
	return err
}

// ID reads a string that identifies something. It must have no lone surrogates:
// they all become the same character, and different identifiers with it.
func (r *Reader) ID(into *string) error {
	raw, err := r.scalar('"', "string_type", "Input should be a string")
	if err != nil {
		return err
	}
	id, err := r.exact(raw)
	if err == nil {
		*into = id
	}
	return err
}

// unquote returns the text of a string. Lone surrogates become U+FFFD.
func unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	text, _ := jsontext.AppendUnquote(nil, raw) // the error only says that there were some
	return string(text)
}

// exact is like unquote for a string, or the name of a member, that must have no lone surrogates.
func (r *Reader) exact(raw []byte) (string, error) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), nil
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	if err != nil {
		return "", r.Errorf("value_error", "A key or an identifier must not have half of a surrogate pair in it")
	}
	return string(text), nil
}

// Strings reads an array of strings.
func (r *Reader) Strings(into *[]string) error {
	list := []string{}
	err := r.Array(func() error {
		var s string
		err := r.String(&s)
		list = append(list, s)
		return err
	})
	*into = list
	return err
}

// Bool reads true or false.
func (r *Reader) Bool(into *bool) error {
	if r.kind() == 't' {
		*into = true
		return r.Skip()
	}
	_, err := r.scalar('f', "bool_type", "Input should be true or false")
	if err == nil {
		*into = false
	}
	return err
}

// Float reads a number.
func (r *Reader) Float(into *float64) error {
	raw, err := r.scalar('0', "float_type", "Input should be a number")
	if err != nil {
		return err
	}
	if *into, err = strconv.ParseFloat(string(raw), 64); err != nil {
		return r.Errorf("float_type", "The number is out of range")
	}
	return nil
}

// Int reads a whole number.
func (r *Reader) Int(into *int64) error {
	raw, err := r.scalar('0', "float_type", "Input should be a number")
	if err != nil {
		return err
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		*into = n
		return nil
	}
	// 5.0 and 1e3 are whole numbers too.
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || f < -1<<63 || f >= 1<<63 {
		return r.Errorf("int_type", "Input should be a whole number")
	}
	*into = int64(f)
	return nil
}

func (r *Reader) scalar(kind byte, typ, msg string) ([]byte, error) {
	if err := r.expect(kind, typ, msg); err != nil {
		return nil, err
	}
	return r.raw()
}

// Raw reads any value, without white space but otherwise exactly as written.
func (r *Reader) Raw(into *json.RawMessage) error {
	v, err := r.raw()
	if err != nil {
		return err
	}
	if *into, err = Compact(make([]byte, 0, len(v)), v); err != nil {
		return r.Errorf("json_invalid", "%v", err)
	}
	return nil
}

// declared has the functions of Declare. It does not change after initialization.
var declared = map[reflect.Type]func(any, *Reader) error{}

// Declare sets how Value reads a T. The packages of the types call it when they are
// initialized: a method with a Reader would make this package a part of their API.
func Declare[T any](read func(*T, *Reader) error) {
	declared[reflect.TypeFor[*T]()] = func(into any, r *Reader) error { return read(into.(*T), r) }
}

// Value reads a value of a declared type. into is a pointer to its zero value.
func (r *Reader) Value(into any) error { return declared[reflect.TypeOf(into)](into, r) }

// RawMap reads an object whose values are kept as they are. Its keys must have no
// lone surrogates, as in ID.
func (r *Reader) RawMap(into *map[string]json.RawMessage) error {
	m := map[string]json.RawMessage{}
	err := r.keys(r.exact, func(name string) error {
		var v json.RawMessage
		err := r.Raw(&v)
		m[name] = v
		return err
	})
	*into = m
	return err
}

// RawObject is Raw for a value that must be an object.
func (r *Reader) RawObject(into *json.RawMessage) error {
	if err := r.expect('{', "dict_type", "Input should be an object"); err != nil {
		return err
	}
	return r.Raw(into)
}
