package agent

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/tool"
)

// An agent that is used as a tool talks in a conversation of its own. When it has
// to wait for the user, the agent that called it asks in its place: with the same
// calls, in an event that carries the conversation so far. The answers go back
// the same way: the tool is called again, takes up the conversation, and gives
// the answers to the agent that asked. Models do not see any of it.

// agentState is the member of an event's actions that carries the conversation.
const agentState = "agentState"

// lifted is what an agent that is used as a tool needs to go on.
type lifted struct {
	// Call is the call of the tool.
	Call string `json:"functionCallId"`
	// Others are more calls of tools, in a response to several that wait.
	Others []string `json:"otherFunctionCallIds,omitempty"`
	// Events are the conversation, and State what it has changed.
	Events []*event.Event             `json:"events,omitempty"`
	State  map[string]json.RawMessage `json:"state,omitempty"`
	// Changes are those of State that depend on what a value is.
	Changes []event.StateChange `json:"stateChanges,omitempty"`

	answers []*event.Part // by the user
}

// Waits reports whether actions are those of an agent that is used as a tool and
// waits for the user.
func Waits(actions *event.Actions) bool { return liftedIn(&event.Event{Actions: *actions}) != nil }

// liftedIn is what ev carries, nil if nothing. The response to the call of the
// tool names the call alone.
func liftedIn(ev *event.Event) *lifted {
	doc := ev.Actions.Extra[agentState]
	if doc == nil {
		return nil
	}
	l := &lifted{}
	if json.Unmarshal(doc, l) != nil || l.Call == "" {
		return nil // not ours
	}
	return l
}

// lift puts what the conversation waits for into the actions of the tool's call.
func lift(tc *tool.Context, log *PrivateLog) error {
	state := maps.Clone(log.delta)
	maps.DeleteFunc(state, isTemp)
	l := lifted{Call: tc.FunctionCallID, State: state, Changes: log.changes}
	for _, ev := range log.events {
		kept := *ev
		kept.Actions.StateDelta = maps.Clone(ev.Actions.StateDelta)
		maps.DeleteFunc(kept.Actions.StateDelta, isTemp)
		l.Events = append(l.Events, &kept)
	}
	doc, err := json.Marshal(l)
	if err != nil {
		return err
	}
	tc.Actions.Extra = map[string]json.RawMessage{agentState: doc}
	return nil
}

func isTemp(key string, _ json.RawMessage) bool { return strings.HasPrefix(key, "temp:") }

// open are the calls of the conversation that wait, with the events that make
// them.
func (l *lifted) open() map[string]*event.Event {
	log := NewPrivateLog(nil, l.Events)
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

// names reports whether the call of a tool is one that waits.
func (l *lifted) names(call string) bool { return l.Call == call || slices.Contains(l.Others, call) }

// nameOnly is the extra of the actions of tools that were called together, as
// their response has it: the conversations are in events of their own.
func nameOnly(outcomes []outcome, extra map[string]json.RawMessage) map[string]json.RawMessage {
	var all lifted
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
	extra[agentState] = mark
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
		ask := &event.Event{Actions: event.Actions{Extra: map[string]json.RawMessage{agentState: out.actions.Extra[agentState]}}}
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
		if ev.Author != c.agent.name || ev.InvocationID == c.inv.ID {
			continue // what was said before a takeover follows from the rest
		}
		if l := liftedIn(ev); l != nil && l.Call == call && len(l.Events) > 0 {
			return l
		}
	}
	return asked
}

// resume is where the conversation goes on.
func (l *lifted) resume() *Resume {
	waits := l.open()
	var r *Resume
	for _, p := range l.answers {
		ev := waits[p.FunctionResponse.ID]
		switch {
		case ev == nil:
		case r == nil:
			r = &Resume{Agent: ev.Author}
		case !r.names(ev.Author):
			r.Others = append(r.Others, ev.Author)
		}
	}
	return r
}
