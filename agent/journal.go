package agent

import (
	"fmt"
	"strconv"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/tool"
)

// note writes to the journal, if there is one; nil removes what is there.
func (inv *invocation) note(name string, value []byte) {
	if inv.Journal == nil {
		return
	}
	if value == nil {
		if _, ok := inv.noted(name); !ok {
			return
		}
	}
	inv.Journal.Put(name, value)
}

func (inv *invocation) noted(name string) ([]byte, bool) {
	if inv.Journal == nil {
		return nil, false
	}
	return inv.Journal.Get(name)
}

// keep notes what became of a call, now. The note is the event that would tell
// of this call alone.
func (c *Context) keep(call *event.FunctionCall, out *outcome) error {
	if c.inv.Journal == nil {
		return nil
	}
	if err := c.noteCall(call, out); err != nil {
		return err
	}
	if err := c.inv.Journal.Flush(); err != nil {
		return fmt.Errorf("note the result of %s: %w", call.Name, err)
	}
	return nil
}

// noteCall is keep for what is to be stored with the next event.
func (c *Context) noteCall(call *event.FunctionCall, out *outcome) error {
	if c.inv.Journal == nil {
		return nil
	}
	ev := &event.Event{Actions: out.actions, Content: &event.Content{Role: event.RoleUser, Parts: []*event.Part{{
		FunctionResponse: &event.FunctionResponse{ID: call.ID, Name: call.Name, Response: out.response, WillContinue: out.pending},
	}}}}
	doc, err := ev.MarshalJSON()
	if err != nil {
		return fmt.Errorf("note the result of %s: %w", call.Name, err)
	}
	c.inv.note(callNote(call.ID), c.inv.scrub(doc))
	return nil
}

// forget removes what keep has noted. Models that number their calls may use a
// number again.
func (c *Context) forget(calls []*event.FunctionCall) {
	for _, call := range calls {
		c.inv.note(callNote(call.ID), nil)
		c.inv.note(begunNote(call.ID), nil)
	}
}

func callNote(id string) string { return "call/" + id }

// history is what another process, which had the run before, may have done
// about calls.
type history struct {
	taken bool
	// begun are the calls of an earlier run, which waited for the user, that
	// were begun again in this one. It is nil for calls of this run: they are
	// begun as soon as they are said.
	begun map[string]bool
}

// history finds out about the calls of said. Between the user's answer and the
// calls that waited for it much may happen, such as a login with a provider. So
// it is noted that they begin, if it matters.
func (c *Context) history(said *event.Event) (history, error) {
	if c.inv.past.holds(said) || said.ID != "" || c.inv.Journal == nil {
		return history{taken: c.inv.past.holds(said)}, nil
	}
	h := history{taken: c.inv.Takeover, begun: map[string]bool{}}
	for _, call := range said.FunctionCalls() {
		if _, h.begun[call.ID] = c.inv.noted(begunNote(call.ID)); h.begun[call.ID] {
			continue
		}
		if t := c.box.tools[call.Name]; t != nil && !t.Declaration().Effect.Repeatable() {
			c.inv.note(begunNote(call.ID), []byte("1"))
		}
	}
	if err := c.inv.Journal.Flush(); err != nil {
		return h, fmt.Errorf("note that calls begin: %w", err)
	}
	return h, nil
}

func begunNote(id string) string { return "begun/" + id }

// settled returns the outcome of a call that another process was to make, if it
// is known, or must not be found out by repeating the call.
func (c *Context) settled(before history, call *event.FunctionCall, t tool.Tool, decision *tool.Confirmation) (outcome, bool) {
	if !before.taken {
		return outcome{}, false
	}
	if doc, ok := c.inv.noted(callNote(call.ID)); ok {
		var ev event.Event
		if err := ev.UnmarshalJSON(doc); err == nil && len(ev.FunctionResponses()) == 1 {
			r := ev.FunctionResponses()[0]
			return outcome{response: r.Response, actions: ev.Actions, pending: r.WillContinue, settled: true}, true
		}
	}
	if before.begun != nil && !before.begun[call.ID] {
		return outcome{}, false
	}
	if t == nil || t.Declaration().Effect.Repeatable() || decision == nil && asksFirst(t) {
		return outcome{}, false
	}
	if t.Declaration().Effect == tool.Ask {
		return outcome{response: []byte(unknown), asks: true, settled: true}, true
	}
	return outcome{response: []byte(agentrt.Interrupted), settled: true}, true
}

// asksFirst reports whether every call of t is confirmed before the tool does
// anything: without a confirmation it cannot have had an effect.
func asksFirst(t tool.Tool) bool {
	first, ok := t.(interface{ AsksFirst() bool })
	return ok && first.AsksFirst()
}

// unknown is what stands in the log for a call until the user has found out what
// became of it.
const unknown = `{"status":"pending","message":"The call was interrupted, and may or may not have taken effect. Find out, and answer it with what became of it."}`

// A long-running call without a receipt looks in the log like one whose receipt
// says no more than that it is pending. Only the first keeps the model silent.

func (c *Context) notePending(id string, pending bool) {
	switch {
	case pending:
		c.inv.note(pendingNote(id), []byte("1"))
	case c.inv.Takeover:
		c.inv.note(pendingNote(id), nil) // of a call that has been made again
	}
}

func (c *Context) wasPending(id string) bool {
	_, ok := c.inv.noted(pendingNote(id))
	return ok
}

func pendingNote(id string) string { return "pending/" + id }

// noteCallback notes that the event which the agent emits next is from a
// callback, since it looks like one from the model. when is empty if it is not:
// a note can be there of a callback whose event was lost.
func (c *Context) noteCallback(when string) {
	if c.inv.Journal == nil || when == "" && !c.inv.Takeover {
		return
	}
	spoken := 0
	for i := c.inv.Log.Len() - 1; i >= 0; i-- {
		ev := c.inv.Log.At(i)
		if ev.InvocationID != c.inv.ID {
			continue
		}
		if ev.Author == event.User {
			break
		}
		if ev.Author == c.agent.name && ev.Branch == c.branch {
			spoken++
		}
	}
	var value []byte
	if when != "" {
		value = []byte(when)
	}
	c.inv.note(callbackNote(c.agent.name+"@"+c.branch, spoken), value)
}

// callbackNote is about the event of an author in a branch that comes after so
// many others in the run.
func callbackNote(who string, after int) string {
	return "callback/" + who + "/" + strconv.Itoa(after)
}
