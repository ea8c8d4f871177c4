package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

// Plugin takes part in everything that the agents of an application do. Hooks
// that are nil are not called.
//
// Plugins run before the callbacks of the agents, in their order. If one
// returns a value other than nil, neither the others nor the callbacks are
// called.
type Plugin struct {
	// Name identifies the plugin in errors and logs.
	Name string

	// OnUserMessage may replace a message before it is stored. Its changes of
	// the state are stored with the message.
	OnUserMessage func(ctx *tool.Context, message *event.Content) (*event.Content, error)
	// BeforeRun may answer in place of all agents: what it returns is the only
	// event of the run.
	BeforeRun Callback
	// OnEvent receives every event before it is stored, and may replace it. The
	// replacement gets the ID, Author, Branch and Partial of the original.
	OnEvent func(ctx *tool.Context, ev *event.Event) (*event.Event, error)
	// AfterRun is called when the agents have completed, or wait for an answer. It is
	// not called if the run fails or is cancelled, or if BeforeRun has answered.
	AfterRun func(ctx *tool.Context) error

	BeforeAgent Callback
	AfterAgent  Callback

	BeforeModel BeforeModel
	AfterModel  AfterModel
	// OnModelError may answer in place of a model that failed or refused. If it
	// refused, err wraps a *model.ResponseError; see errors.As.
	OnModelError func(ctx *tool.Context, req *model.Request, err error) (*model.Response, error)

	// BeforeNode and AfterNode are called around the nodes of workflows, and around
	// a workflow that is not a node itself. A node
	// whose output BeforeNode returns does not run. AfterNode is not called for
	// it, nor for a node that fails or waits. They get the input or the output of
	// the node, nil if it has none, and a value that they return is its output in
	// place of its own. workflow.FromHook says which node it is.
	BeforeNode func(ctx *tool.Context, input json.RawMessage) (any, error)
	AfterNode  func(ctx *tool.Context, output json.RawMessage) (any, error)

	// BeforeCompaction and AfterCompaction are called around a Compaction.
	// Their changes of the state are stored with the summary.
	BeforeCompaction func(ctx *tool.Context, c *Compaction) error
	AfterCompaction  func(ctx *tool.Context, c *Compaction) error

	BeforeTool BeforeTool
	AfterTool  AfterTool
	// OnToolError may return a result in place of a tool that failed.
	OnToolError func(ctx *tool.Context, call *Call, err error) (any, error)
}

// WithPlugins returns a copy of the tree below root with more plugins, which take
// part in all of its runs. root must not be a sub-agent.
func WithPlugins(root *Agent, plugins ...*Plugin) (*Agent, error) {
	if root.parent != nil {
		return nil, fmt.Errorf("plugins for agent %s: it is a sub-agent of %s; plugins are for the root of a tree", root.name, root.parent.name)
	}
	h := &hooks{plugins: slices.Concat(root.hooks.all(), plugins)}
	seen := map[string]bool{}
	for _, p := range h.plugins {
		switch {
		case p == nil:
			return nil, fmt.Errorf("plugins for agent %s: one is nil", root.name)
		case p.Name == "":
			return nil, fmt.Errorf("plugins for agent %s: one has no name", root.name)
		case seen[p.Name]:
			return nil, fmt.Errorf("plugins for agent %s: two are called %s", root.name, p.Name)
		}
		seen[p.Name] = true
		h.add(p)
	}
	root = root.clone()
	root.hooks = h
	return root, nil
}

// hooks are what plugins have, by kind. Nil is none.
type hooks struct {
	plugins     []*Plugin
	beforeRun   []Callback
	afterRun    []Callback
	beforeAgent []Callback
	afterAgent  []Callback
	beforeModel []BeforeModel
	afterModel  []AfterModel
	beforeTool  []BeforeTool
	afterTool   []AfterTool
	beforeNode  []nodeHook
	afterNode   []nodeHook
}

type nodeHook = func(ctx *tool.Context, value json.RawMessage) (any, error)

func (h *hooks) all() []*Plugin {
	if h == nil {
		return nil
	}
	return h.plugins
}

func (h *hooks) add(p *Plugin) {
	h.beforeRun = appendSet(h.beforeRun, p.BeforeRun)
	h.beforeAgent = appendSet(h.beforeAgent, p.BeforeAgent)
	h.afterAgent = appendSet(h.afterAgent, p.AfterAgent)
	if p.BeforeModel != nil {
		h.beforeModel = append(h.beforeModel, p.BeforeModel)
	}
	if p.AfterModel != nil {
		h.afterModel = append(h.afterModel, p.AfterModel)
	}
	if p.BeforeTool != nil {
		h.beforeTool = append(h.beforeTool, p.BeforeTool)
	}
	if p.AfterTool != nil {
		h.afterTool = append(h.afterTool, p.AfterTool)
	}
	if p.BeforeNode != nil {
		h.beforeNode = append(h.beforeNode, p.BeforeNode)
	}
	if p.AfterNode != nil {
		h.afterNode = append(h.afterNode, p.AfterNode)
	}
	if p.AfterRun != nil {
		h.afterRun = append(h.afterRun, func(tc *tool.Context) (*event.Content, error) { return nil, p.AfterRun(tc) })
	}
}

func appendSet(to []Callback, cb Callback) []Callback {
	if cb == nil {
		return to
	}
	return append(to, cb)
}

var noHooks = &hooks{}

// before is what plugins do, and then what the agent does.
func before[F any](plugins, own []F) []F {
	if len(plugins) == 0 {
		return own
	}
	return slices.Concat(plugins, own)
}

// run runs a tree between the plugins' hooks around it.
func (h *hooks) run(ctx *Context, root, first *Agent, emit Emit) error {
	if len(h.plugins) == 0 {
		return first.Run(ctx, emit)
	}
	around := ctx.enter(root)
	signed := func(ev *event.Event) error {
		if ev.Author == "" {
			ev.Author = root.name
		}
		return emit(ev)
	}
	if done, err := around.callback(h.beforeRun, "plugin before run", signed); done || err != nil {
		return err
	}
	err := first.Run(ctx, emit)
	if err != nil && !errors.Is(err, ErrWaiting) {
		return err
	}
	if _, failed := around.callback(h.afterRun, "plugin after run", signed); failed != nil {
		return failed
	}
	return err
}

// watch shows every event to the plugins before it is emitted.
func (h *hooks) watch(ctx *Context, root *Agent, emit Emit) Emit {
	if !slices.ContainsFunc(h.plugins, func(p *Plugin) bool { return p.OnEvent != nil }) {
		return emit
	}
	ctx = ctx.enter(root)
	return func(ev *event.Event) error {
		if err := h.onEvent(ctx, ev); err != nil {
			return err
		}
		return emit(ev)
	}
}

func (h *hooks) onEvent(ctx *Context, ev *event.Event) error {
	for _, p := range h.plugins {
		if p.OnEvent == nil {
			continue
		}
		other, err := guard(p, func() (*event.Event, error) { return p.OnEvent(ctx.toolContext(&ev.Actions), ev) })
		if err != nil {
			return err
		}
		if other != nil && other != ev {
			replaced := *other
			replaced.ID, replaced.Author, replaced.Branch, replaced.Partial = ev.ID, ev.Author, ev.Branch, ev.Partial
			*ev = replaced
			return nil
		}
	}
	return nil
}

// onModelError asks the plugins for an answer in place of a model that
// failed. It is nil if none has one.
func (h *hooks) onModelError(tc *tool.Context, req *model.Request, failure error) (*model.Response, error) {
	for _, p := range h.plugins {
		if p.OnModelError == nil {
			continue
		}
		resp, err := guard(p, func() (*model.Response, error) { return p.OnModelError(tc, req, failure) })
		if resp != nil || err != nil {
			return resp, err
		}
	}
	return nil, nil
}

func (h *hooks) onToolError(tc *tool.Context, call *Call, failure error) (any, error) {
	for _, p := range h.plugins {
		if p.OnToolError == nil {
			continue
		}
		result, err := guard(p, func() (any, error) { return p.OnToolError(tc, call, failure) })
		if result != nil || err != nil {
			return result, err
		}
	}
	return nil, failure
}

// beforeCompaction tells the plugins that a conversation is made shorter.
func (h *hooks) beforeCompaction(tc *tool.Context, c *Compaction) error {
	return h.compacts(tc, c, func(p *Plugin) func(*tool.Context, *Compaction) error { return p.BeforeCompaction })
}

func (h *hooks) afterCompaction(tc *tool.Context, c *Compaction) error {
	return h.compacts(tc, c, func(p *Plugin) func(*tool.Context, *Compaction) error { return p.AfterCompaction })
}

// compacts calls a hook of every plugin that has it.
func (h *hooks) compacts(tc *tool.Context, c *Compaction, which func(*Plugin) func(*tool.Context, *Compaction) error) error {
	for _, p := range h.plugins {
		hook := which(p)
		if hook == nil {
			continue
		}
		if _, err := guard(p, func() (any, error) { return nil, hook(tc, c) }); err != nil {
			return err
		}
	}
	return nil
}

func guard[T any](p *Plugin, hook func() (T, error)) (value T, err error) {
	defer agentrt.Recover(&err, "plugin", p.Name)
	if value, err = hook(); err != nil {
		err = fmt.Errorf("plugin %s: %w", p.Name, err)
	}
	return value, err
}

// receivesMessages reports whether a plugin of the tree has OnUserMessage.
func (a *Agent) receivesMessages() bool {
	return slices.ContainsFunc(a.hooks.all(), func(p *Plugin) bool { return p.OnUserMessage != nil })
}

// receive passes a new message to the plugins of the tree. It returns the message
// to store in its place, and the changes of the state to store with it.
func (inv *invocation) receive(ctx context.Context, root *Agent) (*event.Content, *event.Actions, error) {
	actions := &event.Actions{}
	c := &Context{Context: ctx, inv: inv}
	tc := c.enter(root).toolContext(actions)
	for _, p := range root.hooks.all() {
		if p.OnUserMessage == nil {
			continue
		}
		other, err := guard(p, func() (*event.Content, error) { return p.OnUserMessage(tc, inv.UserContent) })
		if err != nil {
			return nil, nil, err
		}
		if other != nil {
			return other, actions, nil
		}
	}
	return inv.UserContent, actions, nil
}
