package session_test

import (
	"slices"
	"testing"

	"github.com/parley-run/parley/session"
)

func TestURLs(t *testing.T) {
	t.Parallel()
	for list, want := range map[string][]string{
		"":                                     nil,
		"sqlite:///a b,c.db":                   {"sqlite:///a b,c.db"},
		"postgres://h1,h2:5433/db":             {"postgres://h1,h2:5433/db"},
		"postgres://h1,h2/db,postgres://h3/db": {"postgres://h1,h2/db", "postgres://h3/db"},
		" postgres://a/db\n postgresql://b/db , postgres://c/db ": {"postgres://a/db", "postgresql://b/db", "postgres://c/db"},
	} {
		if got := session.URLs(list); !slices.Equal(got, want) {
			t.Errorf("URLs(%q) = %q, want %q", list, got, want)
		}
	}
}
