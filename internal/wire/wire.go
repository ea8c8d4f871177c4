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
	"errors"
	"fmt"
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

// Error is a document that cannot be read: where, and what was expected.
type Error struct {
	// Path leads to the value: object keys are strings, array positions ints.
	Path []any
	// Type is a short machine-readable name such as "missing" or "string_type".
	Type string
	// Msg is a sentence for people.
	Msg string
}

func (e *Error) Error() string {
	if len(e.Path) == 0 {
		return e.Msg
	}
	var b strings.Builder
	for i, p := range e.Path {
		if i > 0 {
			b.WriteByte('.')
		}
		fmt.Fprint(&b, p)
	}
	return b.String() + ": " + e.Msg
}

// Missing says that a required member is not there.
func Missing(path ...any) *Error {
	return &Error{Path: path, Type: "missing", Msg: "Field required"}
}

// Reader walks one JSON document from front to back.
type Reader struct {
	dec   *jsontext.Decoder
	buf   bytes.Buffer
	doc   []byte
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
	lenient  = jsontext.AllowDuplicateNames(true)
	verbatim = jsonv2.JoinOptions(lenient, jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
)

// readers are used again: clients send the same names over and over.
var readers = sync.Pool{New: func() any {
	return &Reader{dec: new(jsontext.Decoder), names: map[string]*spelling{}}
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
	r.buf, r.doc = *bytes.NewBuffer(doc), doc
	r.dec.Reset(&r.buf, lenient, jsontext.AllowInvalidUTF8(true))
	defer func() {
		r.buf, r.doc = bytes.Buffer{}, nil
		r.dec.Reset(&r.buf)
		readers.Put(r)
	}()
	if err := read(r); err != nil {
		return err
	}
	if len(bytes.TrimLeft(r.dec.UnreadBuffer(), " \t\r\n")) > 0 {
		return &Error{Type: "json_invalid", Msg: "unexpected data after the JSON value"}
	}
	return nil
}

// Null consumes a null and reports whether there was one.
func (r *Reader) Null() bool {
	if r.dec.PeekKind() != 'n' {
		return false
	}
	_, err := r.dec.ReadToken()
	return err == nil
}

// Object calls field for each member, its name folded to camelCase. field must
// read the member's value or Skip it. Members that are null are passed over. Two
// spellings of one name must not have different values: a proxy that looks at
// one of them would be told something else than the server.
func (r *Reader) Object(field func(name string) error) error {
	if err := r.open('{', "object_type", "Input should be an object"); err != nil {
		return err
	}
	var few [8]member // with several spellings; others are in many
	seen := few[:0]
	var many map[string]member
	for r.dec.PeekKind() != '}' {
		name, err := r.spelled()
		if err != nil {
			return err
		}
		from := r.dec.InputOffset()
		if r.Null() {
			continue
		}
		if err := field(name.name); err != nil {
			return err
		}
		if !name.several {
			continue
		}
		this := member{name, from, r.dec.InputOffset()}
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
		case other.text != name.text && !bytes.Equal(r.value(other), r.value(this)):
			return r.Errorf("value_error", "%s and %s are the same member, with different values: send one of them", other.text, name.text)
		}
	}
	_, err := r.dec.ReadToken()
	return r.fail(err)
}

// Members is Object for maps whose keys are data: names are not folded and
// nulls are shown.
func (r *Reader) Members(field func(name string) error) error {
	return r.keys(func() (string, error) {
		tok, err := r.dec.ReadToken()
		if err != nil {
			return "", r.fail(err)
		}
		return tok.String(), nil
	}, field)
}

func (r *Reader) keys(key func() (string, error), field func(name string) error) error {
	if err := r.open('{', "object_type", "Input should be an object"); err != nil {
		return err
	}
	for r.dec.PeekKind() != '}' {
		name, err := key()
		if err != nil {
			return err
		}
		if err := field(name); err != nil {
			return err
		}
	}
	_, err := r.dec.ReadToken()
	return r.fail(err)
}

// member is where in the document the value of a member is.
type member struct {
	*spelling
	from, to int64
}

// value is the text of a member's value.
func (r *Reader) value(m member) []byte { return bytes.TrimLeft(r.doc[m.from:m.to], ": \t\r\n") }

// spelled reads the name of a member.
func (r *Reader) spelled() (*spelling, error) {
	raw, err := r.dec.ReadValue()
	if err != nil {
		return nil, r.fail(err)
	}
	if known, ok := r.names[string(raw)]; ok {
		return known, nil
	}
	text, _ := jsontext.AppendUnquote(nil, raw) // a name was read, so it is a string
	s := &spelling{text: string(text), name: Camel(string(text))}
	s.several = s.text != s.name || strings.ContainsFunc(s.name, func(c rune) bool { return 'A' <= c && c <= 'Z' })
	if len(r.names) < maxNames && len(raw) <= longestName {
		r.names[string(raw)] = s
	}
	return s, nil
}

// Array calls item for each element; item must read it.
func (r *Reader) Array(item func() error) error {
	if err := r.open('[', "list_type", "Input should be an array"); err != nil {
		return err
	}
	for r.dec.PeekKind() != ']' {
		if r.dec.PeekKind() == 0 { // broken input: let ReadToken say how
			_, err := r.dec.ReadToken()
			return r.fail(err)
		}
		if err := item(); err != nil {
			return err
		}
	}
	_, err := r.dec.ReadToken()
	return r.fail(err)
}

func (r *Reader) open(kind jsontext.Kind, typ, msg string) error {
	if k := r.dec.PeekKind(); k != kind && k != 0 {
		return r.mismatch(typ, msg)
	}
	_, err := r.dec.ReadToken()
	return r.fail(err)
}

// Kind is the kind of the next value: one of n, f, t, ", 0, {, [ as in JSON's
// own first characters.
func (r *Reader) Kind() byte { return byte(r.dec.PeekKind()) }

// Skip passes over the next value.
func (r *Reader) Skip() error { return r.fail(r.dec.SkipValue()) }

// String reads a string.
func (r *Reader) String(into *string) error {
	tok, err := r.scalar('"', "string_type", "Input should be a string")
	if err == nil {
		*into = tok.String()
	}
	return err
}

// ID reads a string that identifies something. It must have no lone surrogates:
// they all become the same character, and different identifiers with it.
func (r *Reader) ID(into *string) error {
	if k := r.dec.PeekKind(); k != '"' && k != 0 {
		return r.mismatch("string_type", "Input should be a string")
	}
	id, err := r.exact()
	if err == nil {
		*into = id
	}
	return err
}

// exact reads a string, or the name of a member, that must have no lone surrogates.
func (r *Reader) exact() (string, error) {
	raw, err := r.dec.ReadValue()
	if err != nil {
		return "", r.fail(err)
	}
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
	if k := r.dec.PeekKind(); k != 't' && k != 'f' && k != 0 {
		return r.mismatch("bool_type", "Input should be true or false")
	}
	tok, err := r.dec.ReadToken()
	if err != nil {
		return r.fail(err)
	}
	*into = tok.Bool()
	return nil
}

// Float reads a number.
func (r *Reader) Float(into *float64) error {
	tok, err := r.scalar('0', "float_type", "Input should be a number")
	if err != nil {
		return err
	}
	if *into, err = tok.Float(); err != nil {
		return r.Errorf("float_type", "The number is out of range")
	}
	return nil
}

// Int reads a whole number.
func (r *Reader) Int(into *int64) error {
	tok, err := r.scalar('0', "float_type", "Input should be a number")
	if err != nil {
		return err
	}
	if n, err := tok.Int(); err == nil {
		*into = n
		return nil
	}
	// 5.0 and 1e3 are whole numbers too.
	f, err := tok.Float()
	if err != nil || f != math.Trunc(f) || f < -1<<63 || f >= 1<<63 {
		return r.Errorf("int_type", "Input should be a whole number")
	}
	*into = int64(f)
	return nil
}

func (r *Reader) scalar(kind jsontext.Kind, typ, msg string) (jsontext.Token, error) {
	if k := r.dec.PeekKind(); k != kind && k != 0 {
		return jsontext.Token{}, r.mismatch(typ, msg)
	}
	tok, err := r.dec.ReadToken()
	return tok, r.fail(err)
}

// Raw reads any value, without white space but otherwise exactly as written.
func (r *Reader) Raw(into *json.RawMessage) error {
	v, err := r.dec.ReadValue()
	if err != nil {
		return r.fail(err)
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
	if k := r.dec.PeekKind(); k != '{' && k != 0 {
		return r.mismatch("dict_type", "Input should be an object")
	}
	return r.Raw(into)
}

// Errorf is an error at the value that was read last, or at the member whose
// name was.
func (r *Reader) Errorf(typ, format string, args ...any) error {
	return &Error{Path: r.path(), Type: typ, Msg: fmt.Sprintf(format, args...)}
}

// mismatch is an error at the value that comes next.
func (r *Reader) mismatch(typ, msg string) error {
	if k := r.dec.PeekKind(); k == '}' || k == ']' { // there is no value
		_, err := r.dec.ReadToken()
		return r.fail(err)
	}
	path := r.path()
	depth := r.dec.StackDepth()
	if kind, n := r.dec.StackIndex(depth); kind == '[' { // the path leads to the element before, if any
		path = append(path[:depth-1], int(n))
	}
	return &Error{Path: path, Type: typ, Msg: msg}
}

// fail turns the tokenizer's complaint into ours.
func (r *Reader) fail(err error) error {
	if err == nil {
		return nil
	}
	msg := "the document ends too early"
	if syn, ok := errors.AsType[*jsontext.SyntacticError](err); ok && syn.Err != nil {
		msg = fmt.Sprintf("%v at byte %d", syn.Err, syn.ByteOffset)
	}
	return &Error{Type: "json_invalid", Msg: "JSON decode error: " + msg}
}

func (r *Reader) path() []any {
	var path []any
	for tok := range r.dec.StackPointer().Tokens() {
		if kind, _ := r.dec.StackIndex(len(path) + 1); kind == '[' {
			i, _ := strconv.Atoi(tok) // the tokenizer's own counter
			path = append(path, i)
		} else {
			path = append(path, tok)
		}
	}
	return path
}

// maxDepth bounds the nesting of values that are kept. Readers of JSON, ours
// among them, stop at 10,000 levels: what comes in must still be readable when
// it goes out inside of an event inside of a session.
const maxDepth = 9000

// Compact appends src to dst without white space, and fails when src is not
// one JSON value in UTF-8 or is nested too deeply. Strings and numbers keep
// their spelling.
func Compact[B ~[]byte](dst []byte, src B) ([]byte, error) {
	out, err := jsontext.AppendFormat(dst, src, verbatim)
	if err != nil || !utf8.Valid(src) {
		return dst, &Error{Type: "json_invalid", Msg: "not a JSON value"}
	}
	if tooDeep(out[len(dst):]) {
		return dst, &Error{Type: "json_invalid", Msg: "nested too deeply"}
	}
	return out, nil
}

// IsKept reports whether Compact leaves doc, which is what encoding/json has
// made of a value, as it is. A value with raw JSON in it may have brought along
// what does not pass.
func IsKept(doc []byte) bool { return utf8.Valid(doc) && !tooDeep(doc) }

// tooDeep reports whether valid JSON is nested more than maxDepth levels.
func tooDeep(v []byte) bool {
	if len(v) < 2*maxDepth { // too short for the brackets
		return false
	}
	depth, quoted := 0, false
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
			if c == '\\' {
				i++
			}
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// Quote appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func Quote(dst []byte, s string) []byte {
	if isPlain(s) {
		return append(append(append(dst, '"'), s...), '"')
	}
	dst, _ = jsontext.AppendQuote(dst, s) // the error only says that bytes were replaced
	return dst
}

// isPlain reports whether s is spelled in JSON as it is: identifiers are, and much
// of what is said in English. Every text of every event passes here, so it tests
// eight bytes at a time (BenchmarkRun, BenchmarkQuote).
func isPlain(s string) bool {
	for ; len(s) >= 8; s = s[8:] {
		word := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
		if !arePlain(word) {
			return false
		}
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// arePlain reports whether none of the eight bytes of word is a control character,
// a quotation mark, a backslash or above ASCII. Subtracting n from every byte
// borrows from the top bit of those that are less than n.
func arePlain(word uint64) bool {
	const (
		ones = 0x0101010101010101
		tops = 0x80 * ones
	)
	quote, backslash := word^'"'*ones, word^'\\'*ones
	return (word|(word-' '*ones)|(quote-ones)|(backslash-ones))&tops == 0
}

// Seconds is Number for a time in seconds. Those that are whole microseconds,
// until 2106, are spelled without a search for the shortest form: their digits
// are, since no other number with six digits after the point is as near.
func Seconds(dst []byte, f float64) []byte {
	const second = 1e6
	micros := uint64(max(0, min(f, math.MaxUint32))*second + 0.5)
	if math.Signbit(f) || float64(micros)/second != f {
		return Number(dst, f)
	}
	dst = strconv.AppendUint(dst, micros/second, 10)
	rest := micros % second
	if rest == 0 {
		return dst
	}
	dst = append(dst, '.')
	for unit := uint64(second / 10); rest > 0; unit /= 10 {
		dst = append(dst, '0'+byte(rest/unit))
		rest %= unit
	}
	return dst
}

// Number appends f in the shortest form that reads back as f.
func Number(dst []byte, f float64) []byte { return jsontext.AppendFloat(dst, f, 64) }
