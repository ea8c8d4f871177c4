package tssig

import (
	"regexp"
	"strconv"
	"strings"
)

// between returns the comments between token i and the previous one.
func (t *sourceText) between(i int) (from, to int) {
	to = len(t.comments)
	if i < len(t.tokens) {
		to = t.tokens[i].comments
	}
	if i > 0 {
		from = t.tokens[min(i, len(t.tokens))-1].comments
	}
	return from, to
}

// trailing reports whether a comment in front of token i belongs to what precedes
// it: it is on the same line, and nothing follows it there.
func (t *sourceText) trailing(c, i int) bool {
	if i <= 0 || i > len(t.tokens) || hasNewline(t.src[t.tokens[i-1].end:t.comments[c].start]) {
		return false
	}
	if i == len(t.tokens) || t.is(i, ",", ";", ")", "]", "}") {
		return true
	}
	return hasNewline(t.src[t.comments[c].end:t.tokens[i].start])
}

// above returns the comments directly in front of token i, nearest first.
func (t *sourceText) above(i int) []string {
	if i >= len(t.tokens) {
		return nil
	}
	var list []string
	from, to := t.between(i)
	next := t.tokens[i].start
	for c := to - 1; c >= from && !t.trailing(c, i); c-- {
		one := t.comments[c]
		if strings.Count(t.src[one.end:next], "\n") > 1 {
			break
		}
		if text := t.src[one.start:one.end]; !directive.MatchString(text) {
			list = append(list, text)
		}
		next = one.start
	}
	return list
}

// directive is a comment for a tool.
var directive = regexp.MustCompile(`^/[/*]+\s*(?:eslint|tslint|@ts-|prettier-|biome-|istanbul|c8 |v8 |#?(?:end)?region\b)`)

// describe returns the description of what is between tokens start and end from
// comments: those in front of it, or else one behind it on its last line.
func (t *sourceText) describe(start, end int) string {
	var lines []string
	for i, text := range t.above(start) {
		block := strings.HasPrefix(text, "/*")
		if block && i > 0 {
			break // it belongs to something else
		}
		lines = append(commentLines(text), lines...)
		if block {
			break
		}
	}
	if len(lines) == 0 {
		lines = t.behind(end)
	}
	return readDoc(lines).description
}

func (t *sourceText) behind(end int) []string {
	for i := end; i == end || i == end+1 && t.is(end, ",", ";"); i++ {
		from, to := t.between(i)
		for c := from; c < to; c++ {
			if text := t.src[t.comments[c].start:t.comments[c].end]; t.trailing(c, i) && !directive.MatchString(text) {
				return commentLines(text)
			}
		}
	}
	return nil
}

// jsDoc returns the documentation comment directly above token i.
func (t *sourceText) jsDoc(i int) docComment {
	for _, text := range t.above(i) {
		if strings.HasPrefix(text, "/**") && len(text) > 4 {
			return readDoc(commentLines(text))
		}
	}
	return docComment{}
}

// commentLines returns the text of a comment without its marks.
func commentLines(comment string) []string {
	text, block := strings.CutPrefix(comment, "/*")
	if !block {
		return []string{strings.TrimSpace(strings.TrimLeft(comment, "/"))}
	}
	lines := strings.Split(strings.TrimSuffix(text, "*/"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "*"))
	}
	return lines
}

// docComment is a documentation comment.
type docComment struct {
	description string
	params      []docParam
}

// docParam is the description of a parameter in a comment, or of a member of one,
// whose name has dots.
type docParam struct {
	name        string
	typ         string
	optional    bool
	description string
}

var (
	docTag  = regexp.MustCompile(`^@([a-zA-Z]+)(?:\s+|$)(.*)$`)
	docLink = regexp.MustCompile(`\{@\w+\s+([^}|\s]+)[^}]*\}`)
)

// readDoc parses the lines of a comment.
func readDoc(lines []string) docComment {
	var doc docComment
	tag, text := "description", []string{}
	finish := func() {
		switch tag {
		case "description", "desc", "remarks":
			doc.description = strings.TrimSpace(doc.description + "\n" + paragraphs(text))
		case "param", "arg", "argument":
			if p := readParam(text); p.name != "" {
				doc.params = append(doc.params, p)
			}
		}
	}
	for _, line := range lines {
		if m := docTag.FindStringSubmatch(line); m != nil {
			finish()
			tag, text = m[1], []string{m[2]}
			continue
		}
		text = append(text, line)
	}
	finish()
	return doc
}

// readParam parses what follows @param: {type} name - description.
func readParam(lines []string) (p docParam) {
	text := strings.TrimSpace(strings.Join(lines, "\n"))
	if strings.HasPrefix(text, "{") {
		end := balanced(text, '{', '}')
		p.typ, p.optional = strings.CutSuffix(strings.TrimSpace(text[1:end]), "=")
		text = strings.TrimSpace(text[min(end+1, len(text)):])
	}
	if strings.HasPrefix(text, "[") {
		end := balanced(text, '[', ']')
		p.name, _, _ = strings.Cut(text[1:end], "=")
		p.optional = true
		text = text[min(end+1, len(text)):]
	} else {
		end := strings.IndexAny(text+" ", " \t\n")
		p.name, text = text[:end], text[end:]
	}
	p.name = strings.Trim(strings.TrimSpace(p.name), "`:,")
	p.description = paragraphs(strings.Split(strings.TrimLeft(text, " \t\n-–—:"), "\n"))
	return p
}

// balanced returns the position where the bracket that the text begins with is
// closed, or the end of the text, but at least 1.
func balanced(text string, open, closing byte) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case open:
			depth++
		case closing:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return max(len(text), 1)
}

// paragraphs joins lines that were wrapped: empty lines and list items stay
// separate.
func paragraphs(lines []string) string {
	var b strings.Builder
	gap := ""
	for _, line := range lines {
		line = strings.TrimSpace(docLink.ReplaceAllString(line, "$1"))
		switch {
		case line == "":
			if b.Len() > 0 {
				gap = "\n\n"
			}
			continue
		case gap == " " && listItem.MatchString(line):
			gap = "\n"
		}
		b.WriteString(gap)
		b.WriteString(line)
		gap = " "
	}
	return b.String()
}

var listItem = regexp.MustCompile(`^(?:[-*•]|\d+[.)])\s`)

func hasNewline(s string) bool { return strings.ContainsAny(s, "\n\r") }

// unquote returns the value of a string literal. An invalid escape represents
// itself.
func unquote(literal string) string {
	if len(literal) < 2 {
		return ""
	}
	body := literal[1:]
	if body[len(body)-1] == literal[0] {
		body = body[:len(body)-1]
	}
	if !strings.Contains(body, `\`) {
		return body
	}
	var b strings.Builder
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' || i+1 == len(body) {
			b.WriteByte(body[i])
			continue
		}
		i++
		if plain, ok := escapes[body[i]]; ok {
			b.WriteString(plain)
			continue
		}
		digits := 0
		switch body[i] {
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		}
		if digits > 0 && i+digits < len(body) {
			if r, err := strconv.ParseUint(body[i+1:i+1+digits], 16, 32); err == nil {
				b.WriteRune(rune(r))
				i += digits
				continue
			}
		}
		b.WriteByte(body[i])
	}
	return b.String()
}

var escapes = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", 'v': "\v", '0': "\x00", '\n': ""}

// numberValue parses a number literal.
func numberValue(text string) (float64, bool) {
	text = strings.ReplaceAll(text, "_", "")
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return n, true
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(text, "n"), 0, 64)
	return float64(n), err == nil
}
