package agent

import (
	"encoding/json"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
)

// NodeHook is called before or after a node of a workflow runs, with its input or
// its output, nil if there is none. A value other than nil is the output of the
// node in place of its own.
type NodeHook func(ctx *NodeContext, value json.RawMessage) (any, error)

// beforeNode asks the plugins for an output in place of the node's. What they write
// to the state is stored with the end of the node, unless the node is an agent.
func (r *nodeRun) beforeNode() (output json.RawMessage, err error) {
	hooks := r.ctx.inv.hooks
	if len(hooks.beforeNode) == 0 {
		return nil, nil
	}
	return r.hook(hooks.beforeNode, r.input, &r.hooked)
}

// afterNode asks the plugins for an output in place of the one that the node has.
// It is asked once, for the event that ends the node.
func (r *nodeRun) afterNode(output json.RawMessage, actions *event.Actions) (json.RawMessage, error) {
	hooks := r.ctx.inv.hooks
	if len(hooks.afterNode) == 0 || r.concluded {
		return nil, nil
	}
	r.concluded = true
	return r.hook(hooks.afterNode, output, actions)
}

func (r *nodeRun) hook(hooks []NodeHook, value json.RawMessage, actions *event.Actions) (output json.RawMessage, err error) {
	defer agentrt.Recover(&err, "plugin at node", r.info.Path)
	c := &NodeContext{ctx: r.ctx, run: r, attempt: 1}
	c.Context = r.ctx.toolContext(actions)
	c.FunctionCallID = r.callID()
	for _, hook := range hooks {
		other, err := hook(c, value)
		if err != nil {
			return nil, err
		}
		if output, err = encodeValue(other); output != nil || err != nil {
			return output, err
		}
	}
	return nil, nil
}
