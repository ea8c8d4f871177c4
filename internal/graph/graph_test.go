package graph_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/workflow"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/graph"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

func must(t *testing.T) func(a *agent.Agent, err error) *agent.Agent {
	t.Helper()
	return func(a *agent.Agent, err error) *agent.Agent {
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
}

func llm(t *testing.T, name string, tools []string, subs ...*agent.Agent) *agent.Agent {
	t.Helper()
	cfg := agent.LLMConfig{Name: name, Model: scripted.New(), SubAgents: subs}
	for _, name := range tools {
		cfg.Tools = append(cfg.Tools, named(name))
	}
	return must(t)(agent.NewLLM(cfg))
}

// named is a tool with any name.
type named string

func (n named) Declaration() tool.Declaration {
	return tool.Declaration{Name: string(n), Description: "A tool."}
}
func (named) Call(*tool.Context, json.RawMessage) (any, error) { return nil, nil }

func TestDOT(t *testing.T) {
	t.Parallel()
	root := llm(t, "weather", []string{"get_weather"})
	const want = `strict digraph "weather" {
  graph [rankdir="LR", bgcolor="#333537"]
  "weather" [label="🤖 weather", shape="ellipse", style="filled,rounded", fillcolor="#0F5223", color="#0F5223", fontcolor="#cccccc"]
  "get_weather" [label="🔧 get_weather", shape="box", style="filled,rounded", fillcolor="#0F5223", color="#0F5223", fontcolor="#cccccc"]
  "weather" -> "get_weather" [color="#69CB87"]
}
`
	if diff := cmp.Diff(want, graph.DOT(root, true, []graph.Pair{{From: "weather", To: "get_weather"}})); diff != "" {
		t.Error(diff)
	}
	back := graph.DOT(root, true, []graph.Pair{{From: "get_weather", To: "weather"}})
	if !strings.Contains(back, `"weather" -> "get_weather" [color="#69CB87", dir="back"]`) {
		t.Errorf("a response does not point back: %s", back)
	}
	if plain := graph.DOT(root, false, nil); strings.Contains(plain, "filled") || !strings.Contains(plain, `"weather" -> "get_weather" [arrowhead="none"`) {
		t.Errorf("nothing is to be highlighted: %s", plain)
	}
}

// edges are those of a drawing, without their looks.
func edges(dot string) []string {
	var list []string
	for line := range strings.Lines(dot) {
		if strings.Contains(line, " -> ") {
			edge, _, _ := strings.Cut(strings.TrimSpace(line), " [")
			list = append(list, strings.ReplaceAll(edge, `"`, ""))
		}
	}
	return list
}

func TestWorkflows(t *testing.T) {
	t.Parallel()
	ok := must(t)
	both := ok(agent.NewParallel(agent.Config{Name: "both", SubAgents: []*agent.Agent{llm(t, "left", nil), llm(t, "right", nil)}}))
	again := ok(agent.NewLoop(agent.Config{Name: "again", SubAgents: []*agent.Agent{llm(t, "write", nil), llm(t, "edit", nil)}}, 3))
	steps := ok(agent.NewSequential(agent.Config{Name: "steps", SubAgents: []*agent.Agent{both, again, llm(t, "last", []string{"shared"})}}))
	dot := graph.DOT(llm(t, "desk", []string{"shared"}, steps, llm(t, "other", nil)), false, nil)
	want := []string{
		"desk -> shared", "left -> write", "right -> write", "write -> edit", "edit -> write", "edit -> last", "last -> shared",
		"desk -> left", "desk -> right", "desk -> other",
	}
	if diff := cmp.Diff(want, edges(dot)); diff != "" {
		t.Errorf("%s\n%s", diff, dot)
	}
	for _, cluster := range []string{"cluster_both (Parallel Agent)", "cluster_again (Loop Agent)", "cluster_steps (Sequential Agent)"} {
		if !strings.Contains(dot, `subgraph "`+cluster+`" {`) {
			t.Errorf("there is no %s: %s", cluster, dot)
		}
	}
	if n := strings.Count(dot, "🔧 shared"); n != 1 {
		t.Errorf("the tool that two agents share is there %d times", n)
	}
}

// A name may be anything, and must not become a part of the drawing.
func TestNamesAreQuoted(t *testing.T) {
	t.Parallel()
	dot := graph.DOT(llm(t, "desk", []string{`x"]; evil [label="\N`, "a\nb", "desk"}), false, nil)
	for _, want := range []string{`"x\"]; evil [label=\"\\N" [label="🔧 x\"]; evil [label=\"\\N"`, `"a\nb" [`, `"desk (tool)" [label="🔧 desk"`} {
		if !strings.Contains(dot, want) {
			t.Errorf("%s is not in %s", want, dot)
		}
	}
	if n := strings.Count(dot, "\n"); n != 10 {
		t.Errorf("%d lines: %s", n, dot)
	}
}

func TestSteps(t *testing.T) {
	t.Parallel()
	call := func(name string) *event.Part { return &event.Part{FunctionCall: &event.FunctionCall{Name: name}} }
	answer := func(name string) *event.Part {
		return &event.Part{FunctionResponse: &event.FunctionResponse{Name: name}}
	}
	for name, test := range map[string]struct {
		parts []*event.Part
		want  []graph.Pair
	}{
		"calls":     {[]*event.Part{call("x"), call("y")}, []graph.Pair{{From: "a", To: "x"}, {From: "a", To: "y"}}},
		"responses": {[]*event.Part{answer("x")}, []graph.Pair{{From: "x", To: "a"}}},
		"text":      {[]*event.Part{{Text: "hi"}}, []graph.Pair{{From: "a"}}},
	} {
		if diff := cmp.Diff(test.want, graph.Steps(&event.Event{Author: "a", Content: &event.Content{Parts: test.parts}})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestGraphs(t *testing.T) {
	t.Parallel()
	ok := must(t)
	node := func(name string) *workflow.Node {
		return workflow.Func(name, func(*workflow.Context, any) (any, error) { return nil, nil }, workflow.NodeConfig{})
	}
	mustWorkflow := func(name string, chains ...[]workflow.Edge) *agent.Agent {
		return ok(workflow.New(workflow.Config{Name: name, Edges: slices.Concat(chains...)}))
	}
	inner := mustWorkflow("inner", workflow.Chain(workflow.Start, node("pick"), node("deep")))
	pick, draft, send := node("pick"), workflow.Agent(llm(t, "draft", []string{"look_up"}), workflow.NodeConfig{}), node("send")
	call := workflow.Tool(named("call"), workflow.NodeConfig{})
	root := mustWorkflow("root",
		workflow.Chain(workflow.Start, pick, workflow.Routes{"write": draft, workflow.DefaultRoute: send}),
		workflow.Chain(draft, workflow.Agent(inner, workflow.NodeConfig{}), call, send))
	dot := graph.DOT(root, false, graph.Steps(&event.Event{Author: "send"}))
	got := edges(dot)
	slices.Sort(got)
	want := []string{
		"call -> send", "draft -> inner (start)", "draft -> look_up", "inner (start) -> inner.pick", "deep -> call", "inner.pick -> deep",
		"pick -> draft", "pick -> send", "root (start) -> pick",
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%s", diff, dot)
	}
	for _, part := range []string{
		`subgraph "cluster_root (Workflow)" {`, `subgraph "cluster_inner (Workflow)" {`, `"call" [label="🔧 call"`, `"draft" [label="🤖 draft"`,
		`"send" [label="send", shape="box", style="filled,rounded"`, `label="write"`, `label="default"`,
	} {
		if !strings.Contains(dot, part) {
			t.Errorf("no %s in\n%s", part, dot)
		}
	}
}
