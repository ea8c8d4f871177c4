package script

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/tool"
)

// What a function has begun and not waited for may still be at work when the
// function has returned. It neither sees nor changes anything then: others are at
// work there, without a lock.
func TestScopeEndsWithItsFunction(t *testing.T) {
	t.Parallel()
	apps := loadApps(t, write(t, map[string]string{"index.ts": `import { LlmAgent } from '@google/adk';
export const rootAgent = new LlmAgent({ name: 'root', model: 'scripted', instruction: (context) => 'Be ' + context.state.get('mood') + '.' });`}))
	root := rootOf(t, apps, "app") // which keeps the instance
	in := onlyInstance(apps)
	var app application
	if err := json.Unmarshal(in.description, &app); err != nil {
		t.Fatal(err)
	}
	actions := &event.Actions{}
	log := agentrt.NewPrivateLog(map[string]json.RawMessage{"mood": json.RawMessage(`"brief"`)}, nil)
	tc := &tool.Context{Context: t.Context(), State: tool.NewState(log, actions), Actions: actions}
	sc := aboutTool(tc)
	r, err := in.run(tc, *app.Root.InstructionFn, "", sc)
	if err != nil || string(r.value) != `"Be brief."` {
		t.Fatalf("%s says %s, %v", root.Name(), r.value, err)
	}
	if err := sc.did(&event.Actions{TransferToAgent: "other"}); !errors.Is(err, errTooLate) || actions.TransferToAgent != "" {
		t.Errorf("afterwards, %v, and the actions are %+v", err, actions)
	}
	if value, ok := (outerState{sc}).Get("mood"); ok || len(outerState{sc}.All()) > 0 {
		t.Errorf("afterwards, the state has %s", value)
	}
}
