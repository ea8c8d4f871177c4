package testkit_test

import (
	"testing"

	"github.com/parley-run/parley/internal/testkit"
)

func TestLinear(t *testing.T) {
	t.Parallel()
	sum := 0
	line := func(n int) func() {
		return func() {
			for i := range n {
				sum += i
			}
		}
	}
	square := func(n int) func() { return line(n * n) }
	if !testkit.Linear(400_000, line) {
		t.Error("a line is none")
	}
	if testkit.Linear(8000, square) {
		t.Error("a square is a line")
	}
}
