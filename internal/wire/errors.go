package wire

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

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

// Errorf is an error at the value that was read last, or at the member whose
// name was.
func (r *Reader) Errorf(typ, format string, args ...any) error {
	return &Error{Path: path(r.again()), Type: typ, Msg: fmt.Sprintf(format, args...)}
}

// mismatch is an error at the value that comes next.
func (r *Reader) mismatch(typ, msg string) error {
	if k := r.kind(); k == '}' || k == ']' { // there is no value
		return r.broken()
	}
	dec := r.again()
	path := path(dec)
	depth := dec.StackDepth()
	if kind, n := dec.StackIndex(depth); kind == '[' { // the path leads to the element before, if any
		path = append(path[:depth-1], int(n))
	}
	return &Error{Path: path, Type: typ, Msg: msg}
}

// broken is an error of the syntax of the next token.
func (r *Reader) broken() error {
	dec := r.again()
	_, err := dec.ReadToken()
	return syntax(dec, err)
}

// brokenAt is an error of the syntax of the name or the value at pos.
func (r *Reader) brokenAt(pos int) error {
	r.pos = pos
	dec := r.again()
	_, err := dec.ReadValue()
	return syntax(dec, err)
}

// syntax is the error that jsontext has returned, or will.
func syntax(dec *jsontext.Decoder, err error) error {
	for err == nil {
		_, err = dec.ReadToken()
	}
	msg := "the document ends too early"
	if syn, ok := errors.AsType[*jsontext.SyntacticError](err); ok && syn.Err != nil {
		msg = fmt.Sprintf("%v at byte %d", syn.Err, syn.ByteOffset)
	}
	return &Error{Type: "json_invalid", Msg: "JSON decode error: " + msg}
}

// again reads the document again with jsontext, up to the last token that the reader has read: jsontext knows what an
// error has to say.
func (r *Reader) again() *jsontext.Decoder {
	read := len(bytes.TrimRight(r.doc[:r.pos], " \t\r\n,:"))
	dec := jsontext.NewDecoder(bytes.NewBuffer(r.doc), lenient)
	for int(dec.InputOffset()) < read {
		if _, err := dec.ReadToken(); err != nil {
			break
		}
	}
	return dec
}

// path leads to what dec has read last.
func path(dec *jsontext.Decoder) []any {
	var path []any
	for tok := range dec.StackPointer().Tokens() {
		if kind, _ := dec.StackIndex(len(path) + 1); kind == '[' {
			i, _ := strconv.Atoi(tok) // jsontext's own counter
			path = append(path, i)
		} else {
			path = append(path, tok)
		}
	}
	return path
}
