package eval

import (
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
)

// Turns are the turns of a session: each begins with what a user said.
func Turns(events []*event.Event) []*Invocation {
	turns := []*Invocation{}
	var now *Invocation
	for _, ev := range events {
		switch {
		case ev.Content == nil || len(ev.Content.Parts) == 0 || ev.Partial:
		case ev.Author == event.User:
			now = &Invocation{ID: ev.InvocationID, User: ev.Content, Created: ev.Timestamp}
			turns = append(turns, now)
		case now != nil:
			now.add(ev)
		}
	}
	return turns
}

// add takes an event of the agents in. What was said last is the answer, until
// something else is.
func (i *Invocation) add(ev *event.Event) {
	says := ev.Content.Text() != ""
	if i.Final != nil && says {
		i.Intermediate.Said = append(i.Intermediate.Said, Said{i.author, i.Final.Parts})
		i.Final = nil
	}
	if says && ev.Final() {
		i.Final, i.author = ev.Content, ev.Author
		return
	}
	i.Intermediate.add(ev)
}

// add takes the calls, the responses and the words of an event in. What asks a
// user for something is not a call that the model makes.
func (d *Intermediate) add(ev *event.Event) {
	if ev.Content == nil {
		return
	}
	for _, call := range ev.Content.FunctionCalls() {
		if !agentrt.IsReserved(call.Name) {
			d.Calls = append(d.Calls, Call{call.ID, call.Name, call.Args})
		}
	}
	for _, response := range ev.Content.FunctionResponses() {
		if !agentrt.IsReserved(response.Name) {
			d.Responses = append(d.Responses, Response{response.ID, response.Name, response.Response})
		}
	}
	var said []*event.Part
	for _, part := range ev.Content.Parts {
		if part.IsText() && !part.Thought && part.Text != "" {
			said = append(said, part)
		}
	}
	if len(said) > 0 {
		d.Said = append(d.Said, Said{ev.Author, said})
	}
}
