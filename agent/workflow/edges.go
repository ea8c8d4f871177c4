package workflow

import (
	"maps"
	"slices"

	"github.com/parley-run/parley/internal/workflowrt"
)

// Edge leads from a node to the one that runs after it.
type Edge struct {
	From *Node // nil for the start of the workflow
	To   *Node
	// Routes are the values for which the edge is taken, see
	// Context.SetRoute. An edge without any is always taken. DefaultRoute is
	// taken if no other route of the node was.
	Routes []string
}

// DefaultRoute is the route of an edge that is taken if no other route matches.
const DefaultRoute = workflowrt.DefaultRoute

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
//	workflow.Chain(workflow.Start, classify, workflow.Routes{"bug": fix, workflow.DefaultRoute: reply})
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
