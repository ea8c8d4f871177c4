package agent

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/workflowrt"
)

// engine is this package as the server uses it.
type engine struct{}

func init() {
	agentrt.Register(engine{})
	workflowrt.RegisterEngine(engine{})
}

func (engine) NewWorkflow(cfg *workflowrt.Config) (agentrt.Agent, error) {
	c := Config{Name: cfg.Name, Description: cfg.Description}
	for _, sub := range cfg.Agents {
		c.SubAgents = append(c.SubAgents, sub.(*Agent))
	}
	for _, cb := range cfg.BeforeAgent {
		c.BeforeAgent = append(c.BeforeAgent, cb)
	}
	for _, cb := range cfg.AfterAgent {
		c.AfterAgent = append(c.AfterAgent, cb)
	}
	a, err := build(c, agentrt.KindWorkflow, func(ctx *Context, emit Emit) error { return runGraph(cfg.Graph, ctx, emit) })
	if err != nil {
		return nil, err
	}
	a.graph = cfg.Graph
	return a, nil
}

func (engine) Graph(a agentrt.Agent) *workflowrt.Graph { return a.(*Agent).graph }

func (engine) Start(ctx context.Context, inv *agentrt.Invocation, root agentrt.Agent, emit func(*event.Event) error) error {
	return (&invocation{Invocation: inv}).start(ctx, root.(*Agent), emit)
}

func (engine) Offers(ctx context.Context, inv *agentrt.Invocation, root agentrt.Agent) []agentrt.Offer {
	return (&invocation{Invocation: inv}).offers(ctx, root.(*Agent))
}

func (engine) Receive(ctx context.Context, inv *agentrt.Invocation, root agentrt.Agent) (*event.Content, *event.Actions, error) {
	return (&invocation{Invocation: inv}).receive(ctx, root.(*Agent))
}

func (engine) ReceivesMessages(root agentrt.Agent) bool { return root.(*Agent).receivesMessages() }

func (engine) IsReserved(call string) bool { return isReserved(call) }

func (engine) OnlyModels(root agentrt.Agent) bool { return root.(*Agent).onlyModels() }

func (engine) CredentialCall(root agentrt.Agent) string { return root.(*Agent).credentialCall }

// invocation is one run of an agent tree, with what the agents of the run share.
type invocation struct {
	*agentrt.Invocation

	ended  atomic.Bool   // no agent begins anything any more
	calls  atomic.Int64  // of models, unless spent is another run's
	spent  *atomic.Int64 // model calls, shared with agents that are tools
	past   *past         // nil unless the run was taken over
	hooks  *hooks        // of the plugins
	ids    *callIDs      // shared like spent
	ownIDs callIDs       // ids of an invocation that is not inside of another
	outer  *invocation   // the run that this one is a tool of, if it is one
	call   string        // the call of that tool

	remotesMu sync.Mutex
	remotes   map[string]int // how often remote agents have run

	workflows atomic.Pointer[workflowLog] // see workflowLog; nil while there is none

	before int // how many events there were when the run began

	top Context // what the contexts of the agents are derived from

	single bool // the run calls one tool and asks no model; see makeCall

	direct bool // answers of models become events as they are; false if there are no edges
}

// onlyModels implements agentrt.OnlyModels. Code that an agent runs itself, and that of
// callbacks and plugins, is not called like a tool.
func (a *Agent) onlyModels() bool {
	if len(a.before)+len(a.after)+len(a.hooks.all()) > 0 {
		return false
	}
	switch a.kind {
	case agentrt.KindLLM:
		if a.llm.coder != nil || len(a.llm.cfg.BeforeModel)+len(a.llm.cfg.AfterModel) > 0 {
			return false
		}
	case agentrt.KindSequential, agentrt.KindParallel, agentrt.KindLoop:
	default:
		return false
	}
	for _, sub := range a.subAgents {
		if !sub.onlyModels() {
			return false
		}
	}
	return true
}

// waitingChild is the index of the first sub-agent whose tree has an agent that
// waited, or -1.
func (a *Agent) waitingChild(r *agentrt.Resume) int {
	return slices.IndexFunc(a.subAgents, func(sub *Agent) bool { return sub.hasWaiting(r) })
}

// hasWaiting reports whether one of the agents that waited is in the tree of a.
func (a *Agent) hasWaiting(r *agentrt.Resume) bool {
	return a.Find(r.Agent) != nil || slices.ContainsFunc(r.Others, func(name string) bool { return a.Find(name) != nil })
}

// start implements agentrt.Invocation.Start.
func (inv *invocation) start(ctx context.Context, root *Agent, emit Emit) error {
	if inv.spent == nil {
		inv.spent = &inv.calls
	}
	if inv.ids == nil {
		inv.ids = &inv.ownIDs
	}
	if inv.hooks == nil {
		if inv.hooks = root.hooks; inv.hooks == nil {
			inv.hooks = noHooks
		}
	}
	inv.direct = inv.Edges != nil && inv.outer == nil && root.onlyModels()
	c := &inv.top
	*c = Context{Context: ctx, inv: inv, last: true, resume: inv.Resume}
	emit = inv.hooks.watch(c, root, emit)
	before := inv.Log.Len()
	if inv.Takeover {
		inv.past, before = inv.recall()
		inv.spent.Add(inv.past.modelCalls(root))
		emit = inv.past.without(emit)
	}
	inv.before = before
	first := root
	switch {
	case inv.Call != nil && inv.Resume == nil:
		var err error
		if first, err = inv.callee(root); err != nil {
			return err
		}
		inv.single = true
	case inv.Resume == nil:
		first = root.speaker(inv.Log, before)
	case inv.resumesSingle():
		if a := root.Find(inv.Resume.Agent); a != nil && a.llm != nil {
			first, inv.single = a, true // what is above the agent does not go on
		}
	}
	return inv.hooks.run(c, root, first, emit)
}

// begins returns the place of the first event of the run, which may have been stored
// before the agents began. Events of a private log have no invocation id.
func (inv *invocation) begins() int {
	first := inv.before
	for ; first > 0; first-- {
		if id := inv.Log.At(first - 1).InvocationID; id != inv.ID && id != "" {
			break
		}
	}
	return first
}

func (inv *invocation) unseen(version string, u *event.Usage) {
	if u != nil && inv.Unseen != nil {
		inv.Unseen(version, u)
	}
}

// speaker returns the agent that answers the next message: the one that emitted
// the last content in the first n events, or to which the conversation was
// transferred last, if every agent above it allows that the conversation stays
// there. Events without content do not count: they tell how a run ended, or
// only change the state. Neither does the expiry of a wait, which may come
// while the user talks with another agent. Nor do calls that a client has made.
func (a *Agent) speaker(log agentrt.Log, n int) *Agent {
	if a.llm == nil {
		return a // the conversation stays with none of its sub-agents
	}
	for i := n - 1; i >= 0; i-- {
		ev := log.At(i)
		if ev.Author == event.User || ev.Branch != "" || ev.Content == nil || expires(ev) || ofSingle(log, i) {
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

// expires reports whether ev answers calls that were not answered in time.
func expires(ev *event.Event) bool {
	return slices.ContainsFunc(ev.FunctionResponses(), func(r *event.FunctionResponse) bool { return string(r.Response) == agentrt.Expired })
}
