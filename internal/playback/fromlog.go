package playback

import (
	"slices"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/session"
)

// fromLog returns what the log says about the calls of a run that was not recorded.
// It does not have the requests, what callbacks have replaced, the calls of agents that
// are used as tools, and failures to reach a model.
func fromLog(of *original) *replay.Recording {
	r := &replay.Recording{FromLog: true, Steps: []*replay.Step{}}
	calls, used := callsBefore(of.before), map[*event.Event]bool{}
	for i, ev := range of.events {
		calls.add(ev)
		if used[ev] {
			continue
		}
		if s := outside(of.events, i, used); s != nil {
			r.Steps = append(r.Steps, s)
			continue
		}
		if isModelEvent(ev) {
			said := *ev
			said.Actions, said.ID, said.InvocationID = event.Actions{}, "", ""
			r.Steps = append(r.Steps, &replay.Step{Kind: replay.ModelCall, Agent: ev.Author, Branch: ev.Branch, Output: encode(&said), Cancelled: of.wasShown(ev)})
			continue
		}
		if ev.Author == event.User || ev.ErrorCode == run.Aborted {
			continue
		}
		for i, answer := range ev.FunctionResponses() {
			call, known := calls[answer.ID]
			if !known {
				continue
			}
			actions := &event.Actions{}
			if i == 0 { // they are merged in the log
				actions = &ev.Actions
			}
			r.Steps = append(r.Steps, &replay.Step{
				Kind: replay.ToolCall, Agent: ev.Author, Branch: ev.Branch, Name: answer.Name, Call: answer.ID, Args: call.Args,
				Output:  outputOf(&event.FunctionResponse{Name: answer.Name, Response: answer.Response}, actions),
				Pending: call.long && string(answer.Response) == `{"status":"pending"}`,
			})
		}
	}
	return r
}

// isModelEvent reports whether an event of the log has the answer of a model.
func isModelEvent(ev *event.Event) bool {
	switch {
	case ev.Author == event.User || ev.ErrorCode == run.Aborted:
		return false
	case ev.Content == nil:
		return ev.ErrorCode != ""
	case ev.Content.Role != event.RoleModel, callOf([]*event.Event{ev}) != nil:
		return false
	}
	return !slices.ContainsFunc(ev.FunctionCalls(), func(call *event.FunctionCall) bool { return agentrt.IsReserved(call.Name) })
}

// madeCall is a call in the log.
type madeCall struct {
	*event.FunctionCall

	long bool
}

// madeCalls are the calls in the log, by their ids.
type madeCalls map[string]madeCall

func (m madeCalls) add(ev *event.Event) {
	for _, call := range ev.FunctionCalls() {
		m[call.ID] = madeCall{call, slices.Contains(ev.LongRunningToolIDs, call.ID)}
	}
}

func callsBefore(log []*session.Entry) madeCalls {
	m := madeCalls{}
	for _, entry := range log {
		if ev, err := entry.Decode(); err == nil {
			m.add(ev)
		}
	}
	return m
}

// callOf returns the call that a client made of one tool, if that is what the run did.
func callOf(events []*event.Event) *agentrt.ToolCall {
	if len(events) == 0 || !events[0].Actions.SkipSummarization {
		return nil
	}
	calls := events[0].FunctionCalls()
	if len(calls) != 1 {
		return nil
	}
	return &agentrt.ToolCall{Agent: events[0].Author, Tool: calls[0].Name, Args: calls[0].Args}
}
