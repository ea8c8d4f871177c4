// Package workflow has agents that run graphs of functions, tools and other agents.
//
// Nodes are the steps: Func, Tool and Agent make them, Join waits for several, and
// ParallelWorker runs one for each item of a list. Edges say which nodes run after
// which; Chain writes them. New makes an agent of them, which is used as any other.
package workflow

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/workflowrt"
	"github.com/parley-run/parley/tool"
)

// Config configures New.
type Config struct {
	Name        string
	Description string
	Edges       []Edge
	// Entry is a function that runs nodes with Context.RunNode. It takes the
	// place of Edges; its name is that of the workflow.
	Entry *Node
	// MaxConcurrency limits how many nodes run at the same time; 0 means no
	// limit.
	MaxConcurrency int

	BeforeAgent []agent.Callback
	AfterAgent  []agent.Callback
}

// New returns an agent that runs a graph of nodes. A node runs when one
// before it has finished and an edge leads to it; nodes that are ready run at the
// same time. A branch ends at a node that no edge leaves. If a node fails, the
// others are cancelled and the run fails.
//
// The end of a node is an event in the log. A run that another process continues,
// and one that the user's answer resumes, go on after the nodes that have
// finished.
func New(cfg Config) (*agent.Agent, error) {
	g, err := cfg.graph()
	if err != nil {
		return nil, fmt.Errorf("new workflow %s: %w", cfg.Name, err)
	}
	a, err := workflowrt.New(&workflowrt.Config{
		Name: cfg.Name, Description: cfg.Description, Agents: agents(g),
		BeforeAgent: callbacks(cfg.BeforeAgent), AfterAgent: callbacks(cfg.AfterAgent), Graph: g,
	})
	if err != nil {
		return nil, err
	}
	return a.(*agent.Agent), nil
}

func (cfg *Config) graph() (*workflowrt.Graph, error) {
	g := &workflowrt.Graph{}
	switch {
	case cfg.Entry == nil:
		var err error
		if g, err = newGraph(cfg.Edges); err != nil {
			return nil, err
		}
	case len(cfg.Edges) > 0:
		return nil, errors.New("it has edges and an entry")
	case cfg.Entry.def.Agent != nil || cfg.Entry.Name() != cfg.Name:
		return nil, errors.New("its entry is not a function of that name")
	default:
		g.Entry = &cfg.Entry.def
	}
	g.Most = cfg.MaxConcurrency
	return g, nil
}

// agents are those of the nodes.
func agents(g *workflowrt.Graph) (all []agentrt.Agent) {
	for _, def := range g.Nodes {
		for n := nodeOf(def); n != nil; n = n.Inner() {
			if a := n.Agent(); a != nil {
				all = append(all, a)
			}
		}
	}
	return all
}

func callbacks(list []agent.Callback) (all []func(*tool.Context) (*event.Content, error)) {
	for _, cb := range list {
		all = append(all, cb)
	}
	return all
}

// Edges returns the edges of a workflow. It is nil for other agents, and for a
// workflow with an Entry.
func Edges(a *agent.Agent) (edges []Edge) {
	g := workflowrt.GraphOf(a)
	if g == nil {
		return nil
	}
	for _, to := range g.Start {
		edges = append(edges, Edge{To: nodeOf(g.Nodes[to])})
	}
	for from, targets := range g.Out {
		for _, t := range targets {
			edges = append(edges, Edge{From: nodeOf(g.Nodes[from]), To: nodeOf(g.Nodes[t.Node]), Routes: slices.Clone(t.Routes)})
		}
	}
	return edges
}

// builder makes a graph of edges.
type builder struct{ *workflowrt.Graph }

func newGraph(edges []Edge) (*workflowrt.Graph, error) {
	if len(edges) == 0 {
		return nil, errors.New("it has no edges")
	}
	g := builder{&workflowrt.Graph{}}
	index := map[*Node]int{}
	names := map[string]bool{}
	add := func(n *Node) (int, error) {
		if i, ok := index[n]; ok {
			return i, nil
		}
		if !workflowrt.ValidName(n.Name()) {
			return 0, fmt.Errorf("%q is not a valid name of a node: use letters, digits, _ and -, and start with a letter", n.Name())
		}
		if names[n.Name()] {
			return 0, fmt.Errorf("two nodes are called %s; use one *Node in several edges, or another name", n.Name())
		}
		if err := n.def.Effect.Check(); err != nil {
			return 0, fmt.Errorf("node %s: %w", n.Name(), err)
		}
		names[n.Name()], index[n] = true, len(g.Nodes)
		g.Nodes = append(g.Nodes, &n.def)
		g.Out, g.Before = append(g.Out, nil), append(g.Before, nil)
		return index[n], nil
	}
	type pair struct {
		from, to int
		route    string
	}
	seen := map[pair]bool{}
	for _, e := range edges {
		if e.To == nil {
			return nil, errors.New("an edge leads to the start of the workflow, or to no node")
		}
		from := -1
		if e.From != nil {
			var err error
			if from, err = add(e.From); err != nil {
				return nil, err
			}
		} else if len(e.Routes) > 0 {
			return nil, fmt.Errorf("the edge from the start to %s has a route; only nodes choose routes", e.To.Name())
		}
		to, err := add(e.To)
		if err != nil {
			return nil, err
		}
		routes := e.Routes
		if len(routes) == 0 {
			routes = []string{""}
		}
		for _, route := range routes {
			if seen[pair{from, to, route}] {
				return nil, fmt.Errorf("two edges lead from %s to %s for the same route", nameOf(e.From), e.To.Name())
			}
			seen[pair{from, to, route}] = true
		}
		if slices.Contains(e.Routes, DefaultRoute) {
			switch {
			case len(e.Routes) > 1:
				return nil, fmt.Errorf("the edge from %s to %s has DefaultRoute and other routes; use an edge for each", nameOf(e.From), e.To.Name())
			case slices.ContainsFunc(g.Out[from], func(t workflowrt.Target) bool { return t.IsDefault() }):
				return nil, fmt.Errorf("node %s has two edges with DefaultRoute", e.From.Name())
			}
		}
		if from < 0 {
			g.Start = append(g.Start, to)
			continue
		}
		g.Out[from] = append(g.Out[from], workflowrt.Target{Node: to, Routes: slices.Clone(e.Routes)})
		if !slices.Contains(g.Before[to], from) {
			g.Before[to] = append(g.Before[to], from)
		}
	}
	return g.Graph, errors.Join(g.reachable(), g.exits())
}

func nameOf(n *Node) string {
	if n == nil {
		return "the start"
	}
	return n.Name()
}

// reachable returns an error that names the nodes which no edge leads to.
func (g builder) reachable() error {
	found := make([]bool, len(g.Nodes))
	next := slices.Clone(g.Start)
	for len(next) > 0 {
		i := next[len(next)-1]
		next = next[:len(next)-1]
		if found[i] {
			continue
		}
		found[i] = true
		for _, t := range g.Out[i] {
			next = append(next, t.Node)
		}
	}
	var lost []string
	for i, n := range g.Nodes {
		if !found[i] {
			lost = append(lost, n.Name)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("no edges lead from the start to %s", strings.Join(lost, ", "))
}

// exits returns an error if there is a cycle of edges that are always taken.
func (g builder) exits() error {
	const under, done = 1, 2
	state := make([]int, len(g.Nodes))
	var path []string
	var visit func(i int) error
	visit = func(i int) error {
		state[i] = under
		path = append(path, g.Nodes[i].Name)
		for _, t := range g.Out[i] {
			if len(t.Routes) > 0 || state[t.Node] == done {
				continue
			}
			if name := g.Nodes[t.Node].Name; state[t.Node] == under {
				cycle := append(path[slices.Index(path, name):], name)
				return fmt.Errorf("the cycle %s has no exit; at least one of its edges needs a route", strings.Join(cycle, " -> "))
			}
			if err := visit(t.Node); err != nil {
				return err
			}
		}
		path = path[:len(path)-1]
		state[i] = done
		return nil
	}
	for i := range g.Nodes {
		if state[i] == 0 {
			if err := visit(i); err != nil {
				return err
			}
		}
	}
	return nil
}
