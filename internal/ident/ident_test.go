package ident_test

import (
	"regexp"
	"testing"

	"github.com/parley-run/parley/internal/ident"
)

func TestNew(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 11, 12, 13, 24, 100} {
		id := ident.New("e-", n)
		if len(id) != n+2 || !regexp.MustCompile(`^e-[a-z2-7]*$`).MatchString(id) {
			t.Errorf("New of %d: %q", n, id)
		}
	}
	seen := map[string]bool{}
	for range 1000 {
		seen[ident.Invocation()] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d of 1000 identifiers differ", len(seen))
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		ident.Invocation()
	}
}
