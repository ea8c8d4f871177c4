package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/workflowrt"
	"github.com/parley-run/parley/tool"
)

// nodeContext is the run of a node to its function. FunctionCallID identifies the run:
// it stays the same when another process runs the function again.
type nodeContext struct {
	tool    *tool.Context
	ctx     *Context
	run     *nodeRun
	attempt int
	actions event.Actions
	routes  []string
}

func (c *nodeContext) Tool() *tool.Context { return c.tool }

func (c *nodeContext) Path() string { return c.run.info.Path }

func (c *nodeContext) RunID() string { return c.run.info.RunID }

func (c *nodeContext) Attempt() int { return c.attempt }

func (c *nodeContext) SetRoute(routes ...string) { c.routes = routes }

func (c *nodeContext) Emit(ev *event.Event) error {
	r := c.run
	if ev.Partial {
		return r.emit(ev)
	}
	r.mu.Lock()
	var again *event.Event
	if b := r.before; b != nil && r.emitted < len(b.events) {
		again = b.events[r.emitted]
	}
	r.emitted++
	r.mu.Unlock()
	if again == nil {
		return r.emit(ev)
	}
	if m := c.ctx.inv.past.find(again); m != nil {
		return c.ctx.inv.past.take(m, r.emit)
	}
	return nil // of the run that this one resumes
}

func (c *nodeContext) RequestInput(req workflowrt.InputRequest) (json.RawMessage, error) {
	r := c.run
	r.mu.Lock()
	n := r.asked
	r.asked++
	r.mu.Unlock()
	if r.before != nil {
		asked := r.before.inputs()
		if req.ID != "" {
			n = slices.IndexFunc(asked, func(q request) bool { return q.id == req.ID })
		}
		if n >= 0 && n < len(asked) {
			if asked[n].answer == nil {
				return nil, ErrWaiting
			}
			return asked[n].answer, nil
		}
	}
	if req.ID == "" {
		req.ID = newCallID()
	}
	args, err := json.Marshal(struct {
		ID      string          `json:"interruptId"`
		Payload any             `json:"payload"`
		Message string          `json:"message,omitempty"`
		Schema  json.RawMessage `json:"response_schema"`
	}{req.ID, req.Payload, req.Message, nullable(req.Schema)})
	if err != nil {
		return nil, fmt.Errorf("request for input: %w", err)
	}
	ev := &event.Event{
		Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{{FunctionCall: &event.FunctionCall{
			ID: req.ID, Name: tool.InputCall, Args: args,
		}}}},
		LongRunningToolIDs: []string{req.ID},
		Actions:            c.actions,
	}
	c.actions = event.Actions{}
	if err := r.emit(ev); err != nil {
		return nil, err
	}
	return nil, ErrWaiting
}

func (c *nodeContext) Answers() map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	c.ctx.inv.nodes().within(c.run.scope, func(b *nodeRecord) {
		for _, q := range b.asked {
			if q.answer != nil {
				all[q.id] = q.answer
			}
		}
	})
	return all
}

func nullable(doc json.RawMessage) json.RawMessage {
	if len(doc) == 0 {
		return json.RawMessage("null")
	}
	return doc
}

func (c *nodeContext) Run(ctx context.Context, n *workflowrt.Node, input json.RawMessage, opts workflowrt.RunOptions) (*workflowrt.Result, error) {
	child, err := c.child(c.ctx.WithContext(ctx), n, input, opts)() //nolint:contextcheck // what it calls has the context in ctx
	if err != nil {
		return nil, err
	}
	return &workflowrt.Result{Output: child.output, Routes: child.routes, Branch: child.ctx.branch}, nil
}

// child returns the function that runs a node below this one, once.
func (c *nodeContext) child(ctx *Context, n *workflowrt.Node, input json.RawMessage, opts workflowrt.RunOptions) func() (*nodeRun, error) {
	r := c.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begun == nil {
		r.begun, r.counts = map[string]func() (*nodeRun, error){}, map[string]int{}
	}
	id := opts.RunID
	if id == "" {
		r.counts[n.Name]++
		id = strconv.Itoa(r.counts[n.Name])
	}
	name := n.Name + "@" + id
	if run := r.begun[name]; run != nil {
		return run
	}
	branch := ctx.branch
	if opts.SubBranch {
		branch = joinBranch(branch, name)
	}
	info := agentrt.NodeInfo{Path: r.scope + "." + name, RunID: id}
	run := sync.OnceValues(func() (*nodeRun, error) {
		child := ctx.newNodeRun(r.workflow, n, info, branch, input, r.up)
		err := child.do()
		if err != nil && child.repeatable(err) {
			err = workflowrt.NodeError(info.Path, err)
		}
		return child, err
	})
	r.begun[name] = run
	return run
}
