package eval

import "strings"

// stem cuts the endings of an English word off, by the algorithm of M. F. Porter
// (1980): https://tartarus.org/martin/PorterStemmer/def.txt. word is of the
// letters a to z, and longer than two.
func stem(word string) string {
	word = plural(word)
	word = past(word)
	if before, ok := strings.CutSuffix(word, "y"); ok && hasVowel(before) {
		word = before + "i"
	}
	word = swap(word, 0, doubleEndings)
	word = swap(word, 0, middleEndings)
	word = swap(word, 1, lastEndings)
	if before, ok := strings.CutSuffix(word, "e"); ok {
		if m := measure(before); m > 1 || m == 1 && !cvc(before) {
			word = before
		}
	}
	if strings.HasSuffix(word, "ll") && measure(word) > 1 {
		word = word[:len(word)-1]
	}
	return word
}

// ending is what becomes of an ending.
type ending struct{ from, to string }

// Of each list, the longest ending that fits counts, and no other: a longer one
// comes before those that it ends with.
var (
	doubleEndings = []ending{
		{"ational", "ate"},
		{"tional", "tion"},
		{"enci", "ence"},
		{"anci", "ance"},
		{"izer", "ize"},
		{"abli", "able"},
		{"alli", "al"},
		{"entli", "ent"},
		{"eli", "e"},
		{"ousli", "ous"},
		{"ization", "ize"},
		{"ation", "ate"},
		{"ator", "ate"},
		{"alism", "al"},
		{"iveness", "ive"},
		{"fulness", "ful"},
		{"ousness", "ous"},
		{"aliti", "al"},
		{"iviti", "ive"},
		{"biliti", "ble"},
	}
	middleEndings = []ending{
		{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""},
	}
	lastEndings = []ending{
		{"al", ""},
		{"ance", ""},
		{"ence", ""},
		{"er", ""},
		{"ic", ""},
		{"able", ""},
		{"ible", ""},
		{"ant", ""},
		{"ement", ""},
		{"ment", ""},
		{"ent", ""},
		{"sion", "s"},
		{"tion", "t"},
		{"ou", ""},
		{"ism", ""},
		{"ate", ""},
		{"iti", ""},
		{"ous", ""},
		{"ive", ""},
		{"ize", ""},
	}
)

// swap changes the ending if what is before it has a greater measure than least.
func swap(word string, least int, list []ending) string {
	for _, e := range list {
		if before, ok := strings.CutSuffix(word, e.from); ok {
			if measure(before+kept(e)) > least {
				return before + e.to
			}
			return word
		}
	}
	return word
}

// kept is the letter of -sion and -tion that belongs to what is before.
func kept(e ending) string {
	if e.from == "sion" || e.from == "tion" {
		return e.to
	}
	return ""
}

func plural(word string) string {
	switch {
	case strings.HasSuffix(word, "sses"), strings.HasSuffix(word, "ies"):
		return word[:len(word)-2]
	case strings.HasSuffix(word, "ss"):
		return word
	}
	return strings.TrimSuffix(word, "s")
}

// past cuts -eed, -ed and -ing off, and repairs what is left.
func past(word string) string {
	if before, ok := strings.CutSuffix(word, "eed"); ok {
		if measure(before) > 0 {
			return before + "ee"
		}
		return word
	}
	before, ok := strings.CutSuffix(word, "ed")
	if !ok {
		before, ok = strings.CutSuffix(word, "ing")
	}
	if !ok || !hasVowel(before) {
		return word
	}
	switch {
	case strings.HasSuffix(before, "at"), strings.HasSuffix(before, "bl"), strings.HasSuffix(before, "iz"):
		return before + "e"
	case doubled(before) && !strings.ContainsAny(before[len(before)-1:], "lsz"):
		return before[:len(before)-1]
	case measure(before) == 1 && cvc(before):
		return before + "e"
	}
	return before
}

// consonant tells about the letter at i. A y is one at the beginning and after a
// vowel.
func consonant(word string, i int) bool {
	switch word[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return false
	case 'y':
		return i == 0 || !consonant(word, i-1)
	}
	return true
}

// measure is how often a vowel is followed by a consonant.
func measure(word string) int {
	m := 0
	for i := 1; i < len(word); i++ {
		if consonant(word, i) && !consonant(word, i-1) {
			m++
		}
	}
	return m
}

func hasVowel(word string) bool {
	for i := range len(word) {
		if !consonant(word, i) {
			return true
		}
	}
	return false
}

func doubled(word string) bool {
	n := len(word)
	return n > 1 && word[n-1] == word[n-2] && consonant(word, n-1)
}

// cvc tells whether a word ends with a consonant, a vowel and a consonant, the
// last one not w, x or y.
func cvc(word string) bool {
	n := len(word)
	return n > 2 && consonant(word, n-3) && !consonant(word, n-2) && consonant(word, n-1) && !strings.ContainsAny(word[n-1:], "wxy")
}
