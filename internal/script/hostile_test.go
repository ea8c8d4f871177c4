package script

import (
	"context"
	"strings"
	"testing"
	"time"
)

// Code that misbehaves ends its own call with a clear error, and nothing else:
// the other application answers at all times, and its own application answers
// again afterwards.
func TestHostileCode(t *testing.T) {
	limits := Limits{Memory: 64 << 20, Turn: 2 * time.Second, Call: 5 * time.Second}
	apps := loadApps(t, "testdata/hostility", func(o *Options) { o.Limits = &limits })
	hostile, good := rootOf(t, apps, "hostile"), rootOf(t, apps, "good")
	for name, want := range map[string]string{
		"loop":          "without giving way",
		"loop_in_catch": "without giving way",
		"promises":      "without giving way",
		"string":        "error",
		"arrays":        "error",
		"buffer":        "error",
		"recursion":     "stack overflow",

		"recursion_map":       "stack overflow",
		"recursion_getter":    "stack overflow",
		"recursion_string":    "stack overflow",
		"recursion_proxy":     "stack overflow",
		"recursion_sort":      "stack overflow",
		"recursion_construct": "stack overflow",
		"parse_json":          "error",
		"parse_code":          "error",
		"parse_regexp":        "error",
		"regexp":              "error",

		"deep_json":      "error",
		"getter":         "from a getter",
		"cycle":          "circular",
		"exit":           "process.exit",
		"passwd":         "read-only access to",
		"escape":         "read-only access to",
		"host":           "refused",
		"never":          "took too long",
		"timers":         "started",
		"thrown_nothing": "error",
	} {
		done := make(chan string, 1)
		go func() { done <- result(t, hostile, name) }()
		for busy := true; busy; {
			select {
			case got := <-done:
				busy = false
				if !strings.Contains(strings.ToLower(got), strings.ToLower(want)) {
					t.Errorf("%s: %s, want %q in it", name, got, want)
				}
			default:
			}
			if got := result(t, good, "fine"); !strings.Contains(got, "calls") {
				t.Fatalf("during %s the other application says %s", name, got)
			}
		}
		if got := result(t, hostile, "fine"); !strings.Contains(got, "fine") {
			t.Errorf("after %s: %s", name, got)
		}
	}
}

// An application that has broken its own built-in objects can hurt itself only.
func TestHostilePollution(t *testing.T) {
	limits := Limits{Memory: 64 << 20, Turn: 2 * time.Second, Call: 3 * time.Second}
	apps := loadApps(t, "testdata/hostility", func(o *Options) { o.Limits = &limits })
	hostile, good := rootOf(t, apps, "hostile"), rootOf(t, apps, "good")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := ask(ctx, hostile, "pollute"); err != nil {
		t.Logf("the application has hurt itself: %v", err)
	}
	for range 3 {
		if got := result(t, good, "fine"); !strings.Contains(got, "calls") {
			t.Errorf("the other application says %s", got)
		}
	}
}
