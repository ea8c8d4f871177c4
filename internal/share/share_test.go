package share_test

import (
	"testing"

	"github.com/parley-run/parley/internal/share"
)

func TestShares(t *testing.T) {
	var s share.Shares[string]
	for i, want := range []bool{true, true, false} {
		if s.Take("a", 2) != want {
			t.Errorf("Take %d of a is not %v", i, want)
		}
	}
	if !s.Take("b", 1) || s.Take("b", 1) {
		t.Error("b does not have its own share")
	}
	s.Return("a")
	if !s.Take("a", 2) || s.Take("a", 2) {
		t.Error("what was returned cannot be taken once")
	}
}
