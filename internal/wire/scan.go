package wire

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// scanner finds where the values of a JSON document end. If the document is broken, it knows only that: jsontext, which
// reads it again, says how and where.
//
// jsontext alone would do, and is made for streams. All requests, and the arguments and results of all tools, pass here
// and are in memory: BenchmarkRun takes five percent fewer instructions with this.
type scanner struct {
	doc   []byte
	pos   int
	depth int  // of open objects and arrays
	dense bool // white space between tokens is an error
}

// maxNesting is how deep jsontext reads.
const maxNesting = 10_000

// kind passes over white space and returns the kind of the token that follows: one of n, f, t, ", 0, {, }, [, ], or 0 for
// everything else.
func (s *scanner) kind() byte { return kinds[s.peek()] }

var kinds = [256]byte{
	'n': 'n', 'f': 'f', 't': 't', '"': '"', '{': '{', '}': '}', '[': '[', ']': ']',
	'-': '0', '0': '0', '1': '0', '2': '0', '3': '0', '4': '0', '5': '0', '6': '0', '7': '0', '8': '0', '9': '0',
}

// peek passes over white space and returns the byte that follows, 0 at the end. It is small enough to be inlined: most
// documents have no white space.
func (s *scanner) peek() byte {
	if s.pos < len(s.doc) && s.doc[s.pos] > ' ' {
		return s.doc[s.pos]
	}
	return s.space()
}

func (s *scanner) space() byte {
	for ; s.pos < len(s.doc); s.pos++ {
		c := s.doc[s.pos]
		if space := c == ' ' || c == '\t' || c == '\r' || c == '\n'; !space || s.dense {
			return c
		}
	}
	return 0
}

// value passes over a value. It reports whether there was one.
func (s *scanner) value() bool {
	switch s.kind() {
	case '"':
		return s.string()
	case '0':
		return s.number()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	case '{':
		return s.open() && s.members()
	case '[':
		return s.open() && s.elements()
	}
	return false
}

func (s *scanner) members() bool {
	for {
		if more, ok := s.more('}'); !more {
			return ok
		}
		if _, ok := s.name(); !ok || !s.value() {
			return false
		}
	}
}

func (s *scanner) elements() bool {
	for {
		if more, ok := s.more(']'); !more {
			return ok
		}
		if !s.value() {
			return false
		}
	}
}

// open passes over the bracket at pos.
func (s *scanner) open() bool {
	s.pos++
	s.depth++
	return s.depth <= maxNesting
}

// more passes over the comma before the next member or element, or over the bracket at the end.
func (s *scanner) more(end byte) (more, ok bool) {
	before := s.doc[s.pos-1]
	c := s.peek()
	if c == end {
		s.pos++
		s.depth--
		return false, true
	}
	if first := before == '{' || before == '['; first {
		return true, true
	}
	if c != ',' {
		return false, false
	}
	s.pos++
	more = s.peek() != end
	return more, more
}

// name passes over the name of a member and its colon, and returns the name with its quotation marks.
func (s *scanner) name() (raw []byte, ok bool) {
	if s.peek() != '"' {
		return nil, false
	}
	from := s.pos
	if !s.string() {
		return nil, false
	}
	raw = s.doc[from:s.pos]
	if s.peek() != ':' {
		return nil, false
	}
	s.pos++
	return raw, true
}

// string passes over the string whose quotation mark is at pos.
func (s *scanner) string() bool {
	doc := s.doc
	for i := s.pos + 1; i < len(doc); {
		if i+8 <= len(doc) {
			plain := bits.TrailingZeros64(special(binary.LittleEndian.Uint64(doc[i:]))) / 8
			if i += plain; plain == 8 {
				continue
			}
		}
		switch c := doc[i]; {
		case c == '"':
			s.pos = i + 1
			return true
		case c == '\\':
			n := escape(doc[i:])
			if n == 0 {
				return false
			}
			i += n
		case c < ' ':
			return false
		default:
			i++
		}
	}
	return false
}

// escape returns the length of the escape sequence at the beginning of doc, 0 if it is none.
func escape(doc []byte) int {
	if len(doc) < 2 {
		return 0
	}
	switch doc[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(doc) < 6 {
			return 0
		}
		for _, c := range doc[2:6] {
			if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'f') {
				return 0
			}
		}
		return 6
	}
	return 0
}

// number passes over the number at pos.
func (s *scanner) number() bool {
	doc := s.doc[s.pos:]
	n := 0
	if doc[0] == '-' {
		n++
	}
	if zero := n < len(doc) && doc[n] == '0'; zero {
		n++
	} else if n = digits(doc, n); n == 0 {
		return false
	}
	if n < len(doc) && doc[n] == '.' {
		if n = digits(doc, n+1); n == 0 {
			return false
		}
	}
	if n < len(doc) && (doc[n] == 'e' || doc[n] == 'E') {
		if n++; n < len(doc) && (doc[n] == '+' || doc[n] == '-') {
			n++
		}
		if n = digits(doc, n); n == 0 {
			return false
		}
	}
	s.pos += n
	return true
}

// digits returns the index after the digits at doc[i:], 0 if there are none.
func digits(doc []byte, i int) int {
	from := i
	for i < len(doc) && '0' <= doc[i] && doc[i] <= '9' {
		i++
	}
	if i == from {
		return 0
	}
	return i
}

// literal passes over text, if it is at pos.
func (s *scanner) literal(text string) bool {
	if !bytes.HasPrefix(s.doc[s.pos:], []byte(text)) {
		return false
	}
	s.pos += len(text)
	return true
}
