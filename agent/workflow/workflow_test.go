package workflow_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/workflow"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/testkit/leak"
	"github.com/parley-run/parley/internal/testkit/nodes"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

func TestMain(m *testing.M) { leak.Main(m) }

// run is nodes.Run for what must not fail.
func run(t *testing.T, root *agent.Agent) []*event.Event {
	t.Helper()
	events, err := nodes.Run(t, root)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func mustLLM(cfg agent.LLMConfig) *agent.Agent { return agent.Must(agent.NewLLM(cfg)) }

func TestSemantics(t *testing.T) {
	t.Parallel()
	find := tool.Must(tool.New(tool.Declaration{Name: "find"}, func(_ *tool.Context, in struct {
		Of string `json:"of"`
	},
	) (map[string]string, error) {
		return map[string]string{"found": in.Of}, nil
	}))
	a, b, c, d := nodes.Adds("a"), nodes.Adds("b"), nodes.Adds("c"), nodes.Adds("d")
	for name, tt := range map[string]struct {
		root *agent.Agent
		want string
	}{
		"a chain": {nodes.Workflow("wf", workflow.Chain(workflow.Start, a, b)), `
wf.a = "hi+a"
wf.b = "hi+a+b"`},
		"a route that matches": {nodes.Workflow("wf", workflow.Chain(workflow.Start, nodes.Adds("r", "x"), workflow.Routes{"x": b, "y": c, workflow.DefaultRoute: d})), `
wf.r = "hi+r" -> "x"
wf.b = "hi+r+b"`},
		"the default route": {nodes.Workflow("wf", workflow.Chain(workflow.Start, nodes.Adds("r", "z"), workflow.Routes{"x": b, workflow.DefaultRoute: d})), `
wf.r = "hi+r" -> "z"
wf.d = "hi+r+d"`},
		"no route matches": {nodes.Workflow("wf", workflow.Chain(workflow.Start, nodes.Adds("r", "z"), workflow.Routes{"x": b})), `
wf.r = "hi+r" -> "z"`},
		"a nested workflow": {nodes.Workflow("wf", workflow.Chain(workflow.Start, a, workflow.Agent(nodes.Workflow("inner", workflow.Chain(workflow.Start, b, c)), workflow.NodeConfig{}), d)), `
wf.a = "hi+a"
wf.inner.b = "hi+a+b"
wf.inner.c = "hi+a+b+c"
wf.d = "hi+a+b+c+d"`},
		"a worker for a list": {nodes.Workflow("wf", workflow.Chain(workflow.Start, workflow.Func("list", func(*workflow.Context, string) ([]string, error) {
			return []string{"x", "y"}, nil
		}, workflow.NodeConfig{}), workflow.ParallelWorker(a, 1))), `
wf.list = ["x","y"]
wf.a.a@0#0 = "x+a" @a@0
wf.a.a@1 = "y+a" @a@1
wf.a = ["x+a","y+a"]`},
		"a node that runs others": {nodes.Workflow("wf", workflow.Chain(workflow.Start, workflow.Func("outer", func(ctx *workflow.Context, in string) (json.RawMessage, error) {
			first, err := ctx.RunNode(a, in, nil)
			if err != nil {
				return nil, err
			}
			return ctx.RunNode(a, first, nil)
		}, workflow.NodeConfig{}))), `
wf.outer.a@1 = "hi+a"
wf.outer.a@2#2 = "hi+a+a"
wf.outer = "hi+a+a"`},
		"a tool": {nodes.Workflow("wf", workflow.Chain(workflow.Start, workflow.Func("args", func(*workflow.Context, string) (map[string]string, error) {
			return map[string]string{"of": "it"}, nil
		}, workflow.NodeConfig{}), workflow.Tool(find, workflow.NodeConfig{}), a)), `
wf.args = {"of":"it"}
wf.find = {"found":"it"}
wf.a = "{\"found\":\"it\"}+a"`},
		"nothing comes out": {nodes.Workflow("wf", workflow.Chain(workflow.Start, workflow.Func("mute", func(*workflow.Context, string) (any, error) {
			return nil, nil
		}, workflow.NodeConfig{}), a)), `
wf.mute
wf.a = "null+a"`},
		"an agent": {nodes.Workflow("wf", workflow.Chain(workflow.Start, a, workflow.Agent(mustLLM(agent.LLMConfig{Name: "llm", Model: scripted.New(scripted.Say("said"))}), workflow.NodeConfig{}), b)), `
wf.a = "hi+a"
wf.llm = "said"
wf.b = "said+b"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes.WantOutcome(t, run(t, tt.root), tt.want)
		})
	}
}

func TestLoop(t *testing.T) {
	t.Parallel()
	check := workflow.Func("check", func(ctx *workflow.Context, in string) (string, error) {
		if strings.Count(in, "work") < 3 {
			ctx.SetRoute("again")
		}
		return in, nil
	}, workflow.NodeConfig{})
	work, done := nodes.Adds("work"), nodes.Adds("done")
	wf := nodes.Workflow("wf", workflow.Chain(workflow.Start, work, check, workflow.Routes{"again": work, workflow.DefaultRoute: done}))
	nodes.WantOutcome(t, run(t, wf), `
wf.work = "hi+work"
wf.check = "hi+work" -> "again"
wf.work#2 = "hi+work+work"
wf.check#2 = "hi+work+work" -> "again"
wf.work#3 = "hi+work+work+work"
wf.check#3 = "hi+work+work+work"
wf.done = "hi+work+work+work+done"`)
}

func TestFanOut(t *testing.T) {
	t.Parallel()
	a, b, join := nodes.Adds("a"), nodes.Adds("b"), workflow.Join("join")
	events := run(t, nodes.Workflow("wf", workflow.Chain(workflow.Start, workflow.Fan{a, b}, join, nodes.Adds("end"))))
	last := events[len(events)-2:]
	nodes.WantOutcome(t, last, `
wf.join = {"a":"hi+a","b":"hi+b"}
wf.end = "{\"a\":\"hi+a\",\"b\":\"hi+b\"}+end"`)
	if last[0].Content != nil {
		t.Error("a join says something")
	}
	for _, ev := range events[:2] {
		if ev.Branch != ev.Author+"@1" {
			t.Errorf("the branch of %s is %q", ev.Author, ev.Branch)
		}
	}
}

func TestEdgeWithoutRoute(t *testing.T) {
	t.Parallel()
	r, b, c, join := nodes.Adds("r", "z"), nodes.Adds("b"), nodes.Adds("c"), workflow.Join("join")
	wf := nodes.Workflow("wf", workflow.Chain(workflow.Start, r, workflow.Routes{"x": nodes.Adds("d"), workflow.DefaultRoute: c}, join), workflow.Chain(r, b, join))
	if _, err := nodes.Run(t, wf); err != nil {
		t.Error(err)
	}
}

func TestAgentSeesItsInput(t *testing.T) {
	t.Parallel()
	first, second := scripted.New(scripted.Say("one")), scripted.New(scripted.Say("two"))
	wf := nodes.Workflow("wf", workflow.Chain(workflow.Start, nodes.Adds("a"),
		workflow.Agent(mustLLM(agent.LLMConfig{Name: "alone", Model: first}), workflow.NodeConfig{}),
		workflow.Agent(mustLLM(agent.LLMConfig{Name: "told", Model: second}), workflow.NodeConfig{History: true})))
	run(t, wf)
	texts := func(m *scripted.Model) (all []string) {
		for _, c := range m.Requests()[0].Contents() {
			var parts []string
			for _, p := range c.Parts {
				parts = append(parts, p.Text)
			}
			all = append(all, c.Role+": "+strings.Join(parts, " "))
		}
		return all
	}
	if got := fmt.Sprint(texts(first)); got != "[user: hi+a]" {
		t.Errorf("the agent alone sees %s", got)
	}
	if got := fmt.Sprint(texts(second)); got != "[user: hi user: For context: [a] said: hi+a user: For context: [alone] said: one user: one]" {
		t.Errorf("the agent with the history sees %s", got)
	}
}

func TestFailure(t *testing.T) {
	t.Parallel()
	wf := nodes.Workflow("wf", workflow.Chain(workflow.Start, nodes.Adds("a"), workflow.Func("bad", func(*workflow.Context, string) (string, error) {
		return "", errors.New("no luck")
	}, workflow.NodeConfig{}), nodes.Adds("b")))
	events, err := nodes.Run(t, wf)
	nodes.WantOutcome(t, events, `
wf.a = "hi+a"
wf.bad UNKNOWN_ERROR: no luck`)
	if err == nil || !strings.Contains(err.Error(), "node wf.bad: no luck") {
		t.Errorf("the error is %v", err)
	}
}

func TestRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int64
		wf := nodes.Workflow("wf", workflow.Chain(workflow.Start, workflow.Func("flaky", func(ctx *workflow.Context, _ string) (int, error) {
			if tries.Add(1) < 3 {
				return 0, errors.New("not yet")
			}
			return ctx.Attempt(), nil
		}, workflow.NodeConfig{Retry: &workflow.Retry{Jitter: -1}})))
		began := time.Now()
		var announced []int
		events, err := nodes.Run(t, agent.Must(agent.New(agent.Config{Name: "root", SubAgents: []*agent.Agent{wf}}, func(ctx *agent.Context, emit agent.Emit) error {
			return wf.Run(ctx, func(ev *event.Event) error {
				if info, ok := agentrt.NodeOf(ev); ok && ev.Partial {
					announced = append(announced, info.Attempt)
				}
				return emit(ev)
			})
		})))
		if err != nil {
			t.Fatal(err)
		}
		nodes.WantOutcome(t, events, `wf.flaky = 3`)
		if info, _ := agentrt.NodeOf(events[0]); info.Attempt != 3 || !slices.Equal(announced, []int{2, 3}) {
			t.Errorf("the event is of attempt %d, and %v were announced; want 3, and 2 and 3", info.Attempt, announced)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("the pauses are %v, want 1 and 2 seconds", took)
		}
	})
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	wf := nodes.Workflow("wf", workflow.Chain(workflow.Start, workflow.Func("slow", func(ctx *workflow.Context, _ string) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}, workflow.NodeConfig{Timeout: time.Millisecond})))
	_, err := nodes.Run(t, wf)
	if err == nil || !strings.Contains(err.Error(), "node wf.slow: timed out after 1ms") {
		t.Errorf("the error is %v", err)
	}
}

func TestValidation(t *testing.T) {
	t.Parallel()
	a, b, c := nodes.Adds("a"), nodes.Adds("b"), nodes.Adds("c")
	for want, edges := range map[string][]workflow.Edge{
		"it has no edges":                               nil,
		"no edges lead from the start to b, c":          append(workflow.Chain(workflow.Start, a), workflow.Chain(b, c)...),
		"two nodes are called a":                        workflow.Chain(workflow.Start, a, nodes.Adds("a")),
		"the edge from the start to a has a route":      workflow.Chain(workflow.Start, workflow.Routes{"x": a}),
		"the cycle a -> b -> a has no exit":             workflow.Chain(workflow.Start, a, b, a),
		"two edges lead from a to b for the same route": append(workflow.Chain(workflow.Start, a, b), workflow.Chain(a, b)...),
		"node a has two edges with DefaultRoute":        workflow.Chain(workflow.Start, a, workflow.Routes{workflow.DefaultRoute: workflow.Fan{b, c}}),
		"has DefaultRoute and other routes":             append(workflow.Chain(workflow.Start, a), workflow.Edge{From: a, To: b, Routes: []string{"x", workflow.DefaultRoute}}),
		"leads to the start":                            workflow.Chain(a, workflow.Start),
		"is not a valid name":                           workflow.Chain(workflow.Start, nodes.Adds("a.b")),
	} {
		_, err := workflow.New(workflow.Config{Name: "wf", Edges: edges})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}
