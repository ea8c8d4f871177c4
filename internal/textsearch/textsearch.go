// Package textsearch has what the stores share for the search in what was said: which text of an event is found, which
// words it has, what a query means, and how a match is shown. A store only finds the texts that have all words of a
// query, so the results of all stores are the same.
package textsearch

import (
	"math"
	"strings"
	"time"
	"unicode"

	"github.com/parley-run/parley/event"
)

const (
	// MaxText is the number of bytes of an event's text that can be found.
	MaxText = 64 << 10
	// maxWord is the number of characters of a word that count.
	maxWord = 64
)

// Text is what was said in an event.
type Text struct {
	Event, Author string
	Time          time.Time
	Text          string
}

// Of returns the text of an event: that of its text parts, without thoughts, calls, results and files. It is nil if
// there is none.
func Of(ev *event.Event) *Text {
	if ev.Content == nil {
		return nil
	}
	var b strings.Builder
	for _, p := range ev.Content.Parts {
		if !p.IsText() || p.Thought || p.Text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.Text)
		if b.Len() > MaxText {
			break
		}
	}
	text := strings.ToValidUTF8(b.String(), "\ufffd")
	if len(text) > MaxText {
		text = strings.ToValidUTF8(text[:MaxText], "")
	}
	if next(text) == nil {
		return nil
	}
	return &Text{Event: ev.ID, Author: ev.Author, Time: Time(ev.Timestamp), Text: text}
}

// Time returns the time of an event, which a client may have given.
func Time(seconds float64) time.Time {
	if !(seconds >= 0 && seconds < 1e10) { // false for NaN
		return time.UnixMicro(0).UTC()
	}
	return time.UnixMicro(int64(math.Round(seconds * 1e6))).UTC()
}

// word is a part of a text, in lower case.
type word struct {
	start, end int
	text       string
}

// next returns the first word of a text, or nil. A character of a language without spaces between words is a word.
func next(text string) *word {
	start, runes, alone := -1, 0, false
	end := len(text)
	for i, r := range text {
		single := r >= 0x0e00 && unicode.In(r, unspaced...)
		part := unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
		if start < 0 {
			if part {
				start, alone = i, single
			}
			continue
		}
		if !part || single || alone && !unicode.IsMark(r) {
			end = i
			break
		}
		if runes++; runes == maxWord {
			return cut(text, start, i)
		}
	}
	if start < 0 {
		return nil
	}
	return &word{start, end, lower(text[start:end])}
}

// cut returns a word of which only the first characters count, until at.
func cut(text string, start, at int) *word {
	end := len(text)
	for i, r := range text[at:] {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) || r >= 0x0e00 && unicode.In(r, unspaced...) {
			end = at + i
			break
		}
	}
	return &word{start, end, lower(text[start:at])}
}

func lower(s string) string { return strings.Map(unicode.ToLower, s) }

// unspaced are the scripts of languages without spaces between words, and Korean, which appends particles to them.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// words returns the words of a text.
func words(text string) []word {
	var list []word
	for at := 0; ; {
		w := next(text[at:])
		if w == nil {
			return list
		}
		list = append(list, word{at + w.start, at + w.end, w.text})
		at += w.end
	}
}

// Terms returns the distinct words of a text, each after a prefix, with spaces in between. The words have letters,
// digits and marks only.
func Terms(prefix, text string) string {
	var b strings.Builder
	seen := map[string]bool{}
	for _, w := range words(text) {
		if seen[w.text] {
			continue
		}
		seen[w.text] = true
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(prefix)
		b.WriteString(w.text)
	}
	return b.String()
}
