package agent

import (
	"encoding/json"
	"maps"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/workflowrt"
)

// emit emits an event of the node.
func (r *nodeRun) emit(ev *event.Event) error {
	if r.ctx.inv.past.holds(ev) {
		r.saw(ev)
		return r.up(ev)
	}
	if _, deeper := ev.Extra[agentrt.NodeMember]; deeper {
		if info, ok := agentrt.NodeOf(ev); ok && info.Scope() != r.scope {
			return r.up(ev)
		}
	}
	if err := r.checkState(ev); err != nil {
		return err
	}
	if ev.Author == "" {
		ev.Author = r.node.Name
	}
	if ev.Branch == "" {
		ev.Branch = r.ctx.branch
	}
	extra := maps.Clone(ev.Extra)
	if extra == nil {
		extra = make(map[string]json.RawMessage, 3)
	}
	info, stamp := r.info, r.stamp
	if given := extra[agentrt.NodeMember]; given != nil {
		var only agentrt.NodeInfo
		info.More = json.Unmarshal(given, &only) == nil && only.More
	}
	if a := r.own(); a != nil && a.llm != nil && extra[agentrt.OutputMember] == nil {
		if out := a.llm.nodeOutput(r, ev); out != nil {
			extra[agentrt.OutputMember], info.MessageAsOutput = out, true
		}
	}
	if output := extra[agentrt.OutputMember]; output != nil && r.node.Agent == nil && !info.More {
		output, err := r.check(workflowrt.OutputData, output)
		if err != nil {
			return err
		}
		other, err := r.afterNode(output, &ev.Actions)
		if err != nil {
			return err
		}
		if other != nil {
			output = other
		}
		extra[agentrt.OutputMember] = output
	}
	if extra[agentrt.OutputMember] != nil {
		info.OutputFor = []string{info.Path}
		stamp = rawJSON(info)
	}
	extra[agentrt.NodeMember] = stamp
	if r.isolation != "" && extra[agentrt.ScopeMember] == nil {
		extra[agentrt.ScopeMember] = rawJSON(r.isolation)
	}
	ev.Extra = extra
	r.saw(ev)
	return r.up(ev)
}

// checkState checks what an event changes in the state.
func (r *nodeRun) checkState(ev *event.Event) error {
	if r.node.Check == nil || ev.Partial || len(ev.Actions.StateDelta) == 0 {
		return nil
	}
	_, err := r.check(workflowrt.StateData, rawJSON(ev.Actions.StateDelta))
	return err
}

// saw notes what an event of the node says about its outcome.
func (r *nodeRun) saw(ev *event.Event) {
	if ev.Partial {
		return
	}
	info, ok := agentrt.NodeOf(ev)
	if !ok || info.Scope() != r.scope {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if out := ev.Extra[agentrt.OutputMember]; out != nil {
		r.output, r.closed = out, !info.More
	}
	if routes := routesOf(ev); routes != nil {
		r.routes, r.closed = routes, true
	}
	if ev.ErrorCode != "" {
		r.reported = ev
	}
}

// finish emits the end of a function.
func (r *nodeRun) finish(out json.RawMessage, c *nodeContext) error {
	ev := &event.Event{Actions: c.actions}
	if out != nil {
		ev.Extra = map[string]json.RawMessage{agentrt.OutputMember: out}
		if !r.node.Quiet {
			ev.Content = message(out)
		}
	}
	if len(c.routes) > 0 {
		ev.Actions.Merge(&event.Actions{Extra: map[string]json.RawMessage{agentrt.RouteMember: rawJSON(c.routes)}})
		if len(c.routes) == 1 {
			ev.Actions.Extra[agentrt.RouteMember] = rawJSON(c.routes[0])
		}
	}
	if out == nil && len(c.routes) == 0 {
		if r.closed && c.actions.Empty() {
			return nil
		}
		ev.Actions.EndOfAgent = true
		if !r.closed {
			if err := r.replace(ev); err != nil {
				return err
			}
		}
	}
	return r.emit(ev)
}

// replace gives the event that ends the node the output that plugins have in place
// of the node's.
func (r *nodeRun) replace(end *event.Event) error {
	output, err := r.afterNode(r.output, &end.Actions)
	if err != nil || output == nil {
		return err
	}
	if end.Extra == nil {
		end.Extra = map[string]json.RawMessage{}
	}
	end.Extra[agentrt.OutputMember] = output
	return nil
}

// nodeOutput is the answer of an agent as the output of its node, nil if ev is not
// an answer.
func (l *llm) nodeOutput(r *nodeRun, ev *event.Event) json.RawMessage {
	if l.cfg.Task {
		return l.finishes(r, ev)
	}
	if ev.Partial || ev.Content == nil || ev.Content.Role != event.RoleModel || len(ev.FunctionCalls()) > 0 ||
		l.coder != nil && (codeIn(ev) != nil || isExecution(ev)) {
		return nil
	}
	return l.output(ev.Content.Text())
}

// message is the output of a function as the user sees it: of texts, of an object
// its member text, and of everything else the JSON.
func message(output json.RawMessage) *event.Content {
	var text string
	if json.Unmarshal(output, &text) == nil {
		return event.Text(event.RoleModel, text)
	}
	var texts []string
	if json.Unmarshal(output, &texts) == nil && len(texts) > 0 {
		c := &event.Content{Role: event.RoleModel}
		for _, text := range texts {
			c.Parts = append(c.Parts, &event.Part{Text: text})
		}
		return c
	}
	var part struct {
		Text *string `json:"text"`
	}
	if json.Unmarshal(output, &part) == nil && part.Text != nil {
		return event.Text(event.RoleModel, *part.Text)
	}
	return event.Text(event.RoleModel, string(output))
}
