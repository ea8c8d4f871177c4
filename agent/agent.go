// Package agent defines agents: agents driven by a language model (NewLLM),
// agents that run graphs of functions, tools and other agents (package workflow)
// or other agents (NewSequential, NewParallel, NewLoop, NewRouted), and agents
// written in Go (New).
//
// An agent works by emitting events. Its parent receives them, and the server
// appends what the root emits to the session's log. Emit returns after that, so
// an agent can rely on what it has emitted. An agent does not change after it
// has become part of a tree, and any number of runs may use it at the same
// time.
//
// Another process can continue a run when its own has died: tool.Effect decides
// whether it repeats the calls that had begun.
package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/workflowrt"
	"github.com/parley-run/parley/tool"
)

// Emit takes an event. It fails when the run is over; the agent must then
// return the error. It may be called from several goroutines.
type Emit func(*event.Event) error

// ErrWaiting is returned by an agent that cannot continue before a client
// answers a function call. The run ends; the answer starts another one, which
// resumes in the agent that waits.
var ErrWaiting = errors.New("the agent waits for an answer from outside")

// ErrCannotResume is returned when another process continues a run inside of an
// agent made by New: it cannot know how far the function had come. It is also
// returned if the agents, as they are now, cannot have written the log.
var ErrCannotResume = errors.New("the agent cannot resume a run of another process")

// Callback runs before or after an agent. A content that it returns is emitted
// as the agent's; before the agent, it replaces the agent's work.
type Callback func(ctx *tool.Context) (*event.Content, error)

// Agent is one agent and, through its sub-agents, a tree of them.
type Agent struct {
	name        string
	description string
	kind        string // agentrt.KindLLM, for example
	parent      *Agent
	subAgents   []*Agent
	before      []Callback
	after       []Callback
	body        func(*Context, Emit) error
	llm         *llm              // nil unless kind is agentrt.KindLLM
	graph       *workflowrt.Graph // nil unless kind is agentrt.KindWorkflow
	remote      *remote           // nil unless kind is agentrt.KindRemote
	hooks       *hooks            // of the plugins, at the root of a tree

	credentialCall string // at the root of a tree, see WithCredentialCall
}

// Config has what agents of every kind need.
type Config struct {
	Name        string
	Description string // tells other agents what this one is for
	SubAgents   []*Agent
	BeforeAgent []Callback
	AfterAgent  []Callback
}

// New returns an agent made of a function. The function calls sub-agents with
// their Run method, and may change or drop what they emit.
func New(cfg Config, run func(ctx *Context, emit Emit) error) (*Agent, error) {
	return build(cfg, agentrt.KindCustom, run)
}

func build(cfg Config, kind string, body func(*Context, Emit) error) (*Agent, error) {
	if !workflowrt.ValidName(cfg.Name) || cfg.Name == event.User {
		return nil, fmt.Errorf("new agent: %q is not a valid name: use letters, digits, _ and -, start with a letter, and do not use %q", cfg.Name, event.User)
	}
	a := &Agent{
		name: cfg.Name, description: cfg.Description, kind: kind, body: body,
		subAgents: slices.Clone(cfg.SubAgents), before: cfg.BeforeAgent, after: cfg.AfterAgent,
	}
	seen := map[string]bool{a.name: true}
	for _, sub := range a.subAgents {
		if sub == nil {
			return nil, fmt.Errorf("new agent %s: a sub-agent is nil", a.name)
		}
		if sub.parent != nil {
			return nil, fmt.Errorf("new agent %s: %s is already a sub-agent of %s; an agent has one parent", a.name, sub.name, sub.parent.name)
		}
		for one := range sub.all() {
			// Nodes of different workflows may be made of agents of one name: their
			// paths differ.
			if seen[one.name] && (one.name == a.name || kind != agentrt.KindWorkflow && !one.inNode()) {
				return nil, fmt.Errorf("new agent %s: two agents are called %s", a.name, one.name)
			}
			seen[one.name] = true
		}
	}
	for _, sub := range a.subAgents {
		sub.parent = a
	}
	return a, nil
}

// inNode reports whether the agent is part of a workflow.
func (a *Agent) inNode() bool {
	for p := a.parent; p != nil; p = p.parent {
		if p.kind == agentrt.KindWorkflow {
			return true
		}
	}
	return false
}

// Must returns a, and panics if err is not nil. It is for agents that a program
// makes when it starts.
func Must(a *Agent, err error) *Agent {
	if err != nil {
		panic(err)
	}
	return a
}

// clone copies the tree below a. Bodies find their agent in the context, so
// copies can share them. An agent with a model has a body of its own: what it
// prepares on the first run depends on the tree.
func (a *Agent) clone() *Agent {
	c := *a
	c.parent = nil
	if a.llm != nil {
		c.llm = &llm{cfg: a.llm.cfg, instruction: a.llm.instruction, coder: a.llm.coder, finish: a.llm.finish}
		c.body = c.llm.run
	}
	c.subAgents = make([]*Agent, len(a.subAgents))
	for i, sub := range a.subAgents {
		c.subAgents[i] = sub.clone()
		c.subAgents[i].parent = &c
	}
	return &c
}

// Name returns the name. It identifies the agent in its tree, and is the author
// of its events.
func (a *Agent) Name() string { return a.name }

// Description tells other agents what this one is for.
func (a *Agent) Description() string { return a.description }

func (engine) InputSchema(root agentrt.Agent) json.RawMessage {
	a := root.(*Agent)
	if a.llm == nil {
		return nil
	}
	return a.llm.cfg.InputSchema
}

// Kind returns the kind of the agent, by its name in the Agent Development Kit: LlmAgent,
// SequentialAgent, ParallelAgent, LoopAgent, RoutedAgent, BaseAgent for one that is
// made of a function, Workflow, or RemoteA2AAgent.
func (a *Agent) Kind() string { return a.kind }

// SubAgents returns the agents directly below this one.
func (a *Agent) SubAgents() []*Agent { return slices.Clone(a.subAgents) }

// Parent returns the agent above this one, nil at the root.
func (a *Agent) Parent() *Agent { return a.parent }

// Find returns the agent of that name in the tree that begins with a, or nil.
func (a *Agent) Find(name string) *Agent {
	for one := range a.all() {
		if one.name == name {
			return one
		}
	}
	return nil
}

// all walks the tree, parents first.
func (a *Agent) all() func(yield func(*Agent) bool) {
	return func(yield func(*Agent) bool) { a.walk(yield) }
}

func (a *Agent) walk(yield func(*Agent) bool) bool {
	if !yield(a) {
		return false
	}
	for _, sub := range a.subAgents {
		if !sub.walk(yield) {
			return false
		}
	}
	return true
}

func (a *Agent) root() *Agent {
	for a.parent != nil {
		a = a.parent
	}
	return a
}

// childWith returns the index of the sub-agent whose tree has the named agent,
// or -1.
func (a *Agent) childWith(name string) int {
	return slices.IndexFunc(a.subAgents, func(sub *Agent) bool { return sub.Find(name) != nil })
}

// Run runs the agent. It returns nil when the agent is done, and ErrWaiting
// when the agent waits for an answer.
func (a *Agent) Run(ctx *Context, emit Emit) error {
	ctx = ctx.enter(a)
	if err := ctx.Err(); err != nil {
		return err
	}
	if ctx.inv.ended.Load() {
		return nil
	}
	signed := func(ev *event.Event) error {
		if ev.Author == "" {
			ev.Author = a.name
		}
		if ev.Branch == "" {
			ev.Branch = ctx.branch
		}
		return emit(ev)
	}
	if ctx.resume != nil && !ctx.resume.Names(a.name) && !a.workflow() {
		// What is above the waiting agent has handed over to it for good.
		if i := a.waitingChild(ctx.resume); i >= 0 {
			return a.subAgents[i].Run(ctx, emit)
		}
	}
	if !ctx.inv.watches(agentrt.StepAgent) {
		return a.work(ctx, signed)
	}
	step := newStep(agentrt.StepAgent)
	err := a.work(ctx.begin(step), signed)
	step.done(err)
	step.close("")
	return err
}

// work runs the agent between its callbacks.
func (a *Agent) work(ctx *Context, signed Emit) error {
	if a.kind == agentrt.KindCustom {
		if done, err := ctx.pass(signed); done || err != nil {
			return err
		}
	}
	if ctx.resume == nil {
		done, err := ctx.callback(before(ctx.inv.hooks.beforeAgent, a.before), "callback before agent", signed)
		if done || err != nil {
			return err
		}
	}
	var calls *asked
	if a.kind == agentrt.KindCustom || a.kind == agentrt.KindRemote {
		calls = &asked{}
		signed = calls.watch(signed)
	}
	if err := a.guarded(ctx, signed); err != nil {
		return err
	}
	if calls != nil && calls.open() {
		return ErrWaiting
	}
	_, err := ctx.callback(before(ctx.inv.hooks.afterAgent, a.after), "callback after agent", signed)
	return err
}

func (a *Agent) workflow() bool {
	return a.kind == agentrt.KindSequential || a.kind == agentrt.KindParallel || a.kind == agentrt.KindLoop || a.kind == agentrt.KindRouted || a.kind == agentrt.KindWorkflow
}

// guarded runs the body so that a panic in it ends this run and no other.
func (a *Agent) guarded(ctx *Context, emit Emit) (err error) {
	defer agentrt.Recover(&err, "agent", a.name)
	return a.body(ctx, emit)
}

// callback runs callbacks until one returns a content, and emits that. What
// they did to the state goes with it, or in an event of its own.
func (c *Context) callback(callbacks []Callback, when string, emit Emit) (done bool, err error) {
	if len(callbacks) == 0 {
		return false, nil
	}
	if run, done, err := c.replayCallbacks(when, emit); run || err != nil {
		return done, err
	}
	defer agentrt.Recover(&err, when, c.agent.name)
	var actions event.Actions
	tc := c.toolContext(&actions)
	for _, cb := range callbacks {
		content, err := cb(tc)
		if err != nil {
			return false, fmt.Errorf("%s %s: %w", when, c.agent.name, err)
		}
		if content != nil {
			if content.Role == "" {
				content.Role = event.RoleModel
			}
			ev := &event.Event{Content: content, Actions: actions, TurnComplete: c.last}
			c.noteCallback(when)
			return true, emit(ev)
		}
	}
	if !actions.Empty() {
		c.noteCallback(when)
		return false, emit(&event.Event{Actions: actions})
	}
	c.noteCallback("")
	return false, nil
}
