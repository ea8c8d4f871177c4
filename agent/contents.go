package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
)

// read returns the log as it is sent to the model of one agent.
//
//   - What other agents said and did is sent as a message of the user, so that the model
//     does not take it for its own.
//   - What happened in other parallel branches is left out.
//   - Every call is followed at once by its answer. An answer that came later,
//     after other things were said, is shown where it came, as the same call
//     made again and answered: nothing in between is lost, and the order that
//     models insist on is kept.
//   - A summary, if there is one, stands in place of what it is about. Calls
//     that were open when it was made follow it.
//   - What was thought long ago is left out if the agent is so configured.
//   - Calls and answers have the ids that the model gave.
func (b *builder) read(log agentrt.Log, branch string, include IncludeContents, short *compacted) []*event.Content {
	first, end := firstVisible(log, b.agent, include), log.Len()
	size := end - first
	if short != nil {
		size = max(size-(short.last-short.first), 0)
	}
	b.out = make([]*event.Content, 0, size)
	b.readFrom(log, first, branch, short)
	b.asGiven()
	return b.out
}

// readFrom is read for the events from a place on. Their calls and answers keep the ids
// of the log.
func (b *builder) readFrom(log agentrt.Log, first int, branch string, short *compacted) {
	end := log.Len()
	for i := first; i < end; i++ {
		if short == nil || i < short.first || i > short.last {
			b.input(log.At(i))
			b.addEvent(log.At(i), branch, i < b.thoughts)
			continue
		}
		if short.summary != nil {
			b.add(short.summary)
			if b.trail != nil {
				b.trail.saw(short.summary, source{"summary of the events " + log.At(short.first).ID + " to " + log.At(short.last).ID, log.At(short.at).ID})
			}
		}
		for _, kept := range short.kept {
			if kept >= i {
				b.addEvent(log.At(kept), branch, kept < b.thoughts)
			}
		}
		i = short.last
	}
	b.input(nil)
}

// addEvent adds an event, without what was thought if silent.
func (b *builder) addEvent(ev *event.Event, branch string, silent bool) {
	if ev.Partial || ev.Content == nil || len(ev.Content.Parts) == 0 || !visible(ev.Branch, branch) || b.isolated(ev) {
		return
	}
	before := len(b.out)
	switch {
	case b.hidden(ev):
		// What only the user decides is between the user and us.
	case ev.Author != event.User && ev.Author != b.agent:
		b.addContext(ev)
	case responds(ev):
		b.answers(ev)
	case silent:
		if said := withoutThoughts(ev.Content); said != nil {
			b.add(said)
		}
	default:
		b.add(ev.Content)
	}
	if b.trail != nil {
		for _, c := range b.out[before:] {
			b.trail.saw(c, source{agentrt.SourceOf(ev, b.agent), ev.ID})
		}
	}
}

// hidden reports whether an event does nothing but ask for a login or a
// confirmation, or answer that.
func (b *builder) hidden(ev *event.Event) bool {
	if liftedIn(ev) != nil && len(ev.FunctionResponses()) == 0 {
		for _, call := range ev.FunctionCalls() {
			b.asked = append(b.asked, call.ID)
		}
		return true
	}
	for _, p := range ev.Content.Parts {
		if p.FunctionCall != nil && isReserved(p.FunctionCall.Name) || p.FunctionResponse != nil && isReserved(p.FunctionResponse.Name) {
			continue
		}
		return false
	}
	return true
}

// responds reports whether an event, which has a content, answers calls.
func responds(ev *event.Event) bool {
	return slices.ContainsFunc(ev.Content.Parts, func(p *event.Part) bool { return p.FunctionResponse != nil })
}

// firstVisible is where the conversation starts for the model: at the front, or
// at the latest message that was not its own.
func firstVisible(log agentrt.Log, agent string, include IncludeContents) int {
	if include != IncludeNone {
		return 0
	}
	for i := log.Len() - 1; i > 0; i-- {
		if ev := log.At(i); ev.Author != agent && ev.Content != nil && !responds(ev) {
			return i
		}
	}
	return 0
}

// visible reports whether the events of one branch are sent to models in another: those of
// the branch itself, of the branches that contain it, and those outside of branches are.
// Outside of branches, all are sent.
func visible(of, in string) bool {
	return of == "" || in == "" || of == in || strings.HasPrefix(in, of+".")
}

type builder struct {
	agent     string
	trail     *trail // nil unless an observer wants details
	thoughts  int    // where those begin that are sent
	isolation string // the scope of the node that the agent works in
	turn      *turn  // of the node, if its input is to be added
	out       []*event.Content

	latest *event.Content // the latest message, while nothing but its calls was answered
	answer *event.Content // the answers to its calls
	sent   bool           // answer is part of an earlier request, and must not be changed
	again  int            // calls that were shown again
	asked  []string       // calls that an agent in a tool has made
}

func (b *builder) add(c *event.Content) {
	b.out = append(b.out, c)
	b.latest, b.answer = c, nil
}

// call is the part of a message with the call of that id, nil if it has none.
func call(c *event.Content, id string) *event.Part {
	if c == nil {
		return nil
	}
	for _, p := range c.Parts {
		if p.FunctionCall != nil && p.FunctionCall.ID == id {
			return p
		}
	}
	return nil
}

// earlier is the latest call of that id, nil if there is none.
func (b *builder) earlier(id string) *event.Part {
	for _, c := range slices.Backward(b.out) {
		if p := call(c, id); p != nil {
			return p
		}
	}
	return nil
}

func (b *builder) answers(ev *event.Event) {
	var rest []*event.Part
	for _, p := range ev.Content.Parts {
		r := p.FunctionResponse
		if r == nil {
			rest = append(rest, p)
			continue
		}
		if isReserved(r.Name) || slices.Contains(b.asked, r.ID) {
			continue
		}
		if call(b.latest, r.ID) != nil {
			b.place(p)
			continue
		}
		made := b.earlier(r.ID)
		if made == nil {
			rest = append(rest, &event.Part{Text: fmt.Sprintf("%s returned %s", r.Name, r.Response)})
			continue
		}
		b.again++
		madeAgain, answered := *made, *p
		id := fmt.Sprintf("%s~%d", r.ID, b.again)
		madeAgain.FunctionCall = &event.FunctionCall{ID: id, Name: r.Name, Args: made.FunctionCall.Args}
		answered.FunctionResponse = &event.FunctionResponse{ID: id, Name: r.Name, Response: r.Response}
		b.out = append(b.out,
			&event.Content{Role: event.RoleModel, Parts: []*event.Part{&madeAgain}},
			&event.Content{Role: event.RoleUser, Parts: []*event.Part{&answered}})
		b.latest, b.answer = nil, nil
	}
	if len(rest) > 0 {
		b.add(&event.Content{Role: event.RoleUser, Parts: rest})
	}
}

// place puts an answer right behind its call, over an earlier one.
func (b *builder) place(p *event.Part) {
	switch {
	case b.answer == nil:
		first := &struct { // most have one part; see BenchmarkRun in package bench
			event.Content
			list [1]*event.Part
		}{}
		first.Content = event.Content{Role: event.RoleUser, Parts: first.list[:0]}
		b.answer, b.sent = &first.Content, false
		b.out = append(b.out, b.answer)
	case b.sent:
		b.answer, b.sent = &event.Content{Role: event.RoleUser, Parts: slices.Clone(b.answer.Parts)}, false
		b.out[len(b.out)-1] = b.answer // nothing was said since
	}
	for i, other := range b.answer.Parts {
		if other.FunctionResponse.ID == p.FunctionResponse.ID {
			b.answer.Parts[i] = p
			return
		}
	}
	b.answer.Parts = append(b.answer.Parts, p)
}

// addContext adds what another agent said and did.
func (b *builder) addContext(ev *event.Event) {
	if c := agentrt.AsContext(ev); c != nil {
		b.add(c)
	}
}

// isolated reports whether an event belongs to another isolation scope.
func (b *builder) isolated(ev *event.Event) bool {
	doc := ev.Extra[agentrt.ScopeMember]
	if doc == nil {
		return false
	}
	var scope string
	return json.Unmarshal(doc, &scope) == nil && scope != "" && scope != b.isolation
}

// turn is the run of a node that an agent works in.
type turn struct {
	ctx   *Context
	calls map[string]bool // that the agent has made in it
	added bool            // its input
}

// readNode returns the log as it is sent to the model of an agent that is a node of a
// workflow: the input of the node, and what the agent did in this run of the node.
func (b *builder) readNode(ctx *Context) []*event.Content {
	b.add(inputContent(ctx.node.input))
	t := &turn{ctx: ctx}
	for i := ctx.inv.firstOfRuns(); i < ctx.inv.Log.Len(); i++ {
		if ev := ctx.inv.Log.At(i); t.has(ev) {
			b.addEvent(ev, ctx.branch, i < b.thoughts)
		}
	}
	b.asGiven()
	return b.out
}

// has reports whether an event is of the run of the node, or answers a call of it.
func (t *turn) has(ev *event.Event) bool {
	if !t.ctx.inv.runsBefore()[ev.InvocationID] {
		return false
	}
	if ev.Author == event.User {
		return slices.ContainsFunc(ev.FunctionResponses(), func(r *event.FunctionResponse) bool { return t.calls[r.ID] })
	}
	info, ok := agentrt.NodeOf(ev)
	if !ok || info.Scope() != t.ctx.node.scope {
		return false
	}
	for _, call := range ev.FunctionCalls() {
		if t.calls == nil {
			t.calls = map[string]bool{}
		}
		t.calls[call.ID] = true
	}
	return true
}

// input adds the input of the node before the first event of its run. ev is nil
// after the last event.
func (b *builder) input(ev *event.Event) {
	t := b.turn
	if t == nil || t.added || ev != nil && !t.has(ev) {
		return
	}
	t.added = true
	b.add(inputContent(t.ctx.node.input))
}

// inputContent is the input of a node as a message of the user.
func inputContent(input json.RawMessage) *event.Content {
	var text string
	if json.Unmarshal(input, &text) == nil {
		return event.Text(event.RoleUser, text)
	}
	var content event.Content
	if object := map[string]json.RawMessage{}; json.Unmarshal(input, &object) == nil && object["parts"] != nil && json.Unmarshal(input, &content) == nil {
		content.Role = event.RoleUser
		return &content
	}
	return event.Text(event.RoleUser, string(input))
}
