package wire

import (
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth bounds the nesting of values that are kept. Readers of JSON, ours
// among them, stop at 10,000 levels: what comes in must still be readable when
// it goes out inside of an event inside of a session.
const maxDepth = 9000

// Compact appends src to dst without white space, and fails when src is not
// one JSON value in UTF-8 or is nested too deeply. Strings and numbers keep
// their spelling.
func Compact[B ~[]byte](dst []byte, src B) ([]byte, error) {
	if !utf8.Valid(src) {
		return dst, &Error{Type: "json_invalid", Msg: "not a JSON value"}
	}
	var out []byte
	if s := (scanner{doc: src, dense: true}); s.value() && s.pos == len(src) { // the usual case (BenchmarkRun)
		out = append(dst, src...)
	} else {
		var err error
		if out, err = jsontext.AppendFormat(dst, src, verbatim); err != nil {
			return dst, &Error{Type: "json_invalid", Msg: "not a JSON value"}
		}
	}
	if tooDeep(out[len(dst):]) {
		return dst, &Error{Type: "json_invalid", Msg: "nested too deeply"}
	}
	return out, nil
}

// Valid reports whether doc is one JSON value.
func Valid(doc []byte) bool {
	s := scanner{doc: doc}
	if !s.value() {
		return false
	}
	s.peek()
	return s.pos == len(doc)
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
// eight bytes at a time, the last ones with some of those before them (BenchmarkRun,
// BenchmarkQuote).
func isPlain(s string) bool {
	if len(s) < 8 {
		for i := range len(s) {
			if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
				return false
			}
		}
		return true
	}
	last := s[len(s)-8:]
	for ; len(s) > 8; s = s[8:] {
		if special(word(s)) != 0 {
			return false
		}
	}
	return special(word(last)) == 0
}

// word returns the first eight bytes of s.
func word(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// special returns the top bits of those of the eight bytes of word that are a control
// character, a quotation mark, a backslash or above ASCII; bytes after the first of
// them may have one too. Subtracting n from every byte borrows from the top bit of
// those that are less than n.
func special(word uint64) uint64 {
	const (
		ones = 0x0101010101010101
		tops = 0x80 * ones
	)
	quote, backslash := word^'"'*ones, word^'\\'*ones
	return (word | (word - ' '*ones) | (quote - ones) | (backslash - ones)) & tops
}

// Number appends f in the shortest form that reads back as f.
func Number(dst []byte, f float64) []byte { return jsontext.AppendFloat(dst, f, 64) }
