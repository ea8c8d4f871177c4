package offline

import (
	"slices"
	"testing"
)

func TestWords(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want []string
	}{
		{"", nil},
		{"rollDie HTTPServer get-my_files", []string{"roll", "die", "http", "server", "get", "my", "fil"}},
		{"What's Ann’s d20?", []string{"what", "ann", "d20"}},
		{"São Paulo 東京", []string{"são", "paulo", "東京"}},
	}
	for _, tt := range tests {
		if got := words(tt.text); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestStemsMeet(t *testing.T) {
	t.Parallel()
	for _, forms := range [][]string{
		{"city", "cities"},
		{"roll", "rolls", "rolling", "rolled"},
		{"plan", "plans", "planning", "planned"},
		{"schedule", "schedules", "scheduling", "scheduled"},
		{"translate", "translating", "translation", "translator"},
		{"remind", "reminder", "reminders"},
		{"match", "matches", "matching"},
		{"add", "adds", "adding"},
	} {
		for _, form := range forms[1:] {
			if stem(form) != stem(forms[0]) {
				t.Errorf("%s becomes %s, but %s becomes %s", forms[0], stem(forms[0]), form, stem(form))
			}
		}
	}
	for _, apart := range [][2]string{{"new", "news"}, {"time", "timer"}, {"state", "station"}} {
		if stem(apart[0]) == stem(apart[1]) {
			t.Errorf("%s and %s both become %s", apart[0], apart[1], stem(apart[0]))
		}
	}
}
