package agent

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/tool"
)

// An agent that is used as a tool talks in a conversation of its own. When it has
// to wait for the user, the agent that called it asks in its place: with the same
// calls, in an event that carries the conversation so far. The answers go back
// the same way: the tool is called again, takes up the conversation, and gives
// the answers to the agent that asked. Models do not see any of it.

// lifted is the conversation of an agent that is used as a tool and waits for the
// user, with the answers.
type lifted struct {
	agentrt.Suspended
	answers []*event.Part
}

// liftedIn returns the conversation that ev carries, nil if there is none.
func liftedIn(ev *event.Event) *lifted {
	s := agentrt.SuspendedIn(&ev.Actions)
	if s == nil {
		return nil
	}
	return &lifted{Suspended: *s}
}

// lift puts what the conversation waits for into the actions of the tool's call.
func lift(tc *tool.Context, log *agentrt.PrivateLog) error {
	state := maps.Clone(log.Delta)
	maps.DeleteFunc(state, isTemp)
	l := agentrt.Suspended{Call: tc.FunctionCallID, State: state, Changes: log.Changes}
	for _, ev := range log.Events() {
		kept := *ev
		kept.Actions.StateDelta = maps.Clone(ev.Actions.StateDelta)
		maps.DeleteFunc(kept.Actions.StateDelta, isTemp)
		l.Events = append(l.Events, &kept)
	}
	doc, err := json.Marshal(l)
	if err != nil {
		return err
	}
	tc.Actions.Extra = map[string]json.RawMessage{agentrt.StateMember: doc}
	return nil
}

func isTemp(key string, _ json.RawMessage) bool { return strings.HasPrefix(key, "temp:") }

// open are the calls of the conversation that wait, with the events that make
// them.
func (l *lifted) open() map[string]*event.Event {
	log := agentrt.NewPrivateLog(nil, l.Events)
	found := map[string]*event.Event{}
	for id := range open(log, "") {
		for _, ev := range l.Events {
			if slices.Contains(ev.LongRunningToolIDs, id) {
				found[id] = ev
			}
		}
	}
	return found
}

// nameOnly is the extra of the actions of tools that were called together, as
// their response has it: the conversations are in events of their own.
func nameOnly(outcomes []outcome, extra map[string]json.RawMessage) map[string]json.RawMessage {
	var all agentrt.Suspended
	for _, out := range outcomes {
		switch l := liftedIn(&event.Event{Actions: out.actions}); {
		case l == nil:
		case all.Call == "":
			all.Call = l.Call
		default:
			all.Others = append(all.Others, l.Call)
		}
	}
	if all.Call == "" {
		return extra
	}
	mark, err := json.Marshal(all)
	if err != nil { // which texts cannot cause
		return extra
	}
	extra[agentrt.StateMember] = mark
	return extra
}

// askLifted emits what agents that are used as tools wait for, except what has
// been asked before.
func (c *Context) askLifted(outcomes []outcome, asked []*event.Event, emit Emit) error {
	for _, out := range outcomes {
		l := liftedIn(&event.Event{Actions: out.actions})
		if l == nil || slices.ContainsFunc(asked, func(ev *event.Event) bool { old := liftedIn(ev); return old != nil && old.Call == l.Call }) {
			continue
		}
		ask := &event.Event{Actions: event.Actions{Extra: map[string]json.RawMessage{agentrt.StateMember: out.actions.Extra[agentrt.StateMember]}}}
		waits := l.open()
		for _, ev := range l.Events {
			for _, call := range ev.FunctionCalls() {
				if before, _ := c.made(call.ID, c.inv.Log.Len()); waits[call.ID] != ev || before != nil {
					continue
				}
				if ask.Content == nil {
					ask.Content = &event.Content{Role: event.RoleModel}
				}
				ask.Content.Parts = append(ask.Content.Parts, &event.Part{FunctionCall: call})
				ask.LongRunningToolIDs = append(ask.LongRunningToolIDs, call.ID)
			}
		}
		if err := emit(ask); err != nil {
			return err
		}
	}
	return nil
}

// answered are the agents in tools for which the user's message has answers, by
// the ids of the tools' calls.
func (c *Context) answered() map[string]*lifted {
	var found map[string]*lifted
	for _, p := range c.inv.UserContent.Parts {
		r := p.FunctionResponse
		if r == nil {
			continue
		}
		_, at := c.made(r.ID, c.inv.Log.Len())
		if at < 0 {
			continue
		}
		asked := liftedIn(c.inv.Log.At(at))
		if asked == nil {
			continue
		}
		if found == nil {
			found = map[string]*lifted{}
		}
		if found[asked.Call] == nil {
			found[asked.Call] = c.latest(asked.Call, asked)
		}
		found[asked.Call].answers = append(found[asked.Call].answers, p)
	}
	return found
}

// latest is how far the agent in a tool has come.
func (c *Context) latest(call string, asked *lifted) *lifted {
	for i := c.inv.Log.Len() - 1; i >= 0; i-- {
		ev := c.inv.Log.At(i)
		if !c.mine(ev) || ev.InvocationID == c.inv.ID {
			continue // what was said before a takeover follows from the rest
		}
		if l := liftedIn(ev); l != nil && l.Call == call && len(l.Events) > 0 {
			return l
		}
	}
	return asked
}

// resume is where the conversation goes on.
func (l *lifted) resume() *agentrt.Resume {
	waits := l.open()
	var r *agentrt.Resume
	for _, p := range l.answers {
		ev := waits[p.FunctionResponse.ID]
		switch {
		case ev == nil:
		case r == nil:
			r = &agentrt.Resume{Agent: agentrt.Waiter(ev)}
		case !r.Names(agentrt.Waiter(ev)):
			r.Others = append(r.Others, agentrt.Waiter(ev))
		}
	}
	return r
}
