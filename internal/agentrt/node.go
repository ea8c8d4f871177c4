package agentrt

import (
	"encoding/json"
	"strings"

	"github.com/parley-run/parley/event"
)

// The extra members of events that nodes of workflows emit: of the event, and of
// its actions.
const (
	NodeMember   = "nodeInfo"
	OutputMember = "output"
	ScopeMember  = "isolationScope"
	RouteMember  = "route"
)

// NodeInfo says which run of a node has emitted an event.
type NodeInfo struct {
	// Path has the name of the outermost workflow and those of the nodes below
	// it, separated by dots.
	Path string `json:"path,omitempty"`
	// RunID counts the runs of the node in one run of its workflow.
	RunID string `json:"runId,omitempty"`
	// Trigger is the run of the node that triggered this one. It is empty for the
	// first nodes of a workflow, and for joins.
	Trigger string `json:"trigger,omitempty"`
	// Attempt counts the attempts of this run of the node. It is 0 in the first.
	Attempt int `json:"attemptCount,omitempty"`
	// OutputFor has the paths of the nodes that the output is of.
	OutputFor []string `json:"outputFor,omitempty"`
	// MessageAsOutput means that the output is the text of the event.
	MessageAsOutput bool `json:"messageAsOutput,omitempty"`
	// More means that the output is not the last one: the node goes on.
	More bool `json:"more,omitempty"`
}

// NodeOf returns the node that has emitted ev; ok is false if none has.
func NodeOf(ev *event.Event) (info NodeInfo, ok bool) {
	doc := ev.Extra[NodeMember]
	if doc == nil || json.Unmarshal(doc, &info) != nil {
		return NodeInfo{}, false
	}
	return info, info.Path != ""
}

// Scope identifies a run of a node: the path that nodes which it runs begin with.
func (n *NodeInfo) Scope() string { return RunScope(n.Path, n.RunID) }

// RunScope is the scope of a run of the node with a path. The paths of nodes that
// were run by others contain the id of the run already.
func RunScope(path, runID string) string {
	if runID == "" || runID == "1" || strings.HasSuffix(path, "@"+runID) {
		return path
	}
	return path + "@" + runID
}

// Within reports whether a scope is another one, or below it.
func Within(scope, outer string) bool {
	return strings.HasPrefix(scope, outer) && (len(scope) == len(outer) || scope[len(outer)] == '.')
}

// Waiter returns the name of the agent that handles answers to what ev asks: its
// author, or the outermost workflow.
func Waiter(ev *event.Event) string {
	info, ok := NodeOf(ev)
	if !ok {
		return ev.Author
	}
	name, _, _ := strings.Cut(info.Path, ".")
	name, _, _ = strings.Cut(name, "@")
	return name
}
