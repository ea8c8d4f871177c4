package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A traced failure is shown with its cause, and cases about what only Parley has do
// not count against others.
func TestTables(t *testing.T) {
	t.Parallel()
	load := []loadResult{{Workload: "run", PerSecond: 1000, CPU: 0.25, Resident: 50_000_000}}
	text := tables([]report{
		{name: "Parley", version: "at abc", load: load, cases: []caseResult{
			{name: "TestC21_Run", outcome: passed}, {name: "TestParallelCalls", outcome: passed}, {name: "TestPaging", outcome: failed, why: "a | b"},
		}},
		{name: "adk-js", version: "v1", load: load, cases: []caseResult{
			{name: "TestC21_Run", outcome: absent}, {name: "TestParallelCalls", outcome: failed, why: "deadline"}, {name: "TestPaging", outcome: left},
		}},
	})
	for _, line := range []string{
		"| Contract | 1 of 1 | 0 of 0, 1 absent |",
		"| Failures and concurrency | 1 of 1 | 0 of 1 |",
		"| Parley's own | 0 of 1 | not run |",
		"| `ParallelCalls` | passed | " + sequential + " |",
		"| `Paging` | `a ¦ b` | not run |",
		"| `run`, CPU time of 1000 | 0.25 s | 0.25 s |",
		"| `run`, requests a second | 1000 | 1000 |",
		"| memory afterwards | 50 MB | 50 MB |",
	} {
		if !strings.Contains(text, "\n"+line) {
			t.Errorf("%q is missing in\n%s", line, text)
		}
	}
}

// A failed comparison is shown by its first lines, and a case of several parts by
// those that fail.
func TestFirstDifference(t *testing.T) {
	t.Parallel()
	diff := cmp.Diff([]string{"same", "first"}, []string{"same", "second", "third"})
	if got := firstChange([]byte("    human_test.go:1: differ (-want +got):\n        " + strings.ReplaceAll(diff, "\n", "\n        "))); got != `want "first", got "second",` {
		t.Errorf("%q of %s", got, diff)
	}
	out := []byte("--- FAIL: TestC47 (0.1s)\n    --- PASS: TestC47/object (0.00s)\n    --- FAIL: TestC47/text_inside (0.00s)\n")
	if got := failedParts(out); got != "only text inside: " {
		t.Errorf("%q", got)
	}
	if got := failedParts([]byte("--- FAIL: TestC1 (0.1s)\n    --- FAIL: TestC1/all (0.00s)\n")); got != "" {
		t.Errorf("%q", got)
	}
}
