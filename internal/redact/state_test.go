package redact_test

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/internal/redact"
)

func TestState(t *testing.T) {
	type state = map[string]json.RawMessage
	value := json.RawMessage(`1`)
	for name, tt := range map[string]struct{ state, want state }{
		"nil":   {nil, nil},
		"empty": {state{}, state{}},
		"none":  {state{"k": value, "user:secret:k": value, "secrets": value}, state{"k": value, "user:secret:k": value, "secrets": value}},
		"some":  {state{"k": value, "secret:k": value, "secret:": value}, state{"k": value}},
		"all":   {state{"secret:k": value}, state{}},
	} {
		before := maps.Clone(tt.state)
		got := redact.State(tt.state)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(before, tt.state); diff != "" {
			t.Errorf("%s: the state itself was changed (-before +after):\n%s", name, diff)
		}
	}
	plain := state{"k": value, "user:k": value}
	if n := testing.AllocsPerRun(10, func() { redact.State(plain) }); n > 0 {
		t.Errorf("%v allocations for a state without secrets", n)
	}
}
