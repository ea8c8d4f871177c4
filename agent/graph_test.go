package agent_test

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
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// adds is a node that puts its name behind its input, and chooses routes.
func adds(name string, routes ...string) *agent.Node {
	return agent.NewNode(name, func(ctx *agent.NodeContext, in any) (string, error) {
		ctx.SetRoute(routes...)
		text, ok := in.(string)
		if !ok {
			doc, err := json.Marshal(in)
			if err != nil {
				return "", err
			}
			text = string(doc)
		}
		return text + "+" + name, nil
	}, agent.NodeConfig{})
}

func workflow(name string, edges ...[]agent.Edge) *agent.Agent {
	cfg := agent.WorkflowConfig{Name: name}
	for _, e := range edges {
		cfg.Edges = append(cfg.Edges, e...)
	}
	return agent.Must(agent.NewWorkflow(cfg))
}

// once runs a tree for one message, without a server.
func once(t *testing.T, root *agent.Agent) ([]*event.Event, error) {
	t.Helper()
	p := &played{tape: newTape(), message: event.Text(event.RoleUser, "hi")}
	if err := p.emit(&event.Event{Author: event.User, Content: p.message}); err != nil {
		t.Fatal(err)
	}
	err := scene{tree: func(*world) *agent.Agent { return root }}.run(t, p, nil, false)
	return p.events[1:], err
}

// outcome is what the nodes of a run said, one line an event.
func outcome(t *testing.T, events []*event.Event) string {
	t.Helper()
	var lines []string
	for _, ev := range events {
		info, _ := agentrt.NodeOf(ev)
		line := info.Path
		if info.RunID != "1" {
			line += "#" + info.RunID
		}
		if out := ev.Extra["output"]; out != nil {
			line += " = " + string(out)
		}
		if route := ev.Actions.Extra["route"]; route != nil {
			line += " -> " + string(route)
		}
		if ev.ErrorCode != "" {
			line += " " + ev.ErrorCode + ": " + ev.ErrorMessage
		}
		if ev.Branch != "" {
			line += " @" + ev.Branch
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func wantOutcome(t *testing.T, events []*event.Event, want string) {
	t.Helper()
	if got := outcome(t, events); got != strings.TrimSpace(want) {
		t.Errorf("events:\n%s\nwant:\n%s", got, strings.TrimSpace(want))
	}
}

func TestWorkflowSemantics(t *testing.T) {
	t.Parallel()
	a, b, c, d := adds("a"), adds("b"), adds("c"), adds("d")
	for name, tt := range map[string]struct {
		root *agent.Agent
		want string
	}{
		"a chain": {workflow("wf", agent.Chain(agent.Start, a, b)), `
wf.a = "hi+a"
wf.b = "hi+a+b"`},
		"a route that matches": {workflow("wf", agent.Chain(agent.Start, adds("r", "x"), agent.Routes{"x": b, "y": c, agent.DefaultRoute: d})), `
wf.r = "hi+r" -> "x"
wf.b = "hi+r+b"`},
		"the default route": {workflow("wf", agent.Chain(agent.Start, adds("r", "z"), agent.Routes{"x": b, agent.DefaultRoute: d})), `
wf.r = "hi+r" -> "z"
wf.d = "hi+r+d"`},
		"no route matches": {workflow("wf", agent.Chain(agent.Start, adds("r", "z"), agent.Routes{"x": b})), `
wf.r = "hi+r" -> "z"`},
		"a nested workflow": {workflow("wf", agent.Chain(agent.Start, a, agent.AgentNode(workflow("inner", agent.Chain(agent.Start, b, c)), agent.NodeConfig{}), d)), `
wf.a = "hi+a"
wf.inner.b = "hi+a+b"
wf.inner.c = "hi+a+b+c"
wf.d = "hi+a+b+c+d"`},
		"a worker for a list": {workflow("wf", agent.Chain(agent.Start, agent.NewNode("list", func(*agent.NodeContext, string) ([]string, error) {
			return []string{"x", "y"}, nil
		}, agent.NodeConfig{}), agent.ParallelWorker(a, 1))), `
wf.list = ["x","y"]
wf.a.a@0#0 = "x+a" @a@0
wf.a.a@1 = "y+a" @a@1
wf.a = ["x+a","y+a"]`},
		"a node that runs others": {workflow("wf", agent.Chain(agent.Start, agent.NewNode("outer", func(ctx *agent.NodeContext, in string) (json.RawMessage, error) {
			first, err := ctx.RunNode(a, in, nil)
			if err != nil {
				return nil, err
			}
			return ctx.RunNode(a, first, nil)
		}, agent.NodeConfig{}))), `
wf.outer.a@1 = "hi+a"
wf.outer.a@2#2 = "hi+a+a"
wf.outer = "hi+a+a"`},
		"a tool": {workflow("wf", agent.Chain(agent.Start, agent.NewNode("args", func(*agent.NodeContext, string) (map[string]string, error) {
			return map[string]string{"of": "it"}, nil
		}, agent.NodeConfig{}), agent.ToolNode(lookup("find"), agent.NodeConfig{}), a)), `
wf.args = {"of":"it"}
wf.find = {"found":"it"}
wf.a = "{\"found\":\"it\"}+a"`},
		"nothing comes out": {workflow("wf", agent.Chain(agent.Start, agent.NewNode("mute", func(*agent.NodeContext, string) (any, error) {
			return nil, nil
		}, agent.NodeConfig{}), a)), `
wf.mute
wf.a = "null+a"`},
		"an agent": {workflow("wf", agent.Chain(agent.Start, a, agent.AgentNode(mustLLM(agent.LLMConfig{Name: "llm", Model: scripted.New(scripted.Say("said"))}), agent.NodeConfig{}), b)), `
wf.a = "hi+a"
wf.llm = "said"
wf.b = "said+b"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantOutcome(t, newChat(t, tt.root).say("hi"), tt.want)
		})
	}
}

func TestWorkflowLoop(t *testing.T) {
	t.Parallel()
	check := agent.NewNode("check", func(ctx *agent.NodeContext, in string) (string, error) {
		if strings.Count(in, "work") < 3 {
			ctx.SetRoute("again")
		}
		return in, nil
	}, agent.NodeConfig{})
	work, done := adds("work"), adds("done")
	wf := workflow("wf", agent.Chain(agent.Start, work, check, agent.Routes{"again": work, agent.DefaultRoute: done}))
	wantOutcome(t, newChat(t, wf).say("hi"), `
wf.work = "hi+work"
wf.check = "hi+work" -> "again"
wf.work#2 = "hi+work+work"
wf.check#2 = "hi+work+work" -> "again"
wf.work#3 = "hi+work+work+work"
wf.check#3 = "hi+work+work+work"
wf.done = "hi+work+work+work+done"`)
}

func TestWorkflowFanOut(t *testing.T) {
	t.Parallel()
	a, b, join := adds("a"), adds("b"), agent.Join("join")
	events := newChat(t, workflow("wf", agent.Chain(agent.Start, agent.Fan{a, b}, join, adds("end")))).say("hi")
	last := events[len(events)-2:]
	wantOutcome(t, last, `
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

func TestWorkflowEdgeWithoutRoute(t *testing.T) {
	t.Parallel()
	r, b, c, join := adds("r", "z"), adds("b"), adds("c"), agent.Join("join")
	wf := workflow("wf", agent.Chain(agent.Start, r, agent.Routes{"x": adds("d"), agent.DefaultRoute: c}, join), agent.Chain(r, b, join))
	if _, err := newChat(t, wf).send(event.Text(event.RoleUser, "hi")); err != nil {
		t.Error(err)
	}
}

func TestWorkflowAgentSeesItsInput(t *testing.T) {
	t.Parallel()
	first, second := scripted.New(scripted.Say("one")), scripted.New(scripted.Say("two"))
	wf := workflow("wf", agent.Chain(agent.Start, adds("a"),
		agent.AgentNode(mustLLM(agent.LLMConfig{Name: "alone", Model: first}), agent.NodeConfig{}),
		agent.AgentNode(mustLLM(agent.LLMConfig{Name: "told", Model: second}), agent.NodeConfig{History: true})))
	newChat(t, wf).say("hi")
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

func TestWorkflowFailure(t *testing.T) {
	t.Parallel()
	wf := workflow("wf", agent.Chain(agent.Start, adds("a"), agent.NewNode("bad", func(*agent.NodeContext, string) (string, error) {
		return "", errors.New("no luck")
	}, agent.NodeConfig{}), adds("b")))
	events, err := once(t, wf)
	wantOutcome(t, events, `
wf.a = "hi+a"
wf.bad UNKNOWN_ERROR: no luck`)
	if err == nil || !strings.Contains(err.Error(), "node wf.bad: no luck") {
		t.Errorf("the error is %v", err)
	}
}

func TestWorkflowRetry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tries atomic.Int64
		wf := workflow("wf", agent.Chain(agent.Start, agent.NewNode("flaky", func(ctx *agent.NodeContext, _ string) (int, error) {
			if tries.Add(1) < 3 {
				return 0, errors.New("not yet")
			}
			return ctx.Attempt(), nil
		}, agent.NodeConfig{Retry: &agent.Retry{Jitter: -1}})))
		began := time.Now()
		var announced []int
		events, err := once(t, agent.Must(agent.New(agent.Config{Name: "root", SubAgents: []*agent.Agent{wf}}, func(ctx *agent.Context, emit agent.Emit) error {
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
		wantOutcome(t, events, `wf.flaky = 3`)
		if info, _ := agentrt.NodeOf(events[0]); info.Attempt != 3 || !slices.Equal(announced, []int{2, 3}) {
			t.Errorf("the event is of attempt %d, and %v were announced; want 3, and 2 and 3", info.Attempt, announced)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("the pauses are %v, want 1 and 2 seconds", took)
		}
	})
}

func TestWorkflowTimeout(t *testing.T) {
	t.Parallel()
	wf := workflow("wf", agent.Chain(agent.Start, agent.NewNode("slow", func(ctx *agent.NodeContext, _ string) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}, agent.NodeConfig{Timeout: time.Millisecond})))
	_, err := once(t, wf)
	if err == nil || !strings.Contains(err.Error(), "node wf.slow: timed out after 1ms") {
		t.Errorf("the error is %v", err)
	}
}

func TestWorkflowInput(t *testing.T) {
	t.Parallel()
	asks := func(rerun bool) *agent.Node {
		return agent.NewNode("ask", func(ctx *agent.NodeContext, in string) (any, error) {
			answer, err := ctx.RequestInput(agent.InputRequest{Message: "how many?", Schema: json.RawMessage(`{"type":"integer"}`)})
			return map[string]json.RawMessage{in: answer}, err
		}, agent.NodeConfig{RerunOnResume: rerun})
	}
	for rerun, want := range map[bool]string{
		false: `wf.b = "7+b"`,
		true:  "wf.ask = {\"hi+a\":7}\n" + `wf.b = "{\"hi+a\":7}+b"`,
	} {
		c := newChat(t, workflow("wf", agent.Chain(agent.Start, adds("a"), asks(rerun), adds("b"))))
		first := c.say("hi")
		wantOutcome(t, first, `
wf.a = "hi+a"
wf.ask`)
		id := callID(t, first)
		if _, err := c.send(&event.Content{Role: event.RoleUser, Parts: []*event.Part{{
			FunctionResponse: &event.FunctionResponse{ID: id, Name: tool.InputCall, Response: json.RawMessage(`{"result":"many"}`)},
		}}}); err == nil {
			t.Error("an answer that does not fit is accepted")
		}
		wantOutcome(t, c.answer(id, tool.InputCall, `{"result":7}`), want)
	}
}

func TestWorkflowValidation(t *testing.T) {
	t.Parallel()
	a, b, c := adds("a"), adds("b"), adds("c")
	for want, edges := range map[string][]agent.Edge{
		"it has no edges":                               nil,
		"no edges lead from the start to b, c":          append(agent.Chain(agent.Start, a), agent.Chain(b, c)...),
		"two nodes are called a":                        agent.Chain(agent.Start, a, adds("a")),
		"the edge from the start to a has a route":      agent.Chain(agent.Start, agent.Routes{"x": a}),
		"the cycle a -> b -> a has no exit":             agent.Chain(agent.Start, a, b, a),
		"two edges lead from a to b for the same route": append(agent.Chain(agent.Start, a, b), agent.Chain(a, b)...),
		"node a has two edges with DefaultRoute":        agent.Chain(agent.Start, a, agent.Routes{agent.DefaultRoute: agent.Fan{b, c}}),
		"has DefaultRoute and other routes":             append(agent.Chain(agent.Start, a), agent.Edge{From: a, To: b, Routes: []string{"x", agent.DefaultRoute}}),
		"leads to the start":                            agent.Chain(a, agent.Start),
		"is not a valid name":                           agent.Chain(agent.Start, adds("a.b")),
	} {
		_, err := agent.NewWorkflow(agent.WorkflowConfig{Name: "wf", Edges: edges})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}
