package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"sync"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/workflowrt"
)

// nodeRun is one run of a node.
type nodeRun struct {
	node      *workflowrt.Node
	workflow  *Agent // whose sub-agents are those of the nodes
	info      agentrt.NodeInfo
	scope     string
	isolation string
	given     json.RawMessage // the input before it is checked
	input     json.RawMessage
	ctx       *Context
	up        Emit
	before    *nodeRecord // nil if the log has none
	index     int         // of the node in its graph

	stamp     json.RawMessage // the node's info in events
	mu        sync.Mutex
	output    json.RawMessage
	routes    []string
	closed    bool // an event has said what the outcome is
	reported  *event.Event
	emitted   int            // events of the function
	asked     int            // requests for input in this attempt
	counts    map[string]int // runs of other nodes in this attempt, by name
	begun     map[string]func() (*nodeRun, error)
	err       error
	completed bool          // without an error
	hooked    event.Actions // of plugins before the node
	concluded bool          // plugins have seen the output
}

// newNodeRun returns a run of a node in c, which is the context of the workflow or
// of the node that runs it.
func (c *Context) newNodeRun(workflow *Agent, n *workflowrt.Node, info agentrt.NodeInfo, branch string, input json.RawMessage, up Emit) *nodeRun {
	r := &nodeRun{node: n, workflow: workflow, info: info, scope: info.Scope(), given: input, input: input, up: up}
	switch {
	case n.IsolationScope == workflowrt.OwnScope:
		r.isolation = info.Path + "@" + info.RunID
	case n.IsolationScope != "":
		r.isolation = n.IsolationScope
	case c.node != nil:
		r.isolation = c.node.isolation
	}
	r.stamp = rawJSON(info)
	r.ctx = c.with(func(sub *Context) { sub.node, sub.branch, sub.last, sub.resume = r, branch, false, nil })
	r.before = c.inv.nodes().take(r.scope)
	return r
}

// do runs the node, unless the log says how the run ended.
func (r *nodeRun) do() error {
	known, err := r.known()
	if !known {
		err = r.work()
	}
	if err == nil || errors.Is(err, ErrWaiting) {
		if taken := r.takeAll(); taken != nil {
			return taken
		}
	}
	r.completed = err == nil
	return err
}

// work runs the node, unless a plugin has an output in its place.
func (r *nodeRun) work() error {
	output, err := r.beforeNode()
	if err != nil {
		return err
	}
	if output == nil {
		return r.attempts()
	}
	r.concluded = true
	return r.emit(&event.Event{Actions: r.hooked, Extra: map[string]json.RawMessage{agentrt.OutputMember: output}})
}

// takeAll takes what is left of the past of the run: it is over.
func (r *nodeRun) takeAll() error {
	p := r.ctx.inv.past
	if p == nil {
		return nil
	}
	for _, m := range p.events {
		if agentrt.Within(m.scope, r.scope) && !p.isTaken(m) {
			if err := p.take(m, r.up); err != nil {
				return err
			}
		}
	}
	return nil
}

// agent is the agent of the node in the tree of the run.
func (r *nodeRun) agent() *Agent {
	for _, sub := range r.workflow.subAgents {
		if sub.name == r.node.Agent.Name() {
			return sub
		}
	}
	return r.own()
}

// own is the agent that the node was made of, nil if it was made of something else.
func (r *nodeRun) own() *Agent {
	a, _ := r.node.Agent.(*Agent)
	return a
}

// is reports whether the node is made of an agent. r may be nil.
func (r *nodeRun) is(a *Agent) bool {
	return r != nil && r.node.Agent != nil && r.node.Agent.Name() == a.name
}

// check returns the data of the node as its Check has it.
func (r *nodeRun) check(data string, value json.RawMessage) (json.RawMessage, error) {
	if r.node.Check == nil || value == nil {
		return value, nil
	}
	return r.node.Check(r.ctx.toolContext(&event.Actions{}), data, value)
}

// callID identifies the run of the node, also when the user's answer resumes it.
func (r *nodeRun) callID() string {
	run := r.ctx.inv.ID
	if b := r.before; b != nil && len(b.asked) > 0 {
		run = cmp.Or(b.asked[0].event.InvocationID, run)
	}
	return run + ":" + r.scope
}
