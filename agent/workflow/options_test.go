package workflow_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/workflow"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/nodes"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// A node with WaitForOutput that ends without an output does not lead on. The next
// trigger runs it again.
func TestWaitForOutput(t *testing.T) {
	t.Parallel()
	for wait, want := range map[bool]string{
		true: `
wf.a = "hi+a" @a@1
wf.b = "hi+b" @b@1
wf.collect @a@1
wf.collect#2 = "hi+a,hi+b" @b@1
wf.end = "hi+a,hi+b+end" @b@1`,
		false: `
wf.a = "hi+a" @a@1
wf.b = "hi+b" @b@1
wf.collect @a@1
wf.collect#2 = "hi+a,hi+b" @b@1
wf.end = "null+end" @a@1
wf.end#2 = "hi+a,hi+b+end" @b@1`,
	} {
		var got []string
		collect := workflow.Func("collect", func(_ *workflow.Context, in string) (any, error) {
			if got = append(got, in); len(got) < 2 {
				return nil, nil
			}
			return strings.Join(got, ","), nil
		}, workflow.NodeConfig{WaitForOutput: wait})
		// One at a time, so that the order is that of the edges.
		root := agent.Must(workflow.New(workflow.Config{
			Name: "wf", MaxConcurrency: 1, Edges: workflow.Chain(workflow.Start, workflow.Fan{nodes.Adds("a"), nodes.Adds("b")}, collect, nodes.Adds("end")),
		}))
		events, err := nodes.Run(t, root)
		if err != nil {
			t.Fatal(err)
		}
		nodes.WantOutcome(t, events, want)
	}
}

// A model does not see what happened in another isolation scope.
func TestIsolationScope(t *testing.T) {
	t.Parallel()
	sees := func(scope string) (string, []*event.Event) {
		m := scripted.New(scripted.Say("seen"))
		secret := workflow.Func("secret", func(*workflow.Context, any) (string, error) { return "the secret", nil }, workflow.NodeConfig{IsolationScope: "vault"})
		looks := workflow.Agent(mustLLM(agent.LLMConfig{Name: "looks", Model: m}), workflow.NodeConfig{History: true, IsolationScope: scope})
		pass := workflow.Func("pass", func(*workflow.Context, any) (string, error) { return "go on", nil }, workflow.NodeConfig{})
		events, err := nodes.Run(t, nodes.Workflow("wf", workflow.Chain(workflow.Start, secret, pass, looks)))
		if err != nil {
			t.Fatal(err)
		}
		return seenBy(m.Requests()[0]), events
	}
	for scope, visible := range map[string]bool{"vault": true, "": false, "other": false, workflow.OwnScope: false} {
		said, events := sees(scope)
		if strings.Contains(said, "the secret") != visible {
			t.Errorf("with the scope %q the model sees %s", scope, said)
		}
		if scope == workflow.OwnScope && string(events[2].Extra["isolationScope"]) != `"wf.looks@1"` {
			t.Errorf("a scope of its own is %s", events[2].Extra["isolationScope"])
		}
	}
}

func seenBy(req *model.Request) string {
	var all []string
	for _, c := range req.Contents() {
		all = append(all, c.Text())
	}
	return strings.Join(all, "\n")
}

func TestMaxConcurrency(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]int64{0: 4, 1: 1, 3: 3} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var now, highest atomic.Int64
				fan := make(workflow.Fan, 4)
				for i := range fan {
					fan[i] = workflow.Func(fmt.Sprint("n", i), func(ctx *workflow.Context, _ any) (any, error) {
						n := now.Add(1)
						defer now.Add(-1)
						for h := highest.Load(); n > h && !highest.CompareAndSwap(h, n); h = highest.Load() {
						}
						select {
						case <-ctx.Done():
						case <-time.After(time.Second): // of the bubble: until all others are blocked
						}
						return nil, nil
					}, workflow.NodeConfig{})
				}
				root := agent.Must(workflow.New(workflow.Config{Name: "wf", MaxConcurrency: most, Edges: workflow.Chain(workflow.Start, fan)}))
				events, err := nodes.Run(t, root)
				if err != nil || len(events) != 4 || highest.Load() != want {
					t.Errorf("%d nodes ran at the same time, want %d; %d events, %v", highest.Load(), want, len(events), err)
				}
			})
		})
	}
}

// checks is a Check that only allows objects with a member "city" as input, and
// only the key "mood" in the state.
func checks(_ *tool.Context, data workflow.Data, value json.RawMessage) (json.RawMessage, error) {
	var members map[string]any
	if err := json.Unmarshal(value, &members); data != workflow.OutputData && err != nil {
		return nil, err
	}
	switch data {
	case workflow.InputData:
		if members["city"] == nil {
			return nil, errors.New("the city is missing")
		}
		return json.Marshal(members["city"])
	case workflow.StateData:
		for key := range members {
			if key != "mood" {
				return nil, fmt.Errorf("the key %s is not declared", key)
			}
		}
	case workflow.OutputData:
		return json.RawMessage(`"checked"`), nil
	}
	return value, nil
}

// What goes through a node is checked, also where an agent is the node.
func TestNodeCheck(t *testing.T) {
	t.Parallel()
	cfg := workflow.NodeConfig{Check: checks}
	for _, c := range []struct{ input, key, fails string }{
		{input: `{"city":"Rome"}`, key: "mood"},
		{input: `{"town":"Rome"}`, key: "mood", fails: "the city is missing"},
		{input: `{"city":"Rome"}`, key: "lost", fails: "the key lost is not declared"},
	} {
		m := scripted.New(scripted.Say("Fine."))
		give := workflow.Func("give", func(*workflow.Context, any) (any, error) { return json.RawMessage(c.input), nil }, workflow.NodeConfig{})
		function := workflow.Func("function", func(ctx *workflow.Context, city string) (string, error) {
			return city + "!", ctx.State.Set(c.key, "good")
		}, cfg)
		asked := workflow.Agent(mustLLM(agent.LLMConfig{Name: "asked", Model: m, OutputKey: c.key}), cfg)
		for _, node := range []*workflow.Node{function, asked} {
			events, err := nodes.Run(t, nodes.Workflow("wf", workflow.Chain(workflow.Start, give, node)))
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), node.Name()+": "+c.fails) {
					t.Errorf("%s with %s and the key %s ends with %v", node.Name(), c.input, c.key, err)
				}
				continue
			}
			want := map[string]string{"function": `"checked"`, "asked": `"Fine."`}[node.Name()]
			if err != nil || !strings.HasSuffix(nodes.Outcome(t, events), "wf."+node.Name()+" = "+want) {
				t.Errorf("%s: %v\n%s", node.Name(), err, nodes.Outcome(t, events))
			}
		}
		if c.fails == "" {
			if got := seenBy(m.Requests()[0]); !strings.Contains(got, "Rome") || strings.Contains(got, "city") {
				t.Errorf("the model saw %s", got)
			}
		}
	}
}
