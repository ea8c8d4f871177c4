package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/bounded"
	"github.com/parley-run/parley/tool"
)

// call calls a tool and emits its result, which is the output of the node.
func (c *nodeContext) call(t tool.Tool, input json.RawMessage) error {
	if b := c.run.before; b != nil && b.open() {
		return c.run.waits() // one of several answers has come
	}
	args, err := toolArgs(input)
	if err != nil {
		return err
	}
	call := &event.FunctionCall{ID: c.tool.FunctionCallID, Name: t.Declaration().Name, Args: args}
	said := &event.Event{Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{{FunctionCall: call}}}}
	ctx := c.ctx.with(func(sub *Context) {
		sub.box, sub.decisions, sub.lifts = &toolbox{tools: map[string]tool.Tool{call.Name: t}}, c.run.before.decisions(call.ID), nil
	})
	before, err := ctx.history(said)
	if err != nil {
		return err
	}
	var out outcome
	(&llm{}).call(ctx, call, before, bounded.NewBudget(ctx), &out)
	id := ""
	defer func() { out.step.close(id) }()
	answer := &event.Event{
		Content: &event.Content{Role: event.RoleUser, Parts: []*event.Part{{FunctionResponse: &event.FunctionResponse{
			ID: call.ID, Name: call.Name, Response: out.response,
		}}}},
		Actions: out.actions,
	}
	later := t.Declaration().LongRunning && !out.failed && !agentrt.Closed(answer.FunctionResponses()[0])
	switch {
	case out.err != nil:
		return out.err
	case out.settled && string(out.response) == agentrt.Interrupted:
		return errors.New("the call was interrupted before it finished; it may or may not have taken effect")
	case liftedIn(answer) != nil:
		return fmt.Errorf("the agent in the tool %s waits for an answer of the user; use the agent as a node", call.Name)
	case awaits(answer):
		return c.ask(ctx, call, &out)
	case out.pending, out.asks, later:
		said.LongRunningToolIDs = []string{call.ID}
		if err := ctx.noteCall(call, &out); err != nil {
			return err
		}
		if err := c.run.emit(said); err != nil {
			return err
		}
		id = said.ID
		return c.run.receipt(answer)
	}
	output := out.response
	if d := ctx.decisions[call.ID]; d != nil && d.Args != nil {
		output = withoutEdits(output)
	}
	answer.Extra = map[string]json.RawMessage{agentrt.OutputMember: output}
	if err := c.run.emit(answer); err != nil {
		return err
	}
	id = answer.ID
	ctx.forget([]*event.FunctionCall{call})
	return nil
}

// ask emits what the tool asks the user. The call is made again when the answer has
// come.
func (c *nodeContext) ask(ctx *Context, call *event.FunctionCall, out *outcome) error {
	requested := out.actions
	emit := func(ev *event.Event) error {
		ev.Actions, out.actions = out.actions, event.Actions{} // with the first one
		return c.run.emit(ev)
	}
	calls := []*event.FunctionCall{call}
	if err := ctx.askLogins(calls, &requested, nil, emit); err != nil {
		return err
	}
	if err := ctx.askConfirmations(calls, &requested, nil, emit); err != nil {
		return err
	}
	return ErrWaiting
}

// receipt emits what the tool said when it was called. The answer comes later.
func (r *nodeRun) receipt(answer *event.Event) error {
	if err := r.emit(answer); err != nil {
		return err
	}
	r.ctx.inv.note(callNote(answer.FunctionResponses()[0].ID), nil)
	return ErrWaiting
}

// waits emits the receipt of a call that waits for the user, if the process that
// made the call died before it could.
func (r *nodeRun) waits() error {
	b := r.before
	if r.node.Tool == nil || !r.ctx.inv.Takeover {
		return ErrWaiting
	}
	last := b.asked[len(b.asked)-1]
	doc, ok := r.ctx.inv.noted(callNote(last.id))
	for _, ev := range b.events {
		ok = ok && len(ev.FunctionResponses()) == 0
	}
	if !ok {
		return ErrWaiting
	}
	answer := &event.Event{}
	if err := answer.UnmarshalJSON(doc); err != nil {
		return fmt.Errorf("read what became of the call %s: %w", last.id, err)
	}
	for _, one := range answer.FunctionResponses() {
		one.WillContinue = false
	}
	if err := r.takeAll(); err != nil {
		return err
	}
	return r.receipt(answer)
}

// answeredCall returns the answer to the call of a tool node that waited for its
// result, nil if it waited for something else.
func (r *nodeRecord) answeredCall(t tool.Tool) json.RawMessage {
	last := r.asked[len(r.asked)-1]
	if t == nil || last.call == nil || last.call.Name != t.Declaration().Name {
		return nil
	}
	return last.response.Response
}

// decisions are what the user has said about the call of a tool node.
func (r *nodeRecord) decisions(id string) map[string]*tool.Confirmation {
	if r == nil {
		return nil
	}
	all := map[string]*tool.Confirmation{}
	for _, q := range r.asked {
		if q.call != nil && q.call.Name == tool.ConfirmationCall && q.response != nil {
			all[id] = decision(q.call, q.response)
		}
	}
	return all
}

// toolArgs are the arguments in the input of a node: an object, or a text that is
// one.
func toolArgs(input json.RawMessage) (json.RawMessage, error) {
	var text string
	if json.Unmarshal(input, &text) == nil {
		input = []byte(text)
	}
	input = bytes.TrimSpace(input)
	if len(input) == 0 || string(input) == "null" {
		return json.RawMessage("{}"), nil
	}
	if !json.Valid(input) || input[0] != '{' {
		return nil, errors.New("the input is not an object with the arguments of the tool")
	}
	return input, nil
}
