package agent

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/modelname"
	"github.com/parley-run/parley/tool"
)

// Context describes the run to an agent.
type Context struct {
	context.Context

	inv    *invocation
	agent  *Agent
	branch string
	last   bool // no enclosing workflow agent can run after this one
	resume *agentrt.Resume
	node   *nodeRun // the run of the node that the agent works in; nil outside of workflows
	box    *toolbox // of the agent; nil until its toolsets were asked, if it has some
	// spoke is whether the agent has said something, when a route has chosen it.
	spoke *atomic.Bool
	// executions are those of code by the agent; nil if it runs none.
	executions *executions
	// decisions are about the calls that are made again, by id.
	decisions map[string]*tool.Confirmation
	// lifts are the conversations that such calls take up, by id.
	lifts map[string]*lifted
}

// App returns the name of the application.
func (c *Context) App() string { return c.inv.App }

// User returns the identifier of the user.
func (c *Context) User() string { return c.inv.User }

// Session returns the identifier of the session.
func (c *Context) Session() string { return c.inv.Session }

// InvocationID returns the identifier of the run.
func (c *Context) InvocationID() string { return c.inv.ID }

// UserContent returns the message that started the run.
func (c *Context) UserContent() *event.Content { return c.inv.UserContent }

// Agent returns the agent that runs.
func (c *Context) Agent() *Agent { return c.agent }

// Branch returns the path of the parallel branch, empty outside of one.
func (c *Context) Branch() string { return c.branch }

// Events iterates over the events of the session, oldest first, including those
// that this run has emitted so far. They must not be changed.
func (c *Context) Events() iter.Seq[*event.Event] {
	return func(yield func(*event.Event) bool) {
		for i := range c.inv.Log.Len() {
			if !yield(c.inv.Log.At(i)) {
				return
			}
		}
	}
}

// State reads the state of the session. To change it, emit an event with
// Actions.StateDelta.
func (c *Context) State() tool.Lookup { return c.inv.Log }

// Artifacts returns the files of the session and of its user, nil if there is
// no store for them.
func (c *Context) Artifacts() tool.Artifacts { return c.inv.Artifacts }

// Memory searches earlier sessions of the user; it is nil if there is none.
func (c *Context) Memory() tool.Memory { return c.inv.Memory }

// enter returns the context of an agent that is run from c.
func (c *Context) enter(a *Agent) *Context {
	sub := *c
	// A custom agent may speak after its children, so none of them is last.
	sub.last = c.last && (c.agent == nil || c.agent.kind != agentrt.KindCustom)
	sub.agent, sub.box, sub.executions = a, nil, nil
	if l := a.llm; l != nil && len(l.cfg.Toolsets) == 0 {
		sub.box = l.prepared(a)
	}
	return &sub
}

// EndInvocation ends the run when the agent returns: no other agent of the run
// begins, and no model is called again.
func (c *Context) EndInvocation() { c.inv.ended.Store(true) }

// WithContext returns c with the deadline, the cancellation and the values of
// ctx, which must be derived from c.
func (c *Context) WithContext(ctx context.Context) *Context {
	return c.with(func(sub *Context) { sub.Context = ctx })
}

func (c *Context) with(change func(*Context)) *Context {
	sub := *c
	change(&sub)
	return &sub
}

// toolContext returns the context of callbacks and tools, whose changes go to
// actions.
func (c *Context) toolContext(actions *event.Actions) *tool.Context {
	made := &struct { // one allocation; see BenchmarkRun in package bench
		tool.Context
		state agentrt.State
	}{}
	made.Context = tool.Context{
		Context: c,
		App:     c.inv.App, User: c.inv.User, Session: c.inv.Session,
		InvocationID: c.inv.ID, Agent: c.agent.name, UserContent: c.inv.UserContent,
		State: made.state.Of(c.Context, c.inv.Log, c.inv.Secrets, actions), Actions: actions, Credentials: c.inv.Credentials,
		Artifacts: c.inv.Artifacts, Memory: c.inv.Memory,
	}
	return &made.Context
}

// contextKey is the key under which the context of a tool returns that of its
// agent.
type contextKey struct{}

// Value returns the value of a key; see context.Context.
func (c *Context) Value(key any) any {
	switch key {
	case contextKey{}:
		return c
	case agentrt.Key{}:
		return c.inv.Invocation
	case modelname.Key{}:
		if c.inv.Models != nil {
			return c.inv.Models
		}
	}
	return c.Context.Value(key)
}

// FromTool returns the context of the agent that calls a tool or a callback,
// for tools and callbacks that run agents. It is nil outside of a run.
func FromTool(tc *tool.Context) *Context {
	c, _ := tc.Value(contextKey{}).(*Context)
	return c
}

// mine reports whether the agent has emitted ev, in the same run of a node.
func (c *Context) mine(ev *event.Event) bool {
	if ev.Author != c.agent.name || c.node == nil {
		return ev.Author == c.agent.name
	}
	info, ok := agentrt.NodeOf(ev)
	return ok && info.Scope() == c.node.scope
}

// ownNode is the node that is made of the agent, nil if there is none.
func (c *Context) ownNode() *nodeRun {
	if !c.node.is(c.agent) {
		return nil
	}
	return c.node
}

// spend counts a model call. It returns a failure if a limit of the run does
// not allow the call.
func (c *Context) spend() *agentrt.Failure {
	if most := c.inv.MaxModelCalls; c.inv.spent.Add(1) > most && most > 0 {
		return &agentrt.Failure{Code: maxModelCalls, Message: fmt.Sprintf("The run was ended because it made %d model calls without coming to an end.", most)}
	}
	if c.inv.Budget == nil {
		return nil
	}
	return c.inv.Budget()
}

// open returns the long-running calls of an invocation that have no final
// answer, with their events.
func open(log agentrt.Log, invocationID string) map[string]*event.Event {
	calls := map[string]*event.Event{}
	answered := map[string]bool{}
	for i := log.Len() - 1; i >= 0; i-- {
		ev := log.At(i)
		for _, r := range ev.FunctionResponses() {
			if ev.Author == event.User && !r.Interim() || ev.ErrorCode != "" || agentrt.Closed(r) {
				answered[r.ID] = true
			}
		}
		if ev.InvocationID != invocationID {
			if len(calls) > 0 && ev.Content != nil {
				break // a run's events stand together, but for patches
			}
			continue
		}
		for _, id := range ev.LongRunningToolIDs {
			if !answered[id] {
				calls[id] = ev
			}
		}
		if ev.Author == event.User && invocationID != "" {
			break // the message that began it; events of a private log have no invocation id
		}
	}
	return calls
}
