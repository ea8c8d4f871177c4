package agent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/model/scripted"
)

// The conversation stays with the agent that it was handed to, whatever happens
// to a run.
func TestConversationStaysWhereItIs(t *testing.T) {
	said := func(author, text string) *event.Event {
		return &event.Event{Author: author, Content: event.Text(event.RoleModel, text)}
	}
	handed := &event.Event{Author: "a", Actions: event.Actions{TransferToAgent: "b"}, Content: &event.Content{Parts: []*event.Part{{
		FunctionResponse: &event.FunctionResponse{ID: "c", Name: "transfer_to_agent", Response: json.RawMessage(`{}`)},
	}}}}
	state := event.Actions{StateDelta: map[string]json.RawMessage{"k": json.RawMessage("1")}}
	for name, tt := range map[string]struct {
		last []*event.Event
		want string
	}{
		"as usual":                    {[]*event.Event{said("b", "hi")}, "b"},
		"handed back":                 {[]*event.Event{said("b", "hi"), {Author: "b", Actions: event.Actions{TransferToAgent: "a"}, Content: handed.Content}}, "a"},
		"cancelled":                   {[]*event.Event{said("b", "hi"), {Author: "a", ErrorCode: "INVOCATION_ABORTED"}}, "b"},
		"took too long":               {[]*event.Event{said("b", "hi"), {Author: "a", ErrorCode: "MAX_RUN_DURATION"}}, "b"},
		"a plugin after the run":      {[]*event.Event{said("b", "hi"), {Author: "a", Actions: state}}, "b"},
		"cancelled as it was handed":  {[]*event.Event{{Author: "a", ErrorCode: "INVOCATION_ABORTED"}}, "b"},
		"failed as it was handed":     {[]*event.Event{{Author: "b", ErrorCode: "UNAVAILABLE"}}, "b"},
		"handed to one who is gone":   {[]*event.Event{{Author: "a", Actions: event.Actions{TransferToAgent: "gone"}, Content: handed.Content}}, "a"},
		"cancelled when handed back":  {[]*event.Event{said("b", "hi"), {Author: "b", Actions: event.Actions{TransferToAgent: "a"}, Content: handed.Content}, {Author: "a", ErrorCode: "INVOCATION_ABORTED"}}, "a"},
		"cancelled in a call":         {[]*event.Event{said("b", "hi"), {Author: "b", ErrorCode: "INVOCATION_ABORTED", Content: handed.Content}}, "b"},
		"a message that had no reply": {[]*event.Event{said("b", "hi"), said(event.User, "hello?")}, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			b := speaker("b", scripted.Say("It is b."))
			root := mustLLM(agent.LLMConfig{Name: "a", Model: scripted.New(scripted.Say("It is a.")), SubAgents: []*agent.Agent{b}})
			log := agentrt.NewPrivateLog(nil, append([]*event.Event{said(event.User, "go"), handed}, tt.last...))
			message := event.Text(event.RoleUser, "and now?")
			inv := &agentrt.Invocation{ID: "2", UserContent: message, Log: log}
			var who []string
			if err := inv.Start(t.Context(), root, func(ev *event.Event) error {
				who = append(who, ev.Author)
				return log.Emit(ev)
			}); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(who, " "); got != tt.want {
				t.Errorf("%s answers, want %s", got, tt.want)
			}
		})
	}
}
