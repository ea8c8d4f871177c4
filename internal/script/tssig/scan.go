package tssig

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is one word of a TypeScript text. Comments are kept beside the
// tokens, because types are read from the ones and descriptions from the
// others.
type token struct {
	kind       tokenKind
	start, end int
	newline    bool // before it
	match      int  // of a bracket: the token that closes or opens it; else -1
	comments   int  // how many comments of the text come before it
}

type tokenKind byte

const (
	kindPunct tokenKind = iota
	kindWord
	kindNumber
	kindString
	kindTemplate // a piece of a template literal, from ` or } to ` or ${
	kindRegexp
)

type comment struct{ start, end int }

// sourceText is a text with its tokens. A token at or after the last is empty, so
// that looking ahead needs no care.
type sourceText struct {
	src      string
	tokens   []token
	comments []comment
	whole    bool // every bracket, comment and template is closed, and the last statement ends
}

type scanner struct {
	sourceText
	pos     int
	newline bool
	open    []int // the open brackets, including "${"
	divided int   // slashes before this position divide
}

// scan cuts a text into tokens. It takes any text, in one pass.
func scan(src string) *sourceText {
	s := &scanner{sourceText: sourceText{src: src, whole: true}}
	if strings.HasPrefix(src, "#!") {
		s.pos = lineEnd(src, 0)
	}
	for s.pos < len(src) {
		s.next()
	}
	if last := len(s.tokens) - 1; len(s.open) > 0 || last >= 0 && !s.ends(last) {
		s.whole = false
	}
	return &s.sourceText
}

func (s *scanner) next() {
	c := s.src[s.pos]
	switch {
	case c == '\n' || c == '\r':
		s.newline = true
		s.pos++
	case c == ' ' || c == '\t' || c == '\v' || c == '\f':
		s.pos++
	case c == '/' && strings.HasPrefix(s.src[s.pos:], "//"):
		s.comment(lineEnd(s.src, s.pos))
	case c == '/' && strings.HasPrefix(s.src[s.pos:], "/*"):
		end := strings.Index(s.src[s.pos+2:], "*/")
		if end < 0 {
			s.whole = false
			s.comment(len(s.src))
			return
		}
		s.comment(s.pos + 2 + end + 2)
	case c == '"' || c == '\'':
		s.token(kindString, stringEnd(s.src, s.pos))
	case c == '`':
		s.template(s.pos + 1)
	case c >= '0' && c <= '9' || c == '.' && s.pos+1 < len(s.src) && isDigit(s.src[s.pos+1]):
		s.token(kindNumber, numberEnd(s.src, s.pos))
	case c == '/':
		s.slash()
	case c >= utf8.RuneSelf:
		r, size := utf8.DecodeRuneInString(s.src[s.pos:])
		if r == '\u2028' || r == '\u2029' {
			s.newline = true
		}
		if unicode.IsSpace(r) || r == '\ufeff' || r == '\u2028' || r == '\u2029' {
			s.pos += size
			return
		}
		s.token(kindWord, wordEnd(s.src, s.pos))
	case isWordByte(c):
		s.token(kindWord, wordEnd(s.src, s.pos))
	default:
		s.punct(c)
	}
}

// slash reads a regular expression or a division. After one that does not end on
// its line, it does not look for another on that line, so that no text is read
// repeatedly.
func (s *scanner) slash() {
	if s.pos >= s.divided && s.operandExpected() {
		if end := regexpEnd(s.src, s.pos); end > 0 {
			s.token(kindRegexp, end)
			return
		}
		s.divided = lineEnd(s.src, s.pos)
	}
	s.token(kindPunct, s.pos+1)
}

// long are the operators of several characters that must not be split. >> is not
// among them, because it may close two lists of types.
var long = []string{"...", "===", "!==", "=>", "==", "!=", "?.", "??", "&&", "||", "++", "--"}

func (s *scanner) punct(c byte) {
	switch c {
	case '(', '[', '{':
		s.opening(s.pos + 1)
		return
	case ')', ']', '}':
		s.closing(c)
		return
	}
	end := s.pos + 1
	for _, op := range long {
		if strings.HasPrefix(s.src[s.pos:], op) {
			end = s.pos + len(op)
			break
		}
	}
	if end == s.pos+2 && s.src[s.pos] == '?' && s.src[s.pos+1] == '.' && end < len(s.src) && isDigit(s.src[end]) {
		end-- // a?.5:1
	}
	s.token(kindPunct, end)
}

func (s *scanner) opening(end int) {
	s.open = append(s.open, len(s.tokens))
	s.token(kindPunct, end)
}

func (s *scanner) closing(c byte) {
	if len(s.open) == 0 {
		s.whole = false
		s.token(kindPunct, s.pos+1)
		return
	}
	opened := s.open[len(s.open)-1]
	s.open = s.open[:len(s.open)-1]
	text := s.text(opened)
	if closers[text] != c {
		s.whole = false
	}
	s.tokens[opened].match = len(s.tokens)
	s.token(kindPunct, s.pos+1)
	s.tokens[len(s.tokens)-1].match = opened
	if text == "${" {
		s.template(s.pos)
	}
}

var closers = map[string]byte{"(": ')', "[": ']', "{": '}', "${": '}'}

// template reads a piece of a template literal, whose text begins at i, and the ${
// after it.
func (s *scanner) template(i int) {
	for i < len(s.src) {
		switch {
		case s.src[i] == '\\':
			i++
		case s.src[i] == '`':
			s.token(kindTemplate, i+1)
			return
		case strings.HasPrefix(s.src[i:], "${"):
			s.token(kindTemplate, i)
			s.opening(i + 2)
			return
		}
		i++
	}
	s.whole = false
	s.token(kindTemplate, len(s.src))
}

func (s *scanner) token(kind tokenKind, end int) {
	s.tokens = append(s.tokens, token{kind: kind, start: s.pos, end: end, newline: s.newline, match: -1, comments: len(s.comments)})
	s.pos, s.newline = end, false
}

func (s *scanner) comment(end int) {
	s.comments = append(s.comments, comment{s.pos, end})
	s.newline = s.newline || strings.ContainsAny(s.src[s.pos:end], "\n\r")
	s.pos = end
}

// before are the words that an operand follows, so that a slash begins a regular
// expression.
var before = map[string]bool{
	"return": true, "typeof": true, "case": true, "in": true, "of": true, "do": true, "else": true, "void": true,
	"delete": true, "instanceof": true, "new": true, "throw": true, "yield": true, "await": true, "default": true,
}

// operandExpected reports whether a slash begins a regular expression, rather than
// being a division.
func (s *scanner) operandExpected() bool {
	last := len(s.tokens) - 1
	if last < 0 {
		return true
	}
	text := s.text(last)
	switch s.tokens[last].kind {
	case kindWord:
		return before[text] && s.text(last-1) != "."
	case kindNumber, kindString, kindRegexp, kindTemplate:
		return false
	default:
	}
	switch text {
	case "]", "++", "--":
		return false
	case "<": // </b> in JSX
		return s.tokens[last].end < s.pos
	case ")": // of a condition, or of a call or a group
		switch s.text(s.tokens[last].match - 1) {
		case "if", "while", "for", "with":
			return true
		}
		return false
	case "}": // of a block, or of an object, which is not divided
		return s.newline
	}
	return true
}

// ends reports whether a statement can end with token i.
func (t *sourceText) ends(i int) bool {
	switch t.tokens[i].kind {
	case kindWord:
		return !before[t.text(i)] || t.text(i) == "void" // the type
	case kindPunct:
		return t.is(i, ")", "]", "}", ";", ">", "!", "++", "--")
	default:
		return true
	}
}

// text returns the text of token i, or "" if there is no such token.
func (t *sourceText) text(i int) string {
	if i < 0 || i >= len(t.tokens) {
		return ""
	}
	return t.src[t.tokens[i].start:t.tokens[i].end]
}

// is reports whether token i is one of words, and not a literal with the same text.
func (t *sourceText) is(i int, words ...string) bool {
	if i < 0 || i >= len(t.tokens) || t.tokens[i].kind != kindPunct && t.tokens[i].kind != kindWord {
		return false
	}
	return slices.Contains(words, t.text(i))
}

func (t *sourceText) kind(i int) tokenKind {
	if i < 0 || i >= len(t.tokens) {
		return kindPunct
	}
	return t.tokens[i].kind
}

// closed returns the token that closes the bracket i, or limit if there is none
// before that.
func (t *sourceText) closed(i, limit int) int {
	if i < 0 || i >= len(t.tokens) || t.tokens[i].match <= i || t.tokens[i].match > limit {
		return limit
	}
	return t.tokens[i].match
}

// newline reports whether token i begins a line.
func (t *sourceText) newline(i int) bool {
	return i < 0 || i >= len(t.tokens) || t.tokens[i].newline
}

func lineEnd(s string, from int) int {
	if n := strings.IndexAny(s[from:], "\n\r"); n >= 0 {
		return from + n
	}
	return len(s)
}

// stringEnd returns where a string ends: at its quote, or at the end of the line.
func stringEnd(s string, from int) int {
	for i := from + 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case s[from]:
			return i + 1
		case '\n', '\r':
			return i
		}
	}
	return len(s)
}

// regexpEnd returns where a regular expression ends; 0 if it does not end on its
// line and so is not one.
func regexpEnd(s string, from int) int {
	class := false
	for i := from + 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\n' || c == '\r':
			return 0
		case c == '\\':
			i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			return wordEnd(s, i+1)
		}
	}
	return 0
}

func numberEnd(s string, i int) int {
	for ; i < len(s); i++ {
		exponent := (s[i] == '+' || s[i] == '-') && (s[i-1] == 'e' || s[i-1] == 'E')
		if !isWordByte(s[i]) && s[i] != '.' && !exponent {
			break
		}
	}
	return i
}

func wordEnd(s string, i int) int {
	for i < len(s) {
		if isWordByte(s[i]) {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if s[i] < utf8.RuneSelf || unicode.IsSpace(r) || r == '\ufeff' || r == '\u2028' || r == '\u2029' {
			break
		}
		i += size
	}
	return i
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isWordByte includes the backslash, which begins a letter that is written as \u….
func isWordByte(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '$' || c == '\\' || c == '#'
}
