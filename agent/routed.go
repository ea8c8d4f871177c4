package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/tool"
)

// Route returns the name of the sub-agent that handles a message. failed is nil
// at first. When the chosen agent fails before it has emitted anything, Route
// is called again with the failure; an empty name then ends the agent with that
// failure.
type Route func(ctx *tool.Context, failed *RouteFailure) (string, error)

// RouteFailure says why Route is called again.
type RouteFailure struct {
	Names []string // of the sub-agents that have failed
	Err   error    // the latest failure
}

// NewRouted returns an agent that runs one of its sub-agents, which route
// chooses for every message.
func NewRouted(cfg Config, route Route) (*Agent, error) {
	if route == nil {
		return nil, fmt.Errorf("new agent %s: it has no route", cfg.Name)
	}
	return build(cfg, agentrt.KindRouted, func(ctx *Context, emit Emit) error { return ctx.agent.routed(ctx, emit, route) })
}

func (a *Agent) routed(ctx *Context, emit Emit, route Route) error {
	var failed *RouteFailure
	for {
		sub, err := a.choose(ctx, route, failed)
		if sub == nil {
			if r, ok := errors.AsType[*refusal](err); ok {
				return emit(r.event)
			}
			return err
		}
		if failed != nil {
			if r, ok := errors.AsType[*refusal](failed.Err); ok {
				ctx.inv.unseen(r.event.ModelVersion, r.event.Usage)
			}
		}
		spoke := &atomic.Bool{}
		within := ctx
		if sub.llm != nil && ctx.resume == nil {
			within = ctx.with(func(c *Context) { c.spoke = spoke })
		}
		err = sub.Run(within, func(ev *event.Event) error {
			spoke.Store(true)
			return emit(ev)
		})
		// Only the agent that waits can take the answer of the user.
		if err == nil || spoke.Load() || ctx.resume != nil || errors.Is(err, ErrWaiting) || errors.Is(err, ErrCannotResume) || ctx.Err() != nil {
			return err
		}
		if failed == nil {
			failed = &RouteFailure{}
		}
		failed.Names, failed.Err = append(slices.Clip(failed.Names), sub.name), err
	}
}

// refusal is that of the model of a chosen agent which has emitted nothing yet.
// Its event is emitted if no other agent is chosen.
type refusal struct {
	error

	event *event.Event
}

func (r *refusal) Unwrap() error { return r.error }

// choose returns the sub-agent that waits for an answer, or that ran before
// another process continued the run, or that route returns. It is nil, with the
// failure so far, if route returns none.
func (a *Agent) choose(ctx *Context, route Route, failed *RouteFailure) (*Agent, error) {
	known := ""
	if ctx.resume != nil {
		known = ctx.resume.Agent
	} else if m := ctx.inv.past.next(ctx); m != nil {
		known = m.Author
	}
	if i := a.childWith(known); known != "" && i >= 0 {
		return a.subAgents[i], nil
	}
	name, err := a.ask(ctx, route, failed)
	switch {
	case err != nil:
		return nil, fmt.Errorf("route of agent %s: %w", a.name, err)
	case name == "" && failed != nil:
		return nil, failed.Err
	}
	for _, sub := range a.subAgents {
		if sub.name == name {
			return sub, nil
		}
	}
	names := make([]string, len(a.subAgents))
	for i, sub := range a.subAgents {
		names[i] = sub.name
	}
	return nil, fmt.Errorf("route of agent %s: there is no sub-agent %q; there are: %s", a.name, name, strings.Join(names, ", "))
}

func (a *Agent) ask(ctx *Context, route Route, failed *RouteFailure) (name string, err error) {
	defer agentrt.Recover(&err, "route of agent", a.name)
	return route(ctx.toolContext(&event.Actions{}), failed)
}
