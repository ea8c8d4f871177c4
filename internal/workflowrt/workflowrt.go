// Package workflowrt is what packages agent and workflow share: the graph of a
// workflow, and what the function of a node can do in a run. Authors of
// workflows need none of it.
//
// Package agent runs the nodes, since a run that is taken over or resumed does
// so through agents and nodes alike, and models see the node that they work in.
// It cannot import package workflow, which imports it: so each registers what the
// other needs of it.
package workflowrt

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/tool"
)

// Config is a workflow.Config that was checked.
type Config struct {
	Name, Description       string
	BeforeAgent, AfterAgent []func(ctx *tool.Context) (*event.Content, error)
	Agents                  []agentrt.Agent // of the nodes
	Graph                   *Graph
}

// Graph is what a workflow runs. Nodes are known by their index.
type Graph struct {
	Entry  *Node // nil unless a function runs the nodes
	Nodes  []*Node
	Start  []int      // the nodes that run first
	Out    [][]Target // by node, in the order of the edges
	Before [][]int    // by node
	Most   int        // of nodes that run at the same time, 0 for no limit
}

// Target is the end of an edge, with its routes.
type Target struct {
	Node   int
	Routes []string
}

// DefaultRoute is workflow.DefaultRoute.
const DefaultRoute = "__DEFAULT__"

// IsDefault reports whether the edge is taken if no other one is.
func (t Target) IsDefault() bool { return slices.Contains(t.Routes, DefaultRoute) }

// Next are the nodes that run after a node which chose these routes.
func (g *Graph) Next(node int, routes []string) (nodes []int) {
	matched, otherwise := false, -1
	for _, t := range g.Out[node] {
		switch {
		case len(t.Routes) == 0:
			nodes = append(nodes, t.Node)
		case t.IsDefault():
			otherwise = t.Node
		case slices.ContainsFunc(routes, func(r string) bool { return slices.Contains(t.Routes, r) }):
			nodes, matched = append(nodes, t.Node), true
		}
	}
	if !matched && otherwise >= 0 {
		nodes = append(nodes, otherwise)
	}
	return nodes
}

// Node is a node as package agent runs it. The fields without a comment are those
// of workflow.NodeConfig.
type Node struct {
	Name  string
	Body  func(run Run, input json.RawMessage) (json.RawMessage, error) // nil if Agent or Tool is set
	Agent agentrt.Agent
	Tool  tool.Tool
	Joins bool // it runs when all nodes before it have finished
	Quiet bool // its output is not a message

	// Again returns the pause before the attempt after one that has failed; ok is
	// false if there is none.
	Again          func(attempt int, err error) (pause time.Duration, ok bool)
	Timeout        time.Duration
	RerunOnResume  bool
	WaitForOutput  bool
	Effect         tool.Effect
	Auth           *credential.Config
	IsolationScope string
	History        bool
	Check          func(ctx *tool.Context, data string, value json.RawMessage) (json.RawMessage, error) // nil for none

	Inner *Node // that it runs for each item of a list; nil if it does not
	Of    any   // the *workflow.Node that this is a part of
}

// NeedsLogin is workflow.Node.NeedsLogin.
func (n *Node) NeedsLogin() bool {
	return n.Auth.NeedsUser() || n.Tool != nil && n.Tool.Declaration().NeedsLogin || n.Inner != nil && n.Inner.NeedsLogin()
}

// OwnScope is workflow.OwnScope.
const OwnScope = "*"

// The data that Node.Check checks.
const (
	InputData  = "input"
	OutputData = "output"
	StateData  = "state"
)

// Run is the run of a node, as the function of the node uses it: what
// workflow.Context is made of.
type Run interface {
	// Tool returns the context that the function gets.
	Tool() *tool.Context
	Path() string
	RunID() string
	Attempt() int
	SetRoute(routes ...string)
	Emit(ev *event.Event) error
	RequestInput(req InputRequest) (json.RawMessage, error)
	Answers() map[string]json.RawMessage
	// Run runs another node, which ends with ctx.
	Run(ctx context.Context, n *Node, input json.RawMessage, opts RunOptions) (*Result, error)
}

// InputRequest is a workflow.InputRequest.
type InputRequest struct {
	ID, Message string
	Payload     any
	Schema      json.RawMessage
}

// RunOptions are workflow.RunOptions.
type RunOptions struct {
	RunID     string
	SubBranch bool
}

// Result is a workflow.Result.
type Result struct {
	Output json.RawMessage
	Routes []string
	Branch string
}

// Key is the key under which the contexts of hooks around a node return its Run.
type Key struct{}

// TimeoutError is the failure of a node that took too long.
type TimeoutError struct{ Limit time.Duration }

func (t *TimeoutError) Error() string { return fmt.Sprintf("timed out after %v", t.Limit) }

// EncodeValue returns the JSON of a value, nil for null.
func EncodeValue(v any) (json.RawMessage, error) {
	doc, ok := v.(json.RawMessage)
	if !ok {
		var buf bytes.Buffer
		enc := json.NewEncoder(&buf)
		enc.SetEscapeHTML(false) // it is shown to people and models
		if err := enc.Encode(v); err != nil {
			return nil, fmt.Errorf("the value is not JSON: %w", err)
		}
		doc = bytes.TrimSpace(buf.Bytes())
	}
	if len(doc) == 0 {
		return nil, nil
	}
	doc, err := wire.Compact(nil, doc)
	if err != nil {
		return nil, fmt.Errorf("the value is not JSON: %w", err)
	}
	if string(doc) == "null" {
		return nil, nil
	}
	return doc, nil
}

var validName = regexp.MustCompile(`^[\p{L}_$][\p{L}\p{N}_$-]*$`)

// ValidName reports whether agents and nodes can have a name.
func ValidName(name string) bool { return validName.MatchString(name) }

// Engine is what package agent implements.
type Engine interface {
	// NewWorkflow returns the *agent.Agent that runs a graph.
	NewWorkflow(cfg *Config) (agentrt.Agent, error)
	// Graph returns the graph of a workflow, nil for other agents.
	Graph(a agentrt.Agent) *Graph
}

var engine Engine

// RegisterEngine sets the implementation. Package agent calls it when it is
// initialized.
func RegisterEngine(e Engine) { engine = e }

// New returns the *agent.Agent that runs a graph.
func New(cfg *Config) (agentrt.Agent, error) { return engine.NewWorkflow(cfg) }

// GraphOf returns the graph of a workflow, nil for other agents.
func GraphOf(a agentrt.Agent) *Graph { return engine.Graph(a) }

// Errors makes and finds errors of the type workflow.Error.
type Errors interface {
	// New returns the failure of the node with a path.
	New(path string, reason error) error
	// Find returns what the first one in err says; ok is false if there is none.
	Find(err error) (path string, reason error, ok bool)
}

var nodeErrors Errors

// RegisterErrors sets the implementation. Package workflow calls it when it is
// initialized, so it is there when there is a workflow.
func RegisterErrors(e Errors) { nodeErrors = e }

// NodeError returns the failure of the node with a path.
func NodeError(path string, reason error) error { return nodeErrors.New(path, reason) }

// FindNodeError returns what the first failure of a node in err says; ok is false if
// there is none.
func FindNodeError(err error) (path string, reason error, ok bool) { return nodeErrors.Find(err) }
