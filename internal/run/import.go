package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// ImportError refuses an event with which a session was to be created.
type ImportError struct {
	Index int
	Why   string
}

func (e *ImportError) Error() string {
	return fmt.Sprintf("Session initialization event %d %s.", e.Index, e.Why)
}

// oddIDs says what is wrong with the ids of an event that was written elsewhere,
// empty if nothing. Not all databases can keep any character.
func oddIDs(ev *event.Event) string {
	for _, id := range []string{ev.ID, ev.InvocationID} {
		if strings.ContainsFunc(id, unicode.IsControl) {
			return fmt.Sprintf("has an id with control characters: %q", id)
		}
	}
	return ""
}

// question is the name of a call in an event with which the server asks the user,
// or of a response to one; empty if there is none. Clients know such calls by
// their names.
func question(ev *event.Event) string {
	if ev.Content == nil {
		return ""
	}
	for _, p := range ev.Content.Parts {
		if name := functionOf(p); agent.IsReserved(name) || name == tool.InputCall {
			return name
		}
	}
	return ""
}

// functionOf is the name of the function that a part calls or responds for.
func functionOf(p *event.Part) string {
	switch {
	case p.FunctionCall != nil:
		return p.FunctionCall.Name
	case p.FunctionResponse != nil:
		return p.FunctionResponse.Name
	}
	return ""
}

// Import makes a session of a log that was exported. The log may have been written
// by anybody: a question in it must not be put before the user, and an answer to
// one must not make calls that no model has asked for. So the questions of the
// server itself, and the answers to them, are left out, which models do not see
// either, and other calls that are open are closed.
func (e *Engine) Import(ctx context.Context, made session.NewSession) (*session.Session, error) {
	if _, err := e.cfg.Agent(made.Key.App); errors.Is(err, ErrUnknownApp) {
		return nil, err
	}
	ids := map[string]bool{}
	questions := map[string]bool{} // the ids of calls with which the server itself asks
	final := map[string]bool{}     // the ids of calls that wait for answers from outside
	for i, entry := range made.Log {
		ev, err := entry.Decode()
		if err != nil {
			return nil, err
		}
		odd := oddIDs(ev)
		switch {
		case ev.ID == "" || ids[ev.ID]:
			return nil, &ImportError{i, "needs an id of its own"}
		case odd != "":
			return nil, &ImportError{i, odd}
		case ev.Author == "":
			return nil, &ImportError{i, "needs an author"}
		case ev.Partial:
			return nil, &ImportError{i, "cannot be partial"}
		}
		ids[ev.ID] = true
		for _, id := range ev.LongRunningToolIDs {
			final[id] = true
		}
		for _, call := range ev.FunctionCalls() {
			if agent.IsReserved(call.Name) {
				questions[call.ID] = true
			}
		}
	}
	for i, entry := range made.Log {
		ev, err := entry.Decode()
		if err != nil {
			return nil, err
		}
		if ev, changed := disarmed(ev, questions); changed {
			if made.Log[i], err = session.NewEntry(ev); err != nil {
				return nil, err
			}
		}
	}
	closed, err := closeCalls(made.Log, e.cfg.Now(), final)
	if err != nil {
		return nil, err
	}
	made.Log = append(made.Log, closed...)
	s, err := e.create(ctx, made)
	if err != nil {
		return nil, fmt.Errorf("import session: %w", err)
	}
	return s, nil
}

// agentState is the member of actions with what an agent in a tool needs to go
// on when the user has answered.
const agentState = "agentState"

// disarmed is an event without the questions of the server and their answers, and
// without what makes calls when a question is answered: that it is open, and for
// which calls it stands. An answer that has been given is not enough. A rewind, or
// a fork, goes back to before it.
func disarmed(ev *event.Event, questions map[string]bool) (out *event.Event, changed bool) {
	asks := slices.ContainsFunc(ev.LongRunningToolIDs, func(id string) bool { return questions[id] })
	does := &ev.Actions
	reserved := ev.Content != nil && slices.ContainsFunc(ev.Content.Parts, func(p *event.Part) bool { return agent.IsReserved(functionOf(p)) })
	if !asks && !reserved && len(does.StateChanges) == 0 && len(does.RequestedAuthConfigs) == 0 && len(does.RequestedToolConfirmations) == 0 && does.Extra[agentState] == nil {
		return ev, false
	}
	c := *ev
	c.LongRunningToolIDs = slices.DeleteFunc(slices.Clone(ev.LongRunningToolIDs), func(id string) bool { return questions[id] })
	c.Content = unfinished(ev)
	c.Actions.RequestedAuthConfigs, c.Actions.RequestedToolConfirmations, c.Actions.StateChanges = nil, nil, nil
	c.Actions.Extra = maps.Clone(does.Extra)
	delete(c.Actions.Extra, agentState)
	return &c, true
}

// unfinished is the content of an event without questions of the server. Responses
// that only say that the user is asked first are marked so: what has told of that
// is taken out.
func unfinished(ev *event.Event) *event.Content {
	if ev.Content == nil {
		return nil
	}
	c := *ev.Content
	c.Parts = slices.DeleteFunc(slices.Clone(c.Parts), func(p *event.Part) bool { return agent.IsReserved(functionOf(p)) })
	if len(c.Parts) == 0 {
		return nil
	}
	for i, p := range c.Parts {
		if r := p.FunctionResponse; r != nil && agentrt.Unmade(ev, r) {
			part, response := *p, *r
			response.WillContinue = true
			part.FunctionResponse = &response
			c.Parts[i] = &part
		}
	}
	return &c
}
