package outbox

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// Postgres refuses text that is not UTF-8, or that has null bytes: the outcome of the
// attempt would be lost.
func TestReason(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("ü", maxReason), "x" + strings.Repeat("😀", maxReason), "a\x00b", "\xff"} {
		got := reason(errors.New(text))
		if !utf8.ValidString(got) || strings.Contains(got, "\x00") || len(got) > maxReason {
			t.Errorf("%.20q is stored as %q", text, got)
		}
	}
}
