package price

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parley-run/parley/event"
)

func load(t *testing.T, text string) *Table {
	t.Helper()
	table, err := Load(write(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "prices.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFind(t *testing.T) {
	t.Parallel()
	table := load(t, `{"models": {
		"m": {"input": 1, "output": 1}, "m-4": {"input": 2, "output": 2}, "m-2025-01-01": {"input": 3, "output": 3},
		"ollama/own": {"input": 0, "output": 0}, "gpt-5": null}}`)
	for name, want := range map[string]string{
		"m": "1", "m-2025-08-07": "1", "m-20250807": "1", "m@20250807": "1", "m-001": "1", "m-latest": "1", "models/m": "1",
		"gemini/m-001": "1", "openai/m": "1", "anthropic/m": "1", "projects/p/locations/l/publishers/google/models/m-001": "1",
		"m-4": "2", "m-4-20250807": "2", "m-2025-01-01": "3", "ollama/own": "0",
		"": "", "M": "", "m-5": "", "m-4-5": "", "m-4-1": "", "m-mini": "", "m-": "", "-001": "", "m-0613": "", "m-2025-8-7": "", "m20250807": "",
		"m-preview-2025-08-07": "", "xm": "", "ollama/m": "", "projects/p/m": "", "gpt-5": "", "gpt-5-2025-08-07": "", "own": "",
		"gpt-5-mini": "0.25", "claude-opus-4-20250514": "15", "claude-opus-4-5-20251101": "5", "gemini-2.5-flash": "0.3", "gpt-4o-2024-05-13": "5", "gpt-4o-2024-11-20": "2.5",
	} {
		got := ""
		if m := table.Find(name); m != nil {
			got = format(int64(*m.Input), rateDigits)
		}
		if got != want {
			t.Errorf("%s costs %q, want %q", name, got, want)
		}
	}
	if (*Table)(nil).Find("m") != nil {
		t.Error("no table has a price")
	}
}

func TestCost(t *testing.T) {
	t.Parallel()
	table := load(t, `{"models": {
		"plain": {"input": 2, "output": 8},
		"cached": {"input": 2, "cachedInput": 0.5, "output": 8, "thinking": 4},
		"long": {"input": 1, "output": 1, "upTo": 1000, "above": {"input": 10, "cachedInput": 1, "output": 20}},
		"short": {"input": 1, "output": 1, "upTo": 1000},
		"free": {"input": 0, "output": 0},
		"tiny": {"input": 0.0005, "output": 0.000001}}}`)
	for what, tt := range map[string]struct {
		model string
		u     event.Usage
		nanos int64
		known bool
	}{
		"input and output":            {"plain", event.Usage{Prompt: 1000, Candidates: 100, Total: 1100}, 2_000_000 + 800_000, true},
		"cached without its price":    {"plain", event.Usage{Prompt: 1000, CachedContent: 600}, 2_000_000, true},
		"cached once":                 {"cached", event.Usage{Prompt: 1000, CachedContent: 600}, 400*2000 + 600*500, true},
		"all cached":                  {"cached", event.Usage{Prompt: 10, CachedContent: 10}, 5000, true},
		"more cached than there is":   {"cached", event.Usage{Prompt: 10, CachedContent: 99}, 5000, true},
		"thoughts":                    {"cached", event.Usage{Candidates: 1, Thoughts: 10}, 8000 + 40_000, true},
		"thoughts without a price":    {"plain", event.Usage{Candidates: 1, Thoughts: 10}, 8000 + 80_000, true},
		"prompts of tools":            {"cached", event.Usage{Prompt: 10, ToolUsePrompt: 10}, 40_000, true},
		"the largest prompt":          {"long", event.Usage{Prompt: 1000, Candidates: 1}, 1_001_000, true},
		"a larger prompt":             {"long", event.Usage{Prompt: 1001, CachedContent: 1, Candidates: 1}, 10_000_000 + 1000 + 20_000, true},
		"a larger prompt, unknown":    {"short", event.Usage{Prompt: 1001, Total: 1001}, 0, false},
		"free":                        {"free", event.Usage{Prompt: 5, Total: 5}, 0, true},
		"unknown":                     {"other", event.Usage{Prompt: 5, Total: 5}, 0, false},
		"nothing used":                {"plain", event.Usage{}, 0, true},
		"negative":                    {"plain", event.Usage{Prompt: -5, Candidates: -1, CachedContent: -9}, 0, true},
		"half rounds up":              {"tiny", event.Usage{Prompt: 1}, 1, true},
		"less than half rounds down":  {"tiny", event.Usage{Candidates: 499}, 0, true},
		"half of output rounds up":    {"tiny", event.Usage{Candidates: 500}, 1, true},
		"rounded once, at the end":    {"tiny", event.Usage{Prompt: 1, Candidates: 500}, 1, true},
		"a number that cannot be":     {"plain", event.Usage{Prompt: math.MaxInt64, Candidates: math.MaxInt64}, math.MaxInt64/1000 + 1, true},
		"by the name of a version":    {"plain-2026-01-01", event.Usage{Prompt: 1}, 2000, true},
		"a built-in price, all parts": {"gemini-2.5-flash", event.Usage{Prompt: 1_000_000, CachedContent: 500_000, Candidates: 100_000, Thoughts: 100_000}, 150_000_000 + 15_000_000 + 500_000_000, true},
	} {
		if nanos, known := table.Cost(tt.model, &tt.u); nanos != tt.nanos || known != tt.known {
			t.Errorf("%s: %d, %v, want %d, %v", what, nanos, known, tt.nanos, tt.known)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``: "EOF", `[]`: "cannot unmarshal", `{} {}`: "after the JSON object", `{"date": "May"}`: "is not a day", `{"prices": {}}`: "unknown field",
		`{"models": {"m": {"input": 1}}}`:                                            "input and output must both be given",
		`{"models": {"m": {"input": 1, "output": 1, "cached": 1}}}`:                  "unknown field",
		`{"models": {"m": {"input": -1, "output": 1}}}`:                              "-1 is not a price",
		`{"models": {"m": {"input": "1", "output": 1}}}`:                             "is not a price",
		`{"models": {"m": {"input": 1e-3, "output": 1}}}`:                            "such as 0.25",
		`{"models": {"m": {"input": 0.0000001, "output": 1}}}`:                       "more than 6 decimal places",
		`{"models": {"m": {"input": 10000000000, "output": 1}}}`:                     "too large",
		`{"models": {"m": {"input": 1, "output": 1, "above": {"input": 1}}}}`:        "both be given",
		`{"models": {"m": {"input": 1, "output": 1, "upTo": -1}}}`:                   "above needs upTo",
		`{"models": {"m": {"input":1,"output":1,"above":{"input": 1,"output": 1}}}}`: "above needs upTo",
		strings.Repeat(" ", maxFile+1):                                               "more than",
	} {
		if _, err := Load(write(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there has prices")
	}
}

func TestUSD(t *testing.T) {
	t.Parallel()
	for nanos, text := range map[int64]string{
		0: "0", 1: "0.000000001", 250_000_000: "0.25", 1_000_000_000: "1", 1_000_000_001: "1.000000001", 12_300_000_000: "12.3", math.MaxInt64: "9223372036.854775807",
	} {
		if got := USD(nanos); got != text {
			t.Errorf("USD(%d) is %s, want %s", nanos, got, text)
		}
		if got, err := decimal(text, nanoDigits); nanos < math.MaxInt64 && (got != nanos || err != nil) {
			t.Errorf("%s is %d, %v, want %d", text, got, err, nanos)
		}
	}
}

func TestBuiltIn(t *testing.T) {
	t.Parallel()
	table, err := Load("")
	if err != nil || table.Date == "" || table.FileDate != "" || len(table.Models) == 0 {
		t.Fatalf("%+v, %v", table, err)
	}
	for name, m := range table.Models {
		if *m.Input == 0 || *m.Output <= *m.Input || m.CachedInput != nil && *m.CachedInput >= *m.Input {
			t.Errorf("the prices of %s are unlikely: %v %v", name, *m.Input, *m.Output)
		}
		if m.Above != nil && (*m.Above.Input <= *m.Input || *m.Above.Output <= *m.Output) {
			t.Errorf("%s costs less with a large prompt", name)
		}
	}
}
