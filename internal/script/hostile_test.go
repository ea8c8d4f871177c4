package script

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/script/engine"
)

// generous are time limits that no terminating code reaches, on
// however busy a machine.
var generous = engine.Limits{Memory: 64 << 20, Turn: 2 * time.Minute, Call: 2 * time.Minute}

// Code that misbehaves ends its own call with a clear error, and nothing else:
// the other application answers at all times, and its own application answers
// again afterwards.
func TestHostileCode(t *testing.T) { onEngines(t, testHostileCode) }

func testHostileCode(t *testing.T, on func(*Options)) {
	t.Helper()
	for _, one := range []struct {
		what   string
		limits engine.Limits
		want   [][2]string // of tools, and what they answer
	}{
		{"does not yield", engine.Limits{Memory: generous.Memory, Turn: time.Second, Call: generous.Call}, [][2]string{
			{"loop", "without yielding"},
			{"loop_in_catch", "without yielding"},
			{"keys", "without yielding"},
			{"passwords", "without yielding"},
			{"promises", "without yielding"},
			{"regexp", "error"},
			{"timers", "started"},
		}},
		// What one call has requested stays in memory while the next one requests as much. The
		// code continues to request it, so that these are the last.
		{"does not answer", engine.Limits{Memory: 4 * generous.Memory, Turn: generous.Turn, Call: time.Second}, [][2]string{
			{"never", "took too long"},
			{"keys_together", "took too long"},
			{"passwords_together", "took too long"},
		}},
		{"asks for too much", generous, [][2]string{
			{"string", "error"},
			{"arrays", "error"},
			{"buffer", "error"},

			{"rounds", "iterations"},
			{"memory", "memory limit exceeded"},
			{"recursion", "stack overflow"},
			{"recursion_map", "stack overflow"},
			{"recursion_getter", "stack overflow"},
			{"recursion_string", "stack overflow"},
			{"recursion_proxy", "stack overflow"},
			{"recursion_sort", "stack overflow"},
			{"recursion_construct", "stack overflow"},
			{"parse_json", "error"},
			{"parse_code", "error"},
			{"parse_regexp", "error"},

			{"deep_json", "error"},
			{"getter", "from a getter"},
			{"cycle", "circular"},
			{"exit", "process.exit"},
			{"passwd", "read access to their own"},
			{"escape", "read access to their own"},
			{"host", "refused"},
			{"thrown_nothing", "error"},
		}},
	} {
		t.Run(one.what, func(t *testing.T) {
			hostile := rootOf(t, loadApps(t, "testdata/hostility", on, func(o *Options) { o.Limits = &one.limits }), "hostile")
			good := rootOf(t, loadApps(t, "testdata/hostility", on, func(o *Options) { o.Limits = &generous }), "good")
			for _, tool := range one.want {
				name, want := tool[0], tool[1]
				if other := elsewhere[name]; other != "" && isNode(on) {
					want = other
				}
				done := make(chan string, 1)
				go func() { done <- result(t, hostile, name) }()
				for busy := true; busy; {
					if got := result(t, good, "fine"); !strings.Contains(got, "calls") {
						t.Fatalf("during %s the other application says %s", name, got)
					}
					select {
					case got := <-done:
						busy = false
						if !strings.Contains(strings.ToLower(got), strings.ToLower(want)) {
							t.Errorf("%s: %s, want %q in it", name, got, want)
						}
					case <-time.After(100 * time.Millisecond): // a processor is left for the code that misbehaves
					}
				}
				well(t, hostile, "after "+name)
			}
		})
	}
}

// elsewhere is what Node.js says of what it does not refuse, or in other words: it
// has the rights of the server's user.
var elsewhere = map[string]string{
	"recursion":           "call stack",
	"recursion_map":       "call stack",
	"recursion_getter":    "call stack",
	"recursion_string":    "call stack",
	"recursion_proxy":     "call stack",
	"recursion_sort":      "call stack",
	"recursion_construct": "call stack",
	"passwd":              "root",
	"escape":              "rootAgent",
}

// well waits until the application answers: on a busy machine its limits are too
// small for anything, occasionally.
func well(t *testing.T, root *agent.Agent, when string) {
	t.Helper()
	got := ""
	for range 20 {
		if got = result(t, root, "fine"); strings.Contains(got, "fine") {
			return
		}
	}
	t.Errorf("%s: %s", when, got)
}

// An application that has broken its own built-in objects can hurt itself only.
func TestHostilePollution(t *testing.T) { onEngines(t, testHostilePollution) }

func testHostilePollution(t *testing.T, on func(*Options)) {
	t.Helper()
	limits := engine.Limits{Memory: 64 << 20, Turn: 2 * time.Second, Call: 3 * time.Second}
	hostile := rootOf(t, loadApps(t, "testdata/hostility", on, func(o *Options) { o.Limits = &limits }), "hostile")
	good := rootOf(t, loadApps(t, "testdata/hostility", on, func(o *Options) { o.Limits = &generous }), "good")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
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
