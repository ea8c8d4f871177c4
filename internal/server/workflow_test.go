package server

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/agent"
)

func TestDescribeWorkflow(t *testing.T) {
	t.Parallel()
	pass := func(name string, cfg agent.NodeConfig) *agent.Node {
		return agent.NewNode(name, func(_ *agent.NodeContext, in json.RawMessage) (json.RawMessage, error) { return in, nil }, cfg)
	}
	workflow := func(name string, edges []agent.Edge) *agent.Agent {
		a, err := agent.NewWorkflow(agent.WorkflowConfig{Name: name, Edges: edges})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	inner := workflow("inner", agent.Chain(agent.Start, pass("only", agent.NodeConfig{Retry: &agent.Retry{}})))
	outer := workflow("outer", agent.Chain(
		agent.Start,
		pass("choose", agent.NodeConfig{WaitForOutput: true}),
		agent.Routes{"many": agent.ParallelWorker(pass("each", agent.NodeConfig{Retry: &agent.Retry{MaxAttempts: 2}}), 0), agent.DefaultRoute: agent.AgentNode(inner, agent.NodeConfig{})},
		agent.Join("both"),
	))
	agents := map[string]agentInfo{}
	describe(outer, agents)
	want := map[string]*workflowInfo{
		"outer": {
			Nodes: []nodeInfo{
				{Name: "choose", Kind: agent.NodeFunction, WaitForOutput: true},
				{Name: "inner", Kind: agent.NodeAgent, Agent: "inner"},
				{Name: "each", Kind: agent.NodeWorker, Each: agent.NodeFunction, MaxAttempts: 2, RerunOnResume: true},
				{Name: "both", Kind: agent.NodeJoin},
			},
			Edges: []edgeInfo{
				{To: "choose"},
				{From: "choose", To: "inner", Routes: []string{agent.DefaultRoute}},
				{From: "choose", To: "each", Routes: []string{"many"}},
				{From: "inner", To: "both"},
				{From: "each", To: "both"},
			},
		},
		"inner": {Nodes: []nodeInfo{{Name: "only", Kind: agent.NodeFunction, MaxAttempts: 5}}, Edges: []edgeInfo{{To: "only"}}},
	}
	got := map[string]*workflowInfo{}
	for name, one := range agents {
		got[name] = one.Workflow
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
