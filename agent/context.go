package agent

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/tool"
)

// Log is the session as the agents of a run see it: what was said, and the
// state. It grows with what the run emits. It is safe for concurrent use.
type Log interface {
	tool.Lookup
	// Len is the number of events.
	Len() int
	// At is the event at a place, 0 being the oldest. It must not be changed.
	At(i int) *event.Event
}

// Invocation is one run of an agent tree.
type Invocation struct {
	App, User, Session string
	ID                 string
	UserContent        *event.Content
	// Stream asks models for pieces.
	Stream bool
	Log    Log
	// MaxModelCalls ends a run that does not come to an end by itself.
	MaxModelCalls int64
	// Budget says, before each model call, why the run may make no more; nil
	// when it may. It may be nil itself.
	Budget func() *Failure
	// Unseen hears what model calls have used whose answers are not emitted:
	// those of agents that are used as tools, and refusals in whose place there
	// was an answer. It may be nil.
	Unseen func(*event.Usage)
	// Resume says where to go on; nil for a new message.
	Resume *Resume
	// Takeover means that somebody else began the run and died. Log holds what
	// the run has said so far, by its ID, from the user's message on.
	Takeover bool
	// Journal is the run's, nil when nobody could take it over.
	Journal Journal
	// Credentials are the logins of the user, nil when there are none.
	Credentials tool.Credentials
	// CredentialCall is the name of the call with which the user is asked to
	// log in; empty for the constant of that name.
	CredentialCall string
	// Artifacts are the files of the session and of its user, nil if there can
	// be none.
	Artifacts tool.Artifacts
	// Memory is what was said in earlier sessions, nil if there is none.
	Memory tool.Memory
	// Secrets keeps what tools get to see, and nobody else, out of what they
	// say; nil where nothing is secret.
	Secrets tool.Secrets
	// Observer hears what the agents do; nil if nobody wants to know.
	Observer Observer

	ended atomic.Bool   // no agent begins anything any more
	calls atomic.Int64  // of models, unless spent is another run's
	spent *atomic.Int64 // model calls, shared with agents that are tools
	past  *past         // nil unless the run was taken over
	hooks *hooks        // of the plugins
	ids   *callIDs      // shared like spent
	outer *Invocation   // the run that this one is a tool of, if it is one
}

// Resume names the agent that waited for the answer which starts a run, and
// the run in which it began to wait.
type Resume struct {
	Agent, InvocationID string
	// Others waited in parallel branches of the same run, for answers that came
	// together with the first.
	Others []string
}

// names reports whether the agent of that name is one of those that waited.
func (r *Resume) names(name string) bool { return r.Agent == name || slices.Contains(r.Others, name) }

// below reports whether one of those that waited is in the tree of a.
func (r *Resume) below(a *Agent) bool {
	return a.Find(r.Agent) != nil || slices.ContainsFunc(r.Others, func(name string) bool { return a.Find(name) != nil })
}

// Start runs the tree below root: in the agent that waited for an answer, or in
// the one that the conversation was last handed to, or in root. A run that is
// taken over goes the same way again, up to where it had come.
func (inv *Invocation) Start(ctx context.Context, root *Agent, emit Emit) error {
	if inv.spent == nil {
		inv.spent = &inv.calls
	}
	if inv.ids == nil {
		inv.ids = &callIDs{}
	}
	if inv.hooks == nil {
		if inv.hooks = root.hooks; inv.hooks == nil {
			inv.hooks = noHooks
		}
	}
	c := &Context{Context: ctx, inv: inv, last: true, resume: inv.Resume}
	emit = inv.hooks.watch(c, root, emit)
	before := inv.Log.Len()
	if inv.Takeover {
		inv.past, before = inv.recall()
		inv.spent.Add(inv.past.modelCalls())
		emit = inv.past.without(emit)
	}
	first := root
	if inv.Resume == nil {
		first = root.speaker(inv.Log, before)
	}
	return inv.hooks.run(c, root, first, emit)
}

func (inv *Invocation) unseen(u *event.Usage) {
	if u != nil && inv.Unseen != nil {
		inv.Unseen(u)
	}
}

// speaker is the agent that answers the next message: the one that spoke last
// in the first n events, or was handed the conversation last, if every agent above
// it lets the conversation stay there. Events without content are not spoken: they
// tell how a run came to its end, or only change the state. Nor is the end of a
// wait, which may come while the user talks with somebody else.
func (a *Agent) speaker(log Log, n int) *Agent {
	for i := n - 1; i >= 0; i-- {
		ev := log.At(i)
		if ev.Author == event.User || ev.Branch != "" || ev.Content == nil || lapses(ev) {
			continue
		}
		last := a.Find(ev.Actions.TransferToAgent)
		if last == nil {
			last = a.Find(ev.Author)
		}
		if last == nil {
			continue
		}
		for one := last; one != a; one = one.parent {
			if one.llm == nil || one.llm.cfg.DisallowTransferToParent || one.parent.llm == nil {
				return a
			}
		}
		return last
	}
	return a
}

// lapses reports whether ev answers calls that nobody has answered in time.
func lapses(ev *event.Event) bool {
	return slices.ContainsFunc(ev.FunctionResponses(), func(r *event.FunctionResponse) bool { return string(r.Response) == Expired })
}

// Context is what an agent sees of the run that it works in.
type Context struct {
	context.Context

	inv    *Invocation
	agent  *Agent
	branch string
	last   bool // no enclosing workflow agent can run after this one
	resume *Resume
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

// Log is the session, including what this run has emitted so far.
func (c *Context) Log() Log { return c.inv.Log }

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

// WithCancel is c with another lifetime, which must be within that of c.
func (c *Context) WithCancel(ctx context.Context) *Context {
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
		State: tool.NewState(c.inv.Log, actions).Opening(c.Context, c.inv.Secrets), Actions: actions, Credentials: c.inv.Credentials,
		Artifacts: c.inv.Artifacts, Memory: c.inv.Memory,
	}
}

// contextKey leads from a tool's context, which is within an agent's, back to it.
type contextKey struct{}

// Value finds what the context carries. It is for contexts that are made of c.
func (c *Context) Value(key any) any {
	if key == (contextKey{}) {
		return c
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
func (c *Context) spend() *Failure {
	if most := c.inv.MaxModelCalls; c.inv.spent.Add(1) > most && most > 0 {
		return &Failure{Code: maxModelCalls, Message: fmt.Sprintf("The run was ended because it made %d model calls without coming to an end.", most)}
	}
	if c.inv.Budget == nil {
		return nil
	}
	return c.inv.Budget()
}

// open are the long-running calls of an invocation that still have no final
// answer, with the names of the agents that made them.
func open(log Log, invocationID string) map[string]string {
	calls := map[string]string{}
	answered := map[string]bool{}
	for i := log.Len() - 1; i >= 0; i-- {
		ev := log.At(i)
		for _, r := range ev.FunctionResponses() {
			if ev.Author == event.User && !r.Interim() || ev.ErrorCode != "" || Closed(r) {
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

// Recover turns a panic into an error of type *Panic, which names what
// panicked. It is for defer.
func Recover(err *error, what, name string) {
	if v := recover(); v != nil {
		*err = &Panic{Where: strings.TrimSpace(what + " " + name), Value: v, Stack: debug.Stack()}
	}
}

func (p *Panic) String() string { return fmt.Sprintf("%s panicked: %v\n%s", p.Where, p.Value, p.Stack) }
