package server

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/workflow"
)

func TestDescribeWorkflow(t *testing.T) {
	t.Parallel()
	pass := func(name string, cfg workflow.NodeConfig) *workflow.Node {
		return workflow.Func(name, func(_ *workflow.Context, in json.RawMessage) (json.RawMessage, error) { return in, nil }, cfg)
	}
	mustWorkflow := func(name string, edges []workflow.Edge) *agent.Agent {
		a, err := workflow.New(workflow.Config{Name: name, Edges: edges})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	inner := mustWorkflow("inner", workflow.Chain(workflow.Start, pass("only", workflow.NodeConfig{Retry: &workflow.Retry{}})))
	outer := mustWorkflow("outer", workflow.Chain(
		workflow.Start,
		pass("choose", workflow.NodeConfig{WaitForOutput: true}),
		workflow.Routes{"many": workflow.ParallelWorker(pass("each", workflow.NodeConfig{Retry: &workflow.Retry{MaxAttempts: 2}}), 0), workflow.DefaultRoute: workflow.Agent(inner, workflow.NodeConfig{})},
		workflow.Join("both"),
	))
	agents := map[string]agentInfo{}
	describe(outer, agents)
	want := map[string]*workflowInfo{
		"outer": {
			Nodes: []nodeInfo{
				{Name: "choose", Kind: workflow.KindFunction, WaitForOutput: true},
				{Name: "inner", Kind: workflow.KindAgent, Agent: "inner"},
				{Name: "each", Kind: workflow.KindWorker, Each: workflow.KindFunction, MaxAttempts: 2, RerunOnResume: true},
				{Name: "both", Kind: workflow.KindJoin},
			},
			Edges: []edgeInfo{
				{To: "choose"},
				{From: "choose", To: "inner", Routes: []string{workflow.DefaultRoute}},
				{From: "choose", To: "each", Routes: []string{"many"}},
				{From: "inner", To: "both"},
				{From: "each", To: "both"},
			},
		},
		"inner": {Nodes: []nodeInfo{{Name: "only", Kind: workflow.KindFunction, MaxAttempts: 5}}, Edges: []edgeInfo{{To: "only"}}},
	}
	got := map[string]*workflowInfo{}
	for name, one := range agents {
		got[name] = one.Workflow
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
