package agent

import (
	"encoding/json"
	"testing"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/tool"
)

// The confirmation of a call does not confirm that of another agent with the same id,
// which sessions of earlier versions may have.
func TestDecidedForAnotherAgent(t *testing.T) {
	t.Parallel()
	called := func(author string) *event.Event {
		return &event.Event{Author: author, Content: &event.Content{Parts: []*event.Part{{FunctionCall: &event.FunctionCall{ID: "call_1", Name: "pay"}}}}}
	}
	asked := func(author string) *event.Event {
		return &event.Event{Author: author, Content: &event.Content{Parts: []*event.Part{{FunctionCall: &event.FunctionCall{
			ID: "ask-" + author, Name: tool.ConfirmationCall, Args: json.RawMessage(`{"originalFunctionCall":{"id":"call_1"}}`),
		}}}}}
	}
	yes := &event.Event{Author: event.User, Content: &event.Content{Parts: []*event.Part{{FunctionResponse: &event.FunctionResponse{
		ID: "ask-b", Name: tool.ConfirmationCall, Response: json.RawMessage(`{"confirmed":true}`),
	}}}}}
	log := agentrt.NewPrivateLog(nil, []*event.Event{called("a"), called("b"), asked("a"), asked("b"), yes})
	for name, want := range map[string]bool{"a": false, "b": true} {
		c := &Context{inv: &invocation{Invocation: &agentrt.Invocation{Log: log}}, agent: &Agent{name: name}}
		if got := c.decided("call_1"); (got != nil && got.Confirmed) != want {
			t.Errorf("the call of %s: %v", name, got)
		}
	}
}
