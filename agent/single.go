package agent

import (
	"encoding/json"
	"fmt"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/tool"
)

// A client can call one tool of an agent, without a model: the run begins with an
// event that has the call, as if the model had asked for it, and ends with the
// result. All that comes between is the same: callbacks, questions to the user,
// state, files, and what becomes of the call when its process dies. The event with
// the call has skipSummarization, which no answer of a model with a call has. So the
// run that resumes such a call knows that no model waits for the result.

// isSingle reports whether ev is a call that a client has made.
func isSingle(ev *event.Event) bool {
	return ev.Actions.SkipSummarization && ev.Author != event.User && len(ev.FunctionCalls()) == 1
}

// callee returns the agent whose tool is to be called.
func (inv *invocation) callee(root *Agent) (*Agent, error) {
	a := root.Find(inv.Call.Agent)
	if a == nil || a.llm == nil {
		return nil, fmt.Errorf("there is no agent %s with tools", inv.Call.Agent)
	}
	return a, nil
}

// resumesSingle reports whether the message answers what a call of a client has asked.
func (inv *invocation) resumesSingle() bool {
	if inv.UserContent == nil {
		return false
	}
	for _, r := range inv.UserContent.FunctionResponses() {
		if origin := originOf(inv.Log, r.ID, inv.Log.Len()); origin != nil && isSingle(origin) {
			return true
		}
	}
	return false
}

// originOf returns the event with the call that a question with that id is about, of
// the first n events. A call that is not a question is its own origin. It is nil if
// there is none.
func originOf(log agentrt.Log, id string, n int) *event.Event {
	for i := n - 1; i >= 0; i-- {
		ev := log.At(i)
		for _, call := range ev.FunctionCalls() {
			if call.ID != id {
				continue
			}
			switch about := liftedIn(ev); {
			case about != nil:
				id = about.Call
			case call.Name == tool.ConfirmationCall:
				id = askedAbout(call)
			case tool.IsCredentialCall(call.Name):
				id = loginFor(call)
			default:
				return ev
			}
		}
	}
	return nil
}

// loginFor is the id of the call that a request for a login is for.
func loginFor(request *event.FunctionCall) string {
	var args struct {
		ID string `json:"functionCallId"`
	}
	_ = json.Unmarshal(request.Args, &args) // the server wrote it
	return args.ID
}

// ofSingle reports whether the event at i belongs to a call that a client has made:
// the conversation does not move to the agent of the tool.
func ofSingle(log agentrt.Log, i int) bool {
	ev := log.At(i)
	if isSingle(ev) {
		return true
	}
	for _, call := range ev.FunctionCalls() {
		if isReserved(call.Name) || liftedIn(ev) != nil {
			origin := originOf(log, call.ID, i+1)
			return origin != nil && isSingle(origin)
		}
	}
	if responses := ev.FunctionResponses(); ev.Actions.SkipSummarization && len(responses) > 0 {
		origin := originOf(log, responses[0].ID, i)
		return origin != nil && isSingle(origin)
	}
	return false
}

// makeCall emits the event with the call of the client, in place of a model's answer.
func (l *llm) makeCall(ctx *Context, emit Emit) (*event.Event, error) {
	if ev, err := ctx.replay(emit); ev != nil || err != nil {
		return ev, err
	}
	call := &event.FunctionCall{Name: ctx.inv.Call.Tool, Args: ctx.inv.Call.Args}
	ev := l.event(ctx, &model.Response{Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{{FunctionCall: call}}}}, &callNames{})
	ev.Actions.SkipSummarization = true
	return ev, emit(ev)
}
