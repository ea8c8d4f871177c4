package server

import (
	"cmp"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/workflow"
)

// workflowInfo is the graph of a workflow. It is empty if a function runs the nodes.
type workflowInfo struct {
	Nodes []nodeInfo `json:"nodes"`
	Edges []edgeInfo `json:"edges"`
}

type nodeInfo struct {
	Name          string        `json:"name"`
	Kind          workflow.Kind `json:"kind"`
	Agent         string        `json:"agent,omitempty"`
	Each          workflow.Kind `json:"each,omitempty"`
	MaxAttempts   int           `json:"maxAttempts,omitempty"`
	WaitForOutput bool          `json:"waitForOutput,omitempty"`
	RerunOnResume bool          `json:"rerunOnResume,omitempty"`
}

type edgeInfo struct {
	From   string   `json:"from,omitempty"`
	To     string   `json:"to"`
	Routes []string `json:"routes,omitempty"`
}

func describeWorkflow(a *agent.Agent) *workflowInfo {
	info := &workflowInfo{Nodes: []nodeInfo{}, Edges: []edgeInfo{}}
	known := map[*workflow.Node]bool{}
	for _, e := range workflow.Edges(a) {
		one := edgeInfo{To: e.To.Name(), Routes: e.Routes}
		for _, n := range []*workflow.Node{e.From, e.To} {
			if n != nil && !known[n] {
				known[n] = true
				info.Nodes = append(info.Nodes, describeNode(n))
			}
		}
		if e.From != nil {
			one.From = e.From.Name()
		}
		info.Edges = append(info.Edges, one)
	}
	return info
}

func describeNode(n *workflow.Node) nodeInfo {
	cfg := n.Config()
	info := nodeInfo{Name: n.Name(), Kind: n.Kind(), WaitForOutput: cfg.WaitForOutput, RerunOnResume: cfg.RerunOnResume}
	if inner := n.Inner(); inner != nil {
		info.Each, cfg, n = inner.Kind(), inner.Config(), inner
	}
	if a := n.Agent(); a != nil {
		info.Agent = a.Name()
	}
	if cfg.Retry != nil {
		info.MaxAttempts = cmp.Or(cfg.Retry.MaxAttempts, 5) // the default of workflow.Retry
	}
	return info
}
