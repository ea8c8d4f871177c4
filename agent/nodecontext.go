package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/tool"
)

// NodeContext describes the run to the function of a node. Changes of the state
// and other actions become part of the event with which the node ends.
// FunctionCallID identifies the run of the node: it stays the same when another
// process runs the function again.
type NodeContext struct {
	*tool.Context

	ctx     *Context
	run     *nodeRun
	attempt int
	actions event.Actions
	routes  []string
}

// Path returns the names of the workflow, of the nodes above this one and of the
// node, separated by dots.
func (c *NodeContext) Path() string { return c.run.info.Path }

// RunID returns the number of this run of the node in the run of its workflow.
func (c *NodeContext) RunID() string { return c.run.info.RunID }

// Attempt returns how often the function was tried in this run of the node,
// beginning with 1.
func (c *NodeContext) Attempt() int { return c.attempt }

// SetRoute chooses the edges that are taken after the node: those that have one
// of the routes.
func (c *NodeContext) SetRoute(routes ...string) { c.routes = routes }

// Emit emits an event before the node ends. It returns when the event is stored.
// An event with an output, in Extra, ends the node.
func (c *NodeContext) Emit(ev *event.Event) error {
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

// InputRequest is what RequestInput asks the user.
type InputRequest struct {
	// ID identifies the request to the client that answers it. It must be unique
	// in the session; empty means a new one.
	ID string
	// Message is the question.
	Message string
	// Payload is more that the client shows; it may be nil.
	Payload any
	// Schema is the JSON Schema of the answer, nil for any.
	Schema json.RawMessage
}

// RequestInput asks the user for something. It returns the answer if there is
// one: to the request with the same ID or, without one, to the request that the
// function made at this place before. Otherwise it fails with ErrWaiting, which the function must return: the
// run ends, and the answer starts another one. What becomes of the answer is up to
// NodeConfig.RerunOnResume.
func (c *NodeContext) RequestInput(req InputRequest) (json.RawMessage, error) {
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

// Answers returns the answers of the user to what this run of the node, and the
// nodes that it runs, have asked, by the ids of the requests.
func (c *NodeContext) Answers() map[string]json.RawMessage {
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

// RunOptions change how RunNode runs a node. The zero value, and nil, work.
type RunOptions struct {
	// RunID identifies the run of the node; empty means that runs are numbered.
	// A node that is run twice with one id runs once.
	RunID string
	// SubBranch gives the node a branch of its own, so that agents do not see
	// the events of nodes that are run at the same time.
	SubBranch bool
}

// RunNode runs another node, which need not be part of the workflow, and returns
// its output. It fails with a *NodeError if the node does, and with ErrWaiting,
// which the function must return, if the node waits for the user: the function is
// run again when the answer has come. It may be called from several goroutines if
// the ids of the runs are given.
func (c *NodeContext) RunNode(n *Node, input any, opts *RunOptions) (json.RawMessage, error) {
	result, err := c.Run(n, input, opts)
	if err != nil {
		return nil, err
	}
	return result.Output, nil
}

// NodeResult is the outcome of a node that another one has run.
type NodeResult struct {
	Output json.RawMessage // nil if there is none
	Routes []string
	Branch string
}

// Run is RunNode for callers that need the route. The run ends with the context
// c.Context.
func (c *NodeContext) Run(n *Node, input any, opts *RunOptions) (*NodeResult, error) {
	doc, err := encodeValue(input)
	if err != nil {
		return nil, err
	}
	if opts == nil {
		opts = &RunOptions{}
	}
	child, err := c.child(c.ctx.WithContext(c.Context.Context), n, doc, opts)()
	if err != nil {
		return nil, err
	}
	return &NodeResult{Output: child.output, Routes: child.routes, Branch: child.ctx.branch}, nil
}

// child returns the function that runs a node below this one, once.
func (c *NodeContext) child(ctx *Context, n *Node, input json.RawMessage, opts *RunOptions) func() (*nodeRun, error) {
	r := c.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begun == nil {
		r.begun, r.counts = map[string]func() (*nodeRun, error){}, map[string]int{}
	}
	id := opts.RunID
	if id == "" {
		r.counts[n.name]++
		id = strconv.Itoa(r.counts[n.name])
	}
	name := n.name + "@" + id
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
			err = &NodeError{info.Path, err}
		}
		return child, err
	})
	r.begun[name] = run
	return run
}

// each runs a node for each item of a list.
func (c *NodeContext) each(n *Node, input json.RawMessage, most int) (json.RawMessage, error) {
	items := []json.RawMessage{input}
	if list := bytes.TrimSpace(input); len(list) > 0 && list[0] == '[' {
		items = nil // Unmarshal would overwrite the input
		if err := json.Unmarshal(input, &items); err != nil {
			return nil, err
		}
	}
	group, cancel := context.WithCancelCause(c.ctx.Context)
	defer cancel(nil)
	within := c.ctx.WithContext(group)
	outputs := make([]json.RawMessage, len(items))
	errs := make([]error, len(items))
	free := make(chan struct{}, most)
	var wg sync.WaitGroup
	for i, item := range items {
		free <- struct{}{}
		if group.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-free }()
			child, err := c.child(within, n, item, &RunOptions{RunID: strconv.Itoa(i), SubBranch: true})()
			switch {
			case err == nil:
				outputs[i] = nullable(child.output)
			case errors.Is(err, ErrWaiting):
				errs[i] = err
			default:
				cancel(err)
			}
		})
	}
	wg.Wait()
	if err := context.Cause(group); err != nil {
		return nil, err
	}
	if errors.Join(errs...) != nil {
		return nil, ErrWaiting
	}
	return encodeValue(outputs)
}
