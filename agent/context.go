package agent

import (
	"context"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/tool"
)

// Context is what an agent sees of the run that it works in.
type Context struct {
	context.Context

	inv    *invocation
	agent  *Agent
	branch string
	last   bool // no enclosing workflow agent can run after this one
	resume *agentrt.Resume
	box    *toolbox // of the agent; nil until its toolsets were asked, if it has some
	// spoke is whether the agent has said something, when a route has chosen it.
	spoke *atomic.Bool
	// decisions are about the calls that are made again, by id.
	decisions map[string]*tool.Confirmation
	// lifts are the conversations that such calls take up, by id.
	lifts map[string]*lifted
}

// App is the name of the application.
func (c *Context) App() string { return c.inv.App }

// User is the user's identifier.
func (c *Context) User() string { return c.inv.User }

// Session is the session's identifier.
func (c *Context) Session() string { return c.inv.Session }

// InvocationID identifies the run.
func (c *Context) InvocationID() string { return c.inv.ID }

// UserContent is the message that started the run.
func (c *Context) UserContent() *event.Content { return c.inv.UserContent }

// Agent is the agent at work.
func (c *Context) Agent() *Agent { return c.agent }

// Branch is the path of the parallel branch, empty outside of one.
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

// Artifacts are the files of the session and of its user, nil if there can be
// none.
func (c *Context) Artifacts() tool.Artifacts { return c.inv.Artifacts }

// Memory is what was said in earlier sessions, nil if there is none.
func (c *Context) Memory() tool.Memory { return c.inv.Memory }

// enter is the context of an agent that is run from c.
func (c *Context) enter(a *Agent) *Context {
	sub := *c
	// A custom agent may speak after its children, so none of them is last.
	sub.last = c.last && (c.agent == nil || c.agent.kind != KindCustom)
	sub.agent, sub.box = a, nil
	if l := a.llm; l != nil && len(l.cfg.Toolsets) == 0 {
		sub.box = l.prepared(a)
	}
	return &sub
}

// EndInvocation ends the run when the agent returns: no other agent of it
// begins, and models are not asked again.
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

// toolContext is what callbacks and tools get; their changes go to actions.
func (c *Context) toolContext(actions *event.Actions) *tool.Context {
	return &tool.Context{
		Context: c,
		App:     c.inv.App, User: c.inv.User, Session: c.inv.Session,
		InvocationID: c.inv.ID, Agent: c.agent.name, UserContent: c.inv.UserContent,
		State: agentrt.NewState(c.Context, c.inv.Log, c.inv.Secrets, actions), Actions: actions, Credentials: c.inv.Credentials,
		Artifacts: c.inv.Artifacts, Memory: c.inv.Memory,
	}
}

// contextKey leads from a tool's context, which is within an agent's, back to it.
type contextKey struct{}

// Value finds what the context carries. It is for contexts that are made of c.
func (c *Context) Value(key any) any {
	switch key {
	case contextKey{}:
		return c
	case agentrt.Key{}:
		return c.inv.Invocation
	}
	return c.Context.Value(key)
}

// FromTool is the context of the agent on whose behalf a tool or a callback
// runs, for those that run agents themselves. It is nil outside of a run.
func FromTool(tc *tool.Context) *Context {
	c, _ := tc.Value(contextKey{}).(*Context)
	return c
}

// spend counts a model call against the limits of the run, and returns which one
// forbids it.
func (c *Context) spend() *agentrt.Failure {
	if most := c.inv.MaxModelCalls; c.inv.spent.Add(1) > most && most > 0 {
		return &agentrt.Failure{Code: maxModelCalls, Message: fmt.Sprintf("The run was ended because it made %d model calls without coming to an end.", most)}
	}
	if c.inv.Budget == nil {
		return nil
	}
	return c.inv.Budget()
}

// open are the long-running calls of an invocation that still have no final
// answer, with the names of the agents that made them.
func open(log agentrt.Log, invocationID string) map[string]string {
	calls := map[string]string{}
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
				calls[id] = ev.Author
			}
		}
	}
	return calls
}
