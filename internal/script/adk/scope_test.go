package adk

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/script/engine"
	"github.com/parley-run/parley/tool"
)

// stateReader is code that returns the state of its context.
type stateReader struct{ Engines }

func (stateReader) Call(_ context.Context, c engine.Call) (engine.Reply, error) {
	text, err := stateOf(c.Scope, "")
	return engine.Reply{Value: json.RawMessage(text)}, err
}

// Work that a function has begun and not awaited may go on after the function has
// returned. It can neither read nor change anything then: the caller works there,
// without a lock.
func TestScopeEndsWithItsFunction(t *testing.T) {
	t.Parallel()
	a := New(Options{Engines: stateReader{}, Secrets: &Secrets{}})
	actions := &event.Actions{}
	log := agentrt.NewPrivateLog(map[string]json.RawMessage{"mood": json.RawMessage(`"brief"`)}, nil)
	tc := &tool.Context{Context: t.Context(), State: tool.NewState(log, actions), Actions: actions}
	sc := toolScope(tc)
	r, err := a.run(tc, 1, "", sc)
	if err != nil || string(r.Value) != `{"mood":"brief"}` {
		t.Fatalf("the function returns %s, %v", r.Value, err)
	}
	if err := sc.addActions(&event.Actions{TransferToAgent: "other"}); !errors.Is(err, errTooLate) || actions.TransferToAgent != "" {
		t.Errorf("afterwards, %v, and the actions are %+v", err, actions)
	}
	if value, ok := (outerState{sc}).Get("mood"); ok || len(outerState{sc}.All()) > 0 {
		t.Errorf("afterwards, the state has %s", value)
	}
}
