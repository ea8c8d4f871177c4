package workflow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/workflowrt"
	"github.com/parley-run/parley/tool"
)

// Context describes the run to the function of a node. Changes of the state
// and other actions become part of the event with which the node ends.
// FunctionCallID identifies the run of the node: it stays the same when another
// process runs the function again.
type Context struct {
	*tool.Context

	run workflowrt.Run
}

func newContext(run workflowrt.Run) *Context { return &Context{run.Tool(), run} }

// FromHook returns the context of the node for which a BeforeNode or AfterNode hook
// of a plugin is called, nil in all other functions.
func FromHook(ctx *tool.Context) *Context {
	run, _ := ctx.Value(workflowrt.Key{}).(workflowrt.Run)
	if run == nil || run.Tool() != ctx {
		return nil // ctx is of something that the hook runs
	}
	return newContext(run)
}

// Path returns the names of the workflow, of the nodes above this one and of the
// node, separated by dots.
func (c *Context) Path() string { return c.run.Path() }

// RunID returns the number of this run of the node in the run of its workflow.
func (c *Context) RunID() string { return c.run.RunID() }

// Attempt returns how often the function was tried in this run of the node,
// beginning with 1.
func (c *Context) Attempt() int { return c.run.Attempt() }

// SetRoute chooses the edges that are taken after the node: those that have one
// of the routes.
func (c *Context) SetRoute(routes ...string) { c.run.SetRoute(routes...) }

// Emit emits an event before the node ends. It returns when the event is stored.
// An event with an output, in Extra, ends the node.
func (c *Context) Emit(ev *event.Event) error { return c.run.Emit(ev) }

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
// function made at this place before. Otherwise it fails with agent.ErrWaiting, which
// the function must return: the run ends, and the answer starts another one. What
// becomes of the answer is up to NodeConfig.RerunOnResume.
func (c *Context) RequestInput(req InputRequest) (json.RawMessage, error) {
	return c.run.RequestInput(workflowrt.InputRequest(req))
}

// Answers returns the answers of the user to what this run of the node, and the
// nodes that it runs, have asked, by the ids of the requests.
func (c *Context) Answers() map[string]json.RawMessage { return c.run.Answers() }

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
// its output. It fails with an *Error if the node does, and with agent.ErrWaiting,
// which the function must return, if the node waits for the user: the function is
// run again when the answer has come. It may be called from several goroutines if
// the ids of the runs are given.
func (c *Context) RunNode(n *Node, input any, opts *RunOptions) (json.RawMessage, error) {
	result, err := c.Run(n, input, opts)
	if err != nil {
		return nil, err
	}
	return result.Output, nil
}

// Result is the outcome of a node that another one has run.
type Result struct {
	Output json.RawMessage // nil if there is none
	Routes []string
	Branch string
}

// Run is RunNode for callers that need the route. The run ends with the context
// c.Context.
func (c *Context) Run(n *Node, input any, opts *RunOptions) (*Result, error) {
	doc, err := workflowrt.EncodeValue(input)
	if err != nil {
		return nil, err
	}
	if opts == nil {
		opts = &RunOptions{}
	}
	result, err := c.run.Run(c.Context.Context, &n.def, doc, workflowrt.RunOptions(*opts))
	if err != nil {
		return nil, err
	}
	return (*Result)(result), nil
}

// each runs a node for each item of a list.
func each(run workflowrt.Run, n *Node, input json.RawMessage, most int) (json.RawMessage, error) {
	items := []json.RawMessage{input}
	if list := bytes.TrimSpace(input); len(list) > 0 && list[0] == '[' {
		items = nil // Unmarshal would overwrite the input
		if err := json.Unmarshal(input, &items); err != nil {
			return nil, err
		}
	}
	group, cancel := context.WithCancelCause(run.Tool().Context)
	defer cancel(nil)
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
			result, err := run.Run(group, &n.def, item, workflowrt.RunOptions{RunID: strconv.Itoa(i), SubBranch: true})
			switch {
			case err == nil:
				outputs[i] = result.Output // null if there is none
			case errors.Is(err, agent.ErrWaiting):
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
		return nil, agent.ErrWaiting
	}
	return workflowrt.EncodeValue(outputs)
}
