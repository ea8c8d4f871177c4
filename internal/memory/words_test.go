package memory

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parley-run/parley/event"
)

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"The cat, the CAT; the cat's 9": "the cat s 9",
		"foo_bar-baz a.b@c.d":           "foo bar baz a b c d",
		"Straße ÉTÉ naïve":              "straße été naïve",
		"नमस्ते दुनिया":                 "नमस्ते दुनिया",
		"私の猫":                           "私の の猫",
		"猫":                             "猫",
		"Go言語 is 楽しい":                   "go 言語 is 楽し しい",
		"한국어":                           "한국 국어",
		`" OR * NEAR(x) -- '; DROP`:     "or near x drop",
		"🙂 !!!":                         "",
	} {
		if got := strings.Join(wordsOf(text), " "); got != want {
			t.Errorf("%q has the words %q, want %q", text, got, want)
		}
	}
	if got := indexOf("私の猫"); !slices.Contains(got, "猫") || !slices.Contains(got, "の猫") {
		t.Errorf("it is found by %q", got)
	}
}

func FuzzWords(f *testing.F) {
	for _, s := range []string{"a b", "私の猫 cat", "\xff\x00", strings.Repeat("x", 100), "e\u0301"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words := wordsOf(text)
		for i, word := range words {
			if word == "" || !utf8.ValidString(word) || utf8.RuneCountInString(word) > maxWord || strings.ContainsAny(word, " \t\n\"'*()") {
				t.Errorf("%q is a word of %q", word, text)
			}
			if slices.Contains(words[:i], word) {
				t.Errorf("%q comes twice", word)
			}
		}
		index := indexOf(text)
		for _, word := range words { // what is asked with the same text is found
			if !slices.Contains(index, word) {
				t.Errorf("%q is not found by %q", text, word)
			}
		}
	})
}

func TestRemembered(t *testing.T) {
	one, err := remembered(&event.Event{ID: "e", Author: "a", Timestamp: 1794719700.054834, Content: &event.Content{Role: "model", Parts: []*event.Part{
		{Text: "secret thought", Thought: true}, {Text: "said"}, {FunctionCall: &event.FunctionCall{Name: "f"}}, {InlineData: &event.Blob{Data: []byte("x")}}, {Text: "more"},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if string(one.Content) != `{"role":"model","parts":[{"text":"said"},{"text":"more"}]}` || !slices.Equal(one.Words, []string{"said", "more"}) ||
		one.Time.UnixMicro() != 1794719700054834 {
		t.Errorf("got %s, %q, %v", one.Content, one.Words, one.Time)
	}
	if one, err := remembered(&event.Event{Content: &event.Content{Parts: []*event.Part{{FunctionCall: &event.FunctionCall{Name: "f"}}}}}); one != nil || err != nil {
		t.Errorf("a call is remembered as %v (%v)", one, err)
	}
}
