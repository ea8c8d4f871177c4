package agent

import (
	"context"
	"encoding/json"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/workflowrt"
)

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

func (r *nodeRun) hook(hooks []nodeHook, value json.RawMessage, actions *event.Actions) (output json.RawMessage, err error) {
	defer agentrt.Recover(&err, "plugin at node", r.info.Path)
	c := &nodeContext{ctx: r.ctx, run: r, attempt: 1}
	c.tool = r.ctx.toolContext(actions)
	c.tool.Context = context.WithValue(c.tool.Context, workflowrt.Key{}, c)
	c.tool.FunctionCallID = r.callID()
	for _, hook := range hooks {
		other, err := hook(c.tool, value)
		if err != nil {
			return nil, err
		}
		if output, err = workflowrt.EncodeValue(other); output != nil || err != nil {
			return output, err
		}
	}
	return nil, nil
}
