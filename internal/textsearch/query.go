package textsearch

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxQuery = 1000 // bytes
	maxTerms = 32
	// A match is shown with so many bytes before it, and so many in all.
	before  = 60
	maxShow = 240
)

// Query is what is searched for: a text matches if it has all words and phrases. The last word may be incomplete.
type Query struct {
	phrases [][]string
	open    bool // the last word may be incomplete
}

// Errors of Parse.
var (
	ErrEmpty = errors.New("must have at least one word")
	ErrLong  = errors.New("must have at most 32 words and 1000 bytes")
)

// Parse reads a query: words, and phrases in quotes. The last word stands for all words that begin with it, unless a
// quote ends after it.
func Parse(text string) (*Query, error) {
	if len(text) > maxQuery {
		return nil, ErrLong
	}
	q := &Query{}
	count := 0
	parts := strings.Split(strings.NewReplacer("“", `"`, "”", `"`, "„", `"`).Replace(text), `"`)
	for i, part := range parts {
		list := words(part)
		if len(list) == 0 {
			continue
		}
		count += len(list)
		q.open = true
		if i%2 == 1 { // in quotes
			phrase := make([]string, len(list))
			for i, w := range list {
				phrase[i] = w.text
			}
			q.phrases = append(q.phrases, phrase)
			q.open = i == len(parts)-1 // the quote does not end
			continue
		}
		end := -1
		for _, w := range list {
			// What has no space in between, such as 10.5 or a word of Chinese, is a phrase.
			if end >= 0 && !strings.ContainsAny(part[end:w.start], " \t\r\n\u00a0\u3000") {
				last := len(q.phrases) - 1
				q.phrases[last] = append(q.phrases[last], w.text)
			} else {
				q.phrases = append(q.phrases, []string{w.text})
			}
			end = w.end
		}
	}
	switch {
	case count == 0:
		return nil, ErrEmpty
	case count > maxTerms:
		return nil, ErrLong
	}
	return q, nil
}

// Terms returns the distinct words that a text must have, and the beginning of another one, empty for none.
func (q *Query) Terms() (whole []string, begun string) {
	for _, phrase := range q.phrases {
		whole = append(whole, phrase...)
	}
	if q.open {
		begun = whole[len(whole)-1]
		whole = whole[:len(whole)-1]
	}
	slices.Sort(whole)
	return slices.Compact(whole), begun
}

// Phrases reports whether words have to follow one another: then texts with all words may not match.
func (q *Query) Phrases() bool {
	return slices.ContainsFunc(q.phrases, func(phrase []string) bool { return len(phrase) > 1 })
}

// FTS5 returns the query for an index of SQLite, whose words have a prefix.
func (q *Query) FTS5(prefix string) string {
	whole, begun := q.Terms()
	return join(whole, begun, prefix, `"`, ` AND `, `*`)
}

// ShortFTS5 is like FTS5, with no more than a number of letters of the last word if that is
// incomplete: it also finds other texts.
func (q *Query) ShortFTS5(prefix string, letters int) string {
	whole, begun := q.Terms()
	if runes := []rune(begun); len(runes) > letters {
		begun = string(runes[:letters])
	}
	return join(whole, begun, prefix, `"`, ` AND `, `*`)
}

// TSQuery returns the query for an index of Postgres, whose words have a prefix.
func (q *Query) TSQuery(prefix string) string {
	whole, begun := q.Terms()
	return join(whole, begun, prefix, `'`, ` & `, `:*`)
}

// join writes the words in quotes. They have no characters that end one.
func join(whole []string, begun, prefix, quote, and, begins string) string {
	var b strings.Builder
	for _, w := range whole {
		if b.Len() > 0 {
			b.WriteString(and)
		}
		b.WriteString(quote + prefix + w + quote)
	}
	if begun != "" {
		if b.Len() > 0 {
			b.WriteString(and)
		}
		b.WriteString(quote + prefix + begun + quote + begins)
	}
	return b.String()
}

// Piece is a part of a text that is shown.
type Piece struct {
	Text  string
	Match bool
}

// Match returns the beginning of a text that matches, from shortly before the first match on.
func (q *Query) Match(text string) ([]Piece, bool) {
	list := words(text)
	var found []word // where the text matches
	for i, phrase := range q.phrases {
		open := q.open && i == len(q.phrases)-1
		before := len(found)
		for at := range list {
			if matches(list[at:], phrase, open) {
				found = append(found, word{start: list[at].start, end: list[at+len(phrase)-1].end})
			}
		}
		if len(found) == before {
			return nil, false
		}
	}
	slices.SortFunc(found, func(a, b word) int { return a.start - b.start })
	return show(text, found), true
}

func matches(list []word, phrase []string, open bool) bool {
	if len(list) < len(phrase) {
		return false
	}
	for i, want := range phrase {
		begun := open && i == len(phrase)-1
		if list[i].text != want && (!begun || !strings.HasPrefix(list[i].text, want)) {
			return false
		}
	}
	return true
}

// show returns the part of a text around the first match, on one line.
func show(text string, found []word) []Piece {
	from := max(0, found[0].start-before)
	for from < found[0].start && !utf8.RuneStart(text[from]) {
		from++
	}
	if i := strings.IndexAny(text[from:found[0].start], " \n\t"); from > 0 && i >= 0 {
		from += i + 1 // begin with a word
	}
	to := min(len(text), from+maxShow)
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	if i := strings.LastIndexAny(text[from:to], " \n\t"); to < len(text) && from+i >= found[0].end {
		to = from + i // end with a word
	}
	var list []Piece
	add := func(part string, match bool) {
		if part = oneLine(part); part != "" {
			list = append(list, Piece{part, match})
		}
	}
	at := from
	if from > 0 {
		add("…", false)
	}
	for _, w := range found {
		if w.start < at || w.start >= to {
			continue // within another match, or not shown
		}
		add(text[at:w.start], false)
		at = min(w.end, to)
		add(text[w.start:at], true)
	}
	add(text[at:to], false)
	if to < len(text) {
		add("…", false)
	}
	return list
}

// oneLine replaces white space with spaces.
func oneLine(s string) string {
	fields := strings.Fields(s)
	line := strings.Join(fields, " ")
	if len(fields) == 0 {
		if s != "" {
			return " "
		}
		return ""
	}
	if strings.TrimLeft(s[:1], " \n\t\r") == "" {
		line = " " + line
	}
	if strings.TrimRight(s[len(s)-1:], " \n\t\r") == "" {
		line += " "
	}
	return line
}
