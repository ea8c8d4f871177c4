// Package graph describes a tree of agents, their tools and what they did in the DOT language of Graphviz, for UIs to
// render.
package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/workflow"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
)

// Pair is a highlighted step: from an agent to a tool or back, or an agent alone if To is empty.
type Pair struct{ From, To string }

// Steps returns the steps of an event: its calls, its responses, or its author alone.
func Steps(ev *event.Event) []Pair {
	var steps []Pair
	for _, call := range ev.FunctionCalls() {
		steps = append(steps, Pair{ev.Author, call.Name})
	}
	if len(steps) > 0 {
		return steps
	}
	for _, response := range ev.FunctionResponses() {
		steps = append(steps, Pair{response.Name, ev.Author})
	}
	if len(steps) > 0 {
		return steps
	}
	return []Pair{{From: ev.Author}}
}

// palette has the colours of a drawing.
type palette struct{ background, plain, filled, border, text, edge string }

var (
	light = palette{"#ffffff", "#5f6368", "#ceead6", "#137333", "#0d652d", "#137333"}
	dark  = palette{"#333537", "#cccccc", "#0F5223", "#0F5223", "#cccccc", "#69CB87"}
)

// DOT draws root and the agents below it.
func DOT(root *agent.Agent, onDark bool, steps []Pair) string {
	d := &drawing{palette: light, steps: steps, agents: map[string]bool{}, drawn: map[string]bool{}, ids: map[*workflow.Node]string{}}
	if onDark {
		d.palette = dark
	}
	d.names(root)
	fmt.Fprintf(&d.out, "strict digraph %s {\n", quote(root.Name()))
	d.line(1, "graph "+attributes("rankdir", "LR", "bgcolor", d.background))
	d.agent(1, root)
	// Edges come last: an edge inside of a cluster would draw both of its ends into it.
	for _, edge := range d.edges {
		d.line(1, edge)
	}
	d.out.WriteString("}\n")
	return d.out.String()
}

type drawing struct {
	palette
	out    strings.Builder
	steps  []Pair
	agents map[string]bool // the names of agents
	drawn  map[string]bool // tools, which several agents may share, and nodes
	ids    map[*workflow.Node]string
	edges  []string
}

func (d *drawing) names(a *agent.Agent) {
	d.agents[a.Name()] = true
	for _, sub := range a.SubAgents() {
		d.names(sub)
	}
}

func (d *drawing) line(depth int, text string) {
	d.out.WriteString(strings.Repeat("  ", depth) + text + "\n")
}

// clusters are the kinds of agents that are drawn around their sub-agents.
var clusters = map[string]string{
	agentrt.KindSequential: "Sequential Agent",
	agentrt.KindParallel:   "Parallel Agent",
	agentrt.KindLoop:       "Loop Agent",
}

// agent draws an agent, what is below it, and the edges between them.
func (d *drawing) agent(depth int, a *agent.Agent) {
	if edges := workflow.Edges(a); len(edges) > 0 {
		d.workflow(depth, a, edges)
		return
	}
	subs := a.SubAgents()
	kind, cluster := clusters[a.Kind()]
	if !cluster || len(subs) == 0 {
		d.node(depth, a.Name(), "🤖 "+a.Name(), "ellipse", d.highlighted(a.Name()))
		d.tools(depth, a)
		for _, sub := range subs {
			d.agent(depth, sub)
			for _, first := range d.entries(sub) {
				d.edge(a.Name(), first)
			}
		}
		return
	}
	d.cluster(depth, a, kind)
	for i, sub := range subs {
		d.agent(depth+1, sub)
		next := i + 1
		if next == len(subs) {
			next = 0
		}
		if a.Kind() == agentrt.KindParallel || next == 0 && a.Kind() != agentrt.KindLoop {
			continue
		}
		for _, from := range d.exits(sub) {
			for _, to := range d.entries(subs[next]) {
				d.edge(from, to)
			}
		}
	}
	d.line(depth, "}")
}

// cluster begins the frame around what is below an agent.
func (d *drawing) cluster(depth int, a *agent.Agent, kind string) {
	title := a.Name() + " (" + kind + ")"
	d.line(depth, "subgraph "+quote("cluster_"+title)+" {")
	d.line(depth+1, "graph "+attributes("label", title, "style", "rounded", "color", d.plain, "fontcolor", d.plain))
}

// workflow draws the nodes of a workflow and its edges, which have the routes for which they are taken.
func (d *drawing) workflow(depth int, a *agent.Agent, edges []workflow.Edge) {
	d.cluster(depth, a, "Workflow")
	start := a.Name() + " (start)"
	d.line(depth+1, quote(start)+" "+attributes("label", "", "shape", "point", "color", d.plain))
	for _, e := range edges {
		if _, ok := d.ids[e.To]; !ok { // every node can be reached
			d.graphNode(depth+1, a, e.To)
		}
	}
	for _, e := range edges {
		from := []string{start}
		if e.From != nil {
			from = d.endsOf(a, e.From, false)
		}
		look := []string{"color", d.plain}
		if len(e.Routes) > 0 {
			look = append(look, "label", strings.ReplaceAll(strings.Join(e.Routes, ", "), workflow.DefaultRoute, "default"), "fontcolor", d.plain)
		}
		for _, one := range from {
			for _, to := range d.endsOf(a, e.To, true) {
				d.edges = append(d.edges, quote(one)+" -> "+quote(to)+" "+attributes(look...))
			}
		}
	}
	d.line(depth, "}")
}

// graphNode draws a node of a workflow: the agent that it runs, or a box.
func (d *drawing) graphNode(depth int, a *agent.Agent, n *workflow.Node) {
	d.ids[n] = n.Name()
	if sub := agentOf(a, n); sub != nil {
		d.agent(depth, sub)
		return
	}
	if d.agents[n.Name()] || d.drawn[n.Name()] { // names are unique in one workflow only
		d.ids[n] = a.Name() + "." + n.Name()
	}
	d.drawn[d.ids[n]] = true
	label := n.Name()
	if n.Kind() == workflow.KindTool {
		label = "🔧 " + label
	}
	d.node(depth, d.ids[n], label, "box", d.highlighted(n.Name()))
}

// agentOf returns the agent that a node of a runs, or that it runs for each item; nil if it runs none.
func agentOf(a *agent.Agent, n *workflow.Node) *agent.Agent {
	for n.Inner() != nil {
		n = n.Inner()
	}
	for _, sub := range a.SubAgents() {
		if n.Agent() != nil && sub.Name() == n.Agent().Name() {
			return sub
		}
	}
	return nil
}

// entries returns what an agent begins with, and exits what it ends with: itself, unless it is drawn as a cluster.
func (d *drawing) entries(a *agent.Agent) []string { return d.ends(a, true) }
func (d *drawing) exits(a *agent.Agent) []string   { return d.ends(a, false) }

func (d *drawing) ends(a *agent.Agent, first bool) []string {
	if edges := workflow.Edges(a); len(edges) > 0 {
		if first {
			return []string{a.Name() + " (start)"}
		}
		return d.last(a, edges)
	}
	subs := a.SubAgents()
	_, cluster := clusters[a.Kind()]
	switch {
	case !cluster || len(subs) == 0:
		return []string{a.Name()}
	case a.Kind() == agentrt.KindParallel: // all of them
	case first:
		subs = subs[:1]
	default:
		subs = subs[len(subs)-1:]
	}
	var names []string
	for _, sub := range subs {
		names = append(names, d.ends(sub, first)...)
	}
	return names
}

// last returns the ends of the nodes that no edge leads on from.
func (d *drawing) last(a *agent.Agent, edges []workflow.Edge) []string {
	var names []string
	for _, e := range edges {
		if slices.ContainsFunc(edges, func(other workflow.Edge) bool { return other.From == e.To }) {
			continue
		}
		for _, name := range d.endsOf(a, e.To, false) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// endsOf is ends for a node of a workflow.
func (d *drawing) endsOf(a *agent.Agent, n *workflow.Node, first bool) []string {
	if sub := agentOf(a, n); sub != nil {
		return d.ends(sub, first)
	}
	return []string{d.ids[n]}
}

func (d *drawing) tools(depth int, a *agent.Agent) {
	info, _ := agentrt.InfoOf(a)
	for _, t := range info.Tools {
		id := t.Name
		if d.agents[id] { // an agent already has the name
			id += " (tool)"
		}
		if !d.drawn[id] {
			d.drawn[id] = true
			d.node(depth, id, "🔧 "+t.Name, "box", d.highlighted(t.Name))
		}
		d.edgeFor(a.Name(), id, t.Name)
	}
}

func (d *drawing) node(depth int, id, label, shape string, highlighted bool) {
	look := []string{"label", label, "shape", shape, "style", "rounded", "color", d.plain, "fontcolor", d.plain}
	if highlighted {
		look = []string{"label", label, "shape", shape, "style", "filled,rounded", "fillcolor", d.filled, "color", d.border, "fontcolor", d.text}
	}
	d.line(depth, quote(id)+" "+attributes(look...))
}

func (d *drawing) highlighted(name string) bool {
	return slices.ContainsFunc(d.steps, func(p Pair) bool { return p.From == name || p.To == name })
}

func (d *drawing) edge(from, to string) { d.edgeFor(from, to, to) }

// edgeFor draws an edge to a node whose id may differ from its name.
func (d *drawing) edgeFor(from, id, name string) {
	look := []string{"arrowhead", "none", "color", d.plain}
	switch {
	case slices.Contains(d.steps, Pair{from, name}):
		look = []string{"color", d.palette.edge}
	case slices.Contains(d.steps, Pair{name, from}):
		look = []string{"color", d.palette.edge, "dir", "back"}
	}
	d.edges = append(d.edges, quote(from)+" -> "+quote(id)+" "+attributes(look...))
}

// attributes formats a list of alternating names and values.
func attributes(pairs ...string) string {
	var list []string
	for pair := range slices.Chunk(pairs, 2) {
		list = append(list, pair[0]+"="+quote(pair[1]))
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// quote quotes a text. Within quotes, Graphviz interprets escapes such as \N for the name of a node.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", "", "\x00", "").Replace(text) + `"`
}
