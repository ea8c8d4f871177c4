package eval

import (
	"strings"
	"unicode"
)

// rouge1 is the F-measure of ROUGE-1: how many words two texts share, each as
// often as it occurs in both, against how many they have. Words are compared by
// their stems, so that "rains" is "raining".
func rouge1(expected, actual string) float64 {
	want, got := words(expected), words(actual)
	if len(want) == 0 || len(got) == 0 {
		return 0
	}
	left := map[string]int{}
	for _, word := range want {
		left[word]++
	}
	shared := 0
	for _, word := range got {
		if left[word] > 0 {
			left[word]--
			shared++
		}
	}
	if shared == 0 {
		return 0
	}
	precision, recall := float64(shared)/float64(len(got)), float64(shared)/float64(len(want))
	return 2 * precision * recall / (precision + recall)
}

// maxWord is how long a word may be to be stemmed. There are none in English, and
// a model that repeats itself must not keep us busy.
const maxWord = 64

// words are the stems of a text's words. Letters of every script count; only the
// words of the Latin alphabet that are longer than three letters are stemmed,
// with the rules for English.
func words(text string) []string {
	list := spoken(text)
	for i, word := range list {
		if len(word) > 3 && len(word) < maxWord && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") == "" {
			list[i] = stem(word)
		}
	}
	return list
}

// spoken are a text's words in lower case.
func spoken(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
}
