package sessionrt_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/internal/sessionrt"
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
		if got := sessionrt.URLs(list); !slices.Equal(got, want) {
			t.Errorf("URLs(%q) = %q, want %q", list, got, want)
		}
	}
}

// state returns a state of keys and JSON values.
func state(pairs ...string) session.State {
	s := session.State{}
	for i := 0; i < len(pairs); i += 2 {
		s[pairs[i]] = json.RawMessage(pairs[i+1])
	}
	return s
}

func TestWithoutTemp(t *testing.T) {
	for _, tt := range []struct {
		name        string
		delta, want session.State
	}{
		{"nil", nil, nil},
		{"empty", session.State{}, session.State{}},
		{"none", state("k", "1", "user:k", "null", "temperature", "2"), state("k", "1", "user:k", "null", "temperature", "2")},
		{"some", state("k", "1", "temp:k", "2", "temp:", "null", "app:temp:k", "3"), state("k", "1", "app:temp:k", "3")},
		{"all", state("temp:k", "1", "temp:l", "2"), session.State{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			given := len(tt.delta)
			got := sessionrt.WithoutTemp(tt.delta)
			if diff := cmp.Diff(map[string]json.RawMessage(tt.want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(tt.delta) != given {
				t.Error("the delta itself was changed: a run still needs its temp: keys")
			}
		})
	}
}
