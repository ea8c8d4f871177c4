package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// ImportError refuses an event of a session to be created.
type ImportError struct {
	Index int
	Why   string
}

func (e *ImportError) Error() string {
	return fmt.Sprintf("Session initialization event %d %s.", e.Index, e.Why)
}

// oddIDs returns what is wrong with the ids of an imported event, or "". Not all
// databases can store every character.
func oddIDs(ev *event.Event) string {
	for _, id := range []string{ev.ID, ev.InvocationID} {
		if strings.ContainsFunc(id, unicode.IsControl) {
			return fmt.Sprintf("has an id with control characters: %q", id)
		}
	}
	return ""
}

// question returns the name of a call in an event with which the server asks the
// user, or of a response to one, or "". Clients recognize such calls by their
// names.
func question(ev *event.Event) string {
	if ev.Content == nil {
		return ""
	}
	for _, p := range ev.Content.Parts {
		if name := functionOf(p); agentrt.IsReserved(name) || name == tool.InputCall {
			return name
		}
	}
	return ""
}

// functionOf returns the name of the function that a part calls or answers.
func functionOf(p *event.Part) string {
	switch {
	case p.FunctionCall != nil:
		return p.FunctionCall.Name
	case p.FunctionResponse != nil:
		return p.FunctionResponse.Name
	}
	return ""
}

// Import creates a session from an exported log. The log is untrusted: a question
// in it must not be shown to the user, and an answer in it must not trigger calls
// that no model has requested. Therefore the server's own questions and their
// answers are omitted, which models do not see anyway, and other open calls are
// closed.
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
			if agentrt.IsReserved(call.Name) {
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

// agentState is the member of actions with what an agent in a tool needs to
// continue when the user has answered.
const agentState = "agentState"

// disarmed returns an event without the server's questions and their answers, and
// without what triggers calls when a question is answered: that it is open, and
// which calls it is for. It does so even for an answered question, because a rewind
// or a fork can go back to before the answer.
func disarmed(ev *event.Event, questions map[string]bool) (out *event.Event, changed bool) {
	asks := slices.ContainsFunc(ev.LongRunningToolIDs, func(id string) bool { return questions[id] })
	does := &ev.Actions
	reserved := ev.Content != nil && slices.ContainsFunc(ev.Content.Parts, func(p *event.Part) bool { return agentrt.IsReserved(functionOf(p)) })
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

// unfinished returns the content of an event without questions of the server.
// Responses that only say that the user is asked first are marked, because the
// question itself is removed.
func unfinished(ev *event.Event) *event.Content {
	if ev.Content == nil {
		return nil
	}
	c := *ev.Content
	c.Parts = slices.DeleteFunc(slices.Clone(c.Parts), func(p *event.Part) bool { return agentrt.IsReserved(functionOf(p)) })
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
