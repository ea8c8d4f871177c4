package agent

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Edge leads from a node to the one that runs after it.
type Edge struct {
	From *Node // nil for the start of the workflow
	To   *Node
	// Routes are the values for which the edge is taken, see
	// NodeContext.SetRoute. An edge without any is always taken. DefaultRoute is
	// taken if no other route of the node was.
	Routes []string
}

// DefaultRoute is the route of an edge that is taken if no other route matches.
const DefaultRoute = "__DEFAULT__"

// Step is an element of a Chain: a *Node, a Fan, Routes, or Start.
type Step interface {
	// ends are the nodes of the step, with the routes that lead to them.
	ends() []Edge
}

// Fan are nodes that run at the same time.
type Fan []*Node

// Routes are the nodes that run for the values of a route: a *Node or a Fan each.
type Routes map[string]Step

type start int

// Start is the first step of a chain that begins when the workflow does.
const Start start = 0

func (start) ends() []Edge { return []Edge{{}} }

func (n *Node) ends() []Edge { return []Edge{{To: n}} }

func (f Fan) ends() (all []Edge) {
	for _, n := range f {
		all = append(all, Edge{To: n})
	}
	return all
}

func (r Routes) ends() (all []Edge) {
	for _, route := range slices.Sorted(maps.Keys(r)) {
		for _, end := range r[route].ends() {
			all = append(all, Edge{To: end.To, Routes: append([]string{route}, end.Routes...)})
		}
	}
	return all
}

// Chain returns the edges that connect each step with the next one: every node of
// the one with every node of the other.
//
//	agent.Chain(agent.Start, classify, agent.Routes{"bug": fix, agent.DefaultRoute: reply})
func Chain(steps ...Step) []Edge {
	var edges []Edge
	for i := 1; i < len(steps); i++ {
		for _, from := range steps[i-1].ends() {
			for _, end := range steps[i].ends() {
				edges = append(edges, Edge{From: from.To, To: end.To, Routes: end.Routes})
			}
		}
	}
	return edges
}

// WorkflowConfig configures NewWorkflow.
type WorkflowConfig struct {
	Name        string
	Description string
	Edges       []Edge
	// Entry is a function that runs nodes with NodeContext.RunNode. It takes the
	// place of Edges; its name is that of the workflow.
	Entry *Node
	// MaxConcurrency limits how many nodes run at the same time; 0 means no
	// limit.
	MaxConcurrency int

	BeforeAgent []Callback
	AfterAgent  []Callback
}

// NewWorkflow returns an agent that runs a graph of nodes. A node runs when one
// before it has finished and an edge leads to it; nodes that are ready run at the
// same time. A branch ends at a node that no edge leaves. If a node fails, the
// others are cancelled and the run fails.
//
// The end of a node is an event in the log. A run that another process continues,
// and one that the user's answer resumes, go on after the nodes that have
// finished.
func NewWorkflow(cfg WorkflowConfig) (*Agent, error) {
	g, err := &graph{entry: cfg.Entry}, error(nil)
	switch {
	case cfg.Entry == nil:
		g, err = newGraph(cfg.Edges)
	case len(cfg.Edges) > 0:
		err = errors.New("it has edges and an entry")
	case cfg.Entry.body == nil || cfg.Entry.name != cfg.Name:
		err = errors.New("its entry is not a function of that name")
	}
	if err != nil {
		return nil, fmt.Errorf("new workflow %s: %w", cfg.Name, err)
	}
	g.most = cfg.MaxConcurrency
	var agents []*Agent
	for _, n := range g.nodes {
		for ; n != nil; n = n.inner {
			if n.agent != nil {
				agents = append(agents, n.agent)
			}
		}
	}
	a, err := build(Config{
		Name: cfg.Name, Description: cfg.Description, SubAgents: agents,
		BeforeAgent: cfg.BeforeAgent, AfterAgent: cfg.AfterAgent,
	}, KindWorkflow, g.run)
	if err != nil {
		return nil, err
	}
	a.graph = g
	return a, nil
}

// Edges returns the edges of a workflow. It is nil for other agents, and for a
// workflow with an Entry.
func (a *Agent) Edges() (edges []Edge) {
	g := a.graph
	if g == nil {
		return nil
	}
	for _, to := range g.start {
		edges = append(edges, Edge{To: g.nodes[to]})
	}
	for from, targets := range g.out {
		for _, t := range targets {
			edges = append(edges, Edge{From: g.nodes[from], To: g.nodes[t.node], Routes: slices.Clone(t.routes)})
		}
	}
	return edges
}

// graph is what a workflow runs. Nodes are known by their index.
type graph struct {
	entry  *Node // nil unless a function runs the nodes
	nodes  []*Node
	start  []int      // the nodes that run first
	out    [][]target // by node, in the order of the edges
	before [][]int    // by node
	most   int        // of nodes that run at the same time, 0 for no limit
}

type target struct {
	node   int
	routes []string
}

func newGraph(edges []Edge) (*graph, error) {
	if len(edges) == 0 {
		return nil, errors.New("it has no edges")
	}
	g := &graph{}
	index := map[*Node]int{}
	names := map[string]bool{}
	add := func(n *Node) (int, error) {
		if i, ok := index[n]; ok {
			return i, nil
		}
		if !validName.MatchString(n.name) {
			return 0, fmt.Errorf("%q is not a valid name of a node: use letters, digits, _ and -, and start with a letter", n.name)
		}
		if names[n.name] {
			return 0, fmt.Errorf("two nodes are called %s; use one *Node in several edges, or another name", n.name)
		}
		if err := n.cfg.Effect.Check(); err != nil {
			return 0, fmt.Errorf("node %s: %w", n.name, err)
		}
		names[n.name], index[n] = true, len(g.nodes)
		g.nodes = append(g.nodes, n)
		g.out, g.before = append(g.out, nil), append(g.before, nil)
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
			return nil, fmt.Errorf("the edge from the start to %s has a route; only nodes choose routes", e.To.name)
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
				return nil, fmt.Errorf("two edges lead from %s to %s for the same route", nameOf(e.From), e.To.name)
			}
			seen[pair{from, to, route}] = true
		}
		if slices.Contains(e.Routes, DefaultRoute) {
			switch {
			case len(e.Routes) > 1:
				return nil, fmt.Errorf("the edge from %s to %s has DefaultRoute and other routes; use an edge for each", nameOf(e.From), e.To.name)
			case slices.ContainsFunc(g.out[from], func(t target) bool { return t.isDefault() }):
				return nil, fmt.Errorf("node %s has two edges with DefaultRoute", e.From.name)
			}
		}
		if from < 0 {
			g.start = append(g.start, to)
			continue
		}
		g.out[from] = append(g.out[from], target{to, slices.Clone(e.Routes)})
		if !slices.Contains(g.before[to], from) {
			g.before[to] = append(g.before[to], from)
		}
	}
	return g, errors.Join(g.reachable(), g.exits())
}

func nameOf(n *Node) string {
	if n == nil {
		return "the start"
	}
	return n.name
}

func (t target) isDefault() bool { return slices.Contains(t.routes, DefaultRoute) }

// reachable returns an error that names the nodes which no edge leads to.
func (g *graph) reachable() error {
	found := make([]bool, len(g.nodes))
	next := slices.Clone(g.start)
	for len(next) > 0 {
		i := next[len(next)-1]
		next = next[:len(next)-1]
		if found[i] {
			continue
		}
		found[i] = true
		for _, t := range g.out[i] {
			next = append(next, t.node)
		}
	}
	var lost []string
	for i, n := range g.nodes {
		if !found[i] {
			lost = append(lost, n.name)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("no edges lead from the start to %s", strings.Join(lost, ", "))
}

// exits returns an error if there is a cycle of edges that are always taken.
func (g *graph) exits() error {
	const under, done = 1, 2
	state := make([]int, len(g.nodes))
	var path []string
	var visit func(i int) error
	visit = func(i int) error {
		state[i] = under
		path = append(path, g.nodes[i].name)
		for _, t := range g.out[i] {
			if len(t.routes) > 0 || state[t.node] == done {
				continue
			}
			if name := g.nodes[t.node].name; state[t.node] == under {
				cycle := append(path[slices.Index(path, name):], name)
				return fmt.Errorf("the cycle %s has no exit; at least one of its edges needs a route", strings.Join(cycle, " -> "))
			}
			if err := visit(t.node); err != nil {
				return err
			}
		}
		path = path[:len(path)-1]
		state[i] = done
		return nil
	}
	for i := range g.nodes {
		if state[i] == 0 {
			if err := visit(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// next are the nodes that run after a node which chose these routes.
func (g *graph) next(node int, routes []string) (nodes []int) {
	matched, otherwise := false, -1
	for _, t := range g.out[node] {
		switch {
		case len(t.routes) == 0:
			nodes = append(nodes, t.node)
		case t.isDefault():
			otherwise = t.node
		case slices.ContainsFunc(routes, func(r string) bool { return slices.Contains(t.routes, r) }):
			nodes, matched = append(nodes, t.node), true
		}
	}
	if !matched && otherwise >= 0 {
		nodes = append(nodes, otherwise)
	}
	return nodes
}
