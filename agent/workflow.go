package agent

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
)

// NewSequential returns an agent that runs its sub-agents one after the other.
func NewSequential(cfg Config) (*Agent, error) {
	return build(cfg, agentrt.KindSequential, func(ctx *Context, emit Emit) error {
		return ctx.agent.inOrder(ctx, emit, true, func() bool { return false })
	})
}

// NewLoop returns an agent that runs its sub-agents one after the other,
// repeatedly, until one of them escalates or ends the run, or for maxIterations
// rounds (0: no limit). After it has waited for an answer it continues in the
// same round.
func NewLoop(cfg Config, maxIterations int) (*Agent, error) {
	return build(cfg, agentrt.KindLoop, func(ctx *Context, emit Emit) error {
		a, round := ctx.agent, 0
		if ctx.resume != nil && maxIterations > 0 {
			round = min(ctx.looped(), maxIterations-1)
		}
		var escalated atomic.Bool
		watch := func(ev *event.Event) error {
			if ev.Actions.Escalate {
				escalated.Store(true)
			}
			if maxIterations > 0 && round > 0 && len(ev.LongRunningToolIDs) > 0 && !ctx.inv.past.holds(ev) {
				noteRound(ev, a.name, round)
			}
			return emit(ev)
		}
		for ; (maxIterations <= 0 || round < maxIterations) && len(a.subAgents) > 0; round++ {
			final := round == maxIterations-1
			if err := a.inOrder(ctx, watch, final, escalated.Load); err != nil || escalated.Load() || ctx.inv.ended.Load() {
				return err
			}
			ctx = ctx.with(func(c *Context) { c.resume = nil })
		}
		return nil
	})
}

// timesLooped is the member of an event's agentState that says how many rounds
// loops had done before the one in which the event asks for something, by their
// names. Those in their first round are not there.
const timesLooped = "timesLooped"

// noteRound adds the rounds of a loop to an event for whose answer it will wait.
func noteRound(ev *event.Event, loop string, rounds int) {
	state, counts := loopsIn(ev)
	if state == nil {
		return // an agent made of a function has put something else there
	}
	counts[loop] = rounds
	state[timesLooped] = rawJSON(counts)
	extra := maps.Clone(ev.Actions.Extra)
	if extra == nil {
		extra = map[string]json.RawMessage{}
	}
	extra[agentrt.StateMember] = rawJSON(state)
	ev.Actions.Extra = extra
}

// looped is how many rounds the loop had done when it came to wait for what the
// user has just answered.
func (c *Context) looped() (rounds int) {
	for _, r := range c.inv.UserContent.FunctionResponses() {
		for i := c.inv.Log.Len() - 1; i >= 0; i-- {
			if ev := c.inv.Log.At(i); slices.Contains(ev.LongRunningToolIDs, r.ID) {
				_, counts := loopsIn(ev)
				rounds = max(rounds, counts[c.agent.name])
				break
			}
		}
	}
	return rounds
}

// loopsIn is the agentState of an event, and the rounds in it. Both are nil if
// something else is there.
func loopsIn(ev *event.Event) (state map[string]json.RawMessage, counts map[string]int) {
	state, counts = map[string]json.RawMessage{}, map[string]int{}
	if doc := ev.Actions.Extra[agentrt.StateMember]; doc != nil && json.Unmarshal(doc, &state) != nil {
		return nil, nil
	}
	if doc := state[timesLooped]; doc != nil && json.Unmarshal(doc, &counts) != nil {
		return nil, nil
	}
	if state == nil || counts == nil { // null
		return nil, nil
	}
	return state, counts
}

// inOrder runs the sub-agents, from the one that is to be resumed if there is
// one, and until stopped says so. final means that a does not run any of them
// again after the last.
func (a *Agent) inOrder(ctx *Context, emit Emit, final bool, stopped func() bool) error {
	first := 0
	if ctx.resume != nil {
		first = max(a.waitingChild(ctx.resume), 0)
	}
	for i := first; i < len(a.subAgents); i++ {
		sub := ctx.with(func(c *Context) {
			c.last = ctx.last && final && i == len(a.subAgents)-1
			if i > first {
				c.resume = nil
			}
		})
		if err := a.subAgents[i].Run(sub, emit); err != nil || stopped() {
			return err
		}
	}
	return nil
}

// NewParallel returns an agent that runs its sub-agents at the same time. Each
// has a branch of its own, and does not see the events of the others.
func NewParallel(cfg Config) (*Agent, error) {
	return build(cfg, agentrt.KindParallel, func(ctx *Context, emit Emit) error {
		if ctx.resume != nil {
			return ctx.agent.resumeBranches(ctx, emit)
		}
		return ctx.agent.together(ctx, ctx.agent.subAgents, emit)
	})
}

// together runs sub-agents at the same time, each in its branch.
func (a *Agent) together(ctx *Context, subAgents []*Agent, emit Emit) error {
	group, cancel := context.WithCancelCause(ctx.Context)
	defer cancel(nil)
	errs := make([]error, len(subAgents))
	var wg sync.WaitGroup
	for i, sub := range subAgents {
		wg.Go(func() {
			branch := a.branchOf(ctx, sub).with(func(c *Context) { c.Context = group })
			if errs[i] = sub.Run(branch, emit); errs[i] != nil && !errors.Is(errs[i], ErrWaiting) {
				cancel(errs[i])
			}
		})
	}
	wg.Wait()
	if err := context.Cause(group); err != nil {
		return err // the failure that stopped the others, not theirs
	}
	return errors.Join(errs...) // nothing but ErrWaiting is left
}

func (a *Agent) branchOf(ctx *Context, sub *Agent) *Context {
	return ctx.with(func(c *Context) {
		c.branch = joinBranch(c.branch, a.name+"."+sub.name)
		c.last = c.last && len(a.subAgents) == 1
	})
}

// resumeBranches goes on in the branches whose answers have come. Branches that
// still wait keep the whole agent waiting.
func (a *Agent) resumeBranches(ctx *Context, emit Emit) error {
	answered := slices.DeleteFunc(slices.Clone(a.subAgents), func(sub *Agent) bool { return !sub.hasWaiting(ctx.resume) })
	if len(answered) == 0 { // the application is not the same any more
		answered = a.subAgents[:min(1, len(a.subAgents))]
	}
	if err := a.together(ctx, answered, emit); err != nil {
		return err
	}
	for _, ev := range open(ctx.inv.Log, ctx.resume.InvocationID) {
		if j := a.childWith(agentrt.Waiter(ev)); j >= 0 && !slices.Contains(answered, a.subAgents[j]) {
			return ErrWaiting
		}
	}
	return nil
}

func joinBranch(outer, inner string) string {
	if outer == "" {
		return inner
	}
	return outer + "." + inner
}
