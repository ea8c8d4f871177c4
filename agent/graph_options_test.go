package agent_test

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
	"github.com/parley-run/parley/event"
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
		collect := agent.NewNode("collect", func(_ *agent.NodeContext, in string) (any, error) {
			if got = append(got, in); len(got) < 2 {
				return nil, nil
			}
			return strings.Join(got, ","), nil
		}, agent.NodeConfig{WaitForOutput: wait})
		// One at a time, so that the order is that of the edges.
		root := agent.Must(agent.NewWorkflow(agent.WorkflowConfig{
			Name: "wf", MaxConcurrency: 1, Edges: agent.Chain(agent.Start, agent.Fan{adds("a"), adds("b")}, collect, adds("end")),
		}))
		events, err := once(t, root)
		if err != nil {
			t.Fatal(err)
		}
		wantOutcome(t, events, want)
	}
}

// A model does not see what happened in another isolation scope.
func TestIsolationScope(t *testing.T) {
	t.Parallel()
	sees := func(scope string) (string, []*event.Event) {
		m := scripted.New(scripted.Say("seen"))
		secret := agent.NewNode("secret", func(*agent.NodeContext, any) (string, error) { return "the secret", nil }, agent.NodeConfig{IsolationScope: "vault"})
		looks := agent.AgentNode(mustLLM(agent.LLMConfig{Name: "looks", Model: m}), agent.NodeConfig{History: true, IsolationScope: scope})
		pass := agent.NewNode("pass", func(*agent.NodeContext, any) (string, error) { return "go on", nil }, agent.NodeConfig{})
		events, err := once(t, workflow("wf", agent.Chain(agent.Start, secret, pass, looks)))
		if err != nil {
			t.Fatal(err)
		}
		return seenBy(m.Requests()[0]), events
	}
	for scope, visible := range map[string]bool{"vault": true, "": false, "other": false, agent.OwnScope: false} {
		said, events := sees(scope)
		if strings.Contains(said, "the secret") != visible {
			t.Errorf("with the scope %q the model sees %s", scope, said)
		}
		if scope == agent.OwnScope && string(events[2].Extra["isolationScope"]) != `"wf.looks@1"` {
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
				fan := make(agent.Fan, 4)
				for i := range fan {
					fan[i] = agent.NewNode(fmt.Sprint("n", i), func(ctx *agent.NodeContext, _ any) (any, error) {
						n := now.Add(1)
						defer now.Add(-1)
						for h := highest.Load(); n > h && !highest.CompareAndSwap(h, n); h = highest.Load() {
						}
						select {
						case <-ctx.Done():
						case <-time.After(time.Second): // of the bubble: until all others are blocked
						}
						return nil, nil
					}, agent.NodeConfig{})
				}
				root := agent.Must(agent.NewWorkflow(agent.WorkflowConfig{Name: "wf", MaxConcurrency: most, Edges: agent.Chain(agent.Start, fan)}))
				events, err := once(t, root)
				if err != nil || len(events) != 4 || highest.Load() != want {
					t.Errorf("%d nodes ran at the same time, want %d; %d events, %v", highest.Load(), want, len(events), err)
				}
			})
		})
	}
}

// checks is a Check that only allows objects with a member "city" as input, and
// only the key "mood" in the state.
func checks(_ *tool.Context, data agent.NodeData, value json.RawMessage) (json.RawMessage, error) {
	var members map[string]any
	if err := json.Unmarshal(value, &members); data != agent.OutputData && err != nil {
		return nil, err
	}
	switch data {
	case agent.InputData:
		if members["city"] == nil {
			return nil, errors.New("the city is missing")
		}
		return json.Marshal(members["city"])
	case agent.StateData:
		for key := range members {
			if key != "mood" {
				return nil, fmt.Errorf("the key %s is not declared", key)
			}
		}
	case agent.OutputData:
		return json.RawMessage(`"checked"`), nil
	}
	return value, nil
}

// What goes through a node is checked, also where an agent is the node.
func TestNodeCheck(t *testing.T) {
	t.Parallel()
	cfg := agent.NodeConfig{Check: checks}
	for _, c := range []struct{ input, key, fails string }{
		{input: `{"city":"Rome"}`, key: "mood"},
		{input: `{"town":"Rome"}`, key: "mood", fails: "the city is missing"},
		{input: `{"city":"Rome"}`, key: "lost", fails: "the key lost is not declared"},
	} {
		m := scripted.New(scripted.Say("Fine."))
		give := agent.NewNode("give", func(*agent.NodeContext, any) (any, error) { return json.RawMessage(c.input), nil }, agent.NodeConfig{})
		function := agent.NewNode("function", func(ctx *agent.NodeContext, city string) (string, error) {
			return city + "!", ctx.State.Set(c.key, "good")
		}, cfg)
		asked := agent.AgentNode(mustLLM(agent.LLMConfig{Name: "asked", Model: m, OutputKey: c.key}), cfg)
		for _, node := range []*agent.Node{function, asked} {
			events, err := once(t, workflow("wf", agent.Chain(agent.Start, give, node)))
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), node.Name()+": "+c.fails) {
					t.Errorf("%s with %s and the key %s ends with %v", node.Name(), c.input, c.key, err)
				}
				continue
			}
			want := map[string]string{"function": `"checked"`, "asked": `"Fine."`}[node.Name()]
			if err != nil || !strings.HasSuffix(outcome(t, events), "wf."+node.Name()+" = "+want) {
				t.Errorf("%s: %v\n%s", node.Name(), err, outcome(t, events))
			}
		}
		if c.fails == "" {
			if got := seenBy(m.Requests()[0]); !strings.Contains(got, "Rome") || strings.Contains(got, "city") {
				t.Errorf("the model saw %s", got)
			}
		}
	}
}

// A process that continues the run checks again what was not stored.
func TestTakeoverNodeCheck(t *testing.T) {
	t.Parallel()
	s := scene{turns: []string{"go"}, tree: func(w *world) *agent.Agent {
		give := agent.NewNode("give", func(*agent.NodeContext, any) (any, error) { return map[string]string{"city": "Rome"}, nil }, agent.NodeConfig{})
		check := func(ctx *tool.Context, data agent.NodeData, value json.RawMessage) (json.RawMessage, error) {
			if data == agent.InputData {
				return checks(ctx, data, value)
			}
			return value, nil
		}
		asked := agent.AgentNode(w.llm("llm_a", nil, scripted.Say("Fine.")), agent.NodeConfig{Check: check})
		return workflow("wf", agent.Chain(agent.Start, give, asked, w.adds("end")))
	}}
	s.play(t)
}
