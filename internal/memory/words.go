package memory

import (
	"strings"
	"unicode"
)

const (
	maxWord  = 64    // characters of a word that count
	maxWords = 4_000 // distinct words of one text that count
)

// wordsOf returns the distinct words of a text in lower case. For languages without spaces between words it returns
// pairs of characters, because it has no dictionary.
func wordsOf(text string) []string {
	seen := map[string]bool{}
	var list []string
	add := func(word []rune) {
		if s := string(word[:min(len(word), maxWord)]); len(word) > 0 && !seen[s] && len(list) < maxWords {
			seen[s] = true
			list = append(list, s)
		}
	}
	var word, run []rune // characters with and without spaces around their words
	flush := func() {
		add(word)
		if len(run) == 1 {
			add(run)
		}
		for i := range len(run) - 1 {
			add(run[i : i+2])
		}
		word, run = word[:0], run[:0]
	}
	for _, r := range strings.ToLower(text) {
		switch {
		case unicode.In(r, unspaced...):
			if len(word) > 0 {
				flush()
			}
			run = append(run, r)
		case unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r):
			if len(run) > 0 && !unicode.IsMark(r) {
				flush()
			}
			if len(run) > 0 {
				run = append(run, r)
			} else {
				word = append(word, r)
			}
		default:
			flush()
		}
	}
	flush()
	return list
}

// unspaced are the scripts of languages without spaces between words, and Korean, which appends particles to them.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// indexOf is like wordsOf for the index: it also returns the single characters of a language without spaces.
func indexOf(text string) []string {
	list := wordsOf(text)
	seen := map[rune]bool{}
	for _, r := range text {
		if unicode.Is(unicode.Han, r) && len(list) < maxWords && !seen[r] {
			seen[r] = true
			list = append(list, string(r)) // duplicates are possible; a store ignores them
		}
	}
	return list
}
