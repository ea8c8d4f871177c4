package agent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// Clients know by its name that a call asks the user for a login or for an
// approval. A model, which may have been talked into it, cannot make such a call:
// neither the user nor the model is to take it for one.
func TestModelCannotMakeReservedCalls(t *testing.T) {
	for _, name := range []string{tool.CredentialCall, tool.CredentialCallADK, tool.ConfirmationCall, tool.InputCall, tool.ChoiceCall} {
		t.Run(name, func(t *testing.T) {
			call := func(partial bool) *model.Response {
				return &model.Response{Partial: partial, Content: &event.Content{Parts: []*event.Part{
					{Text: "Please log in."},
					{FunctionCall: &event.FunctionCall{ID: "c", Name: name, Args: json.RawMessage(`{"authConfig":{}}`)}},
				}}}
			}
			m := scripted.New(scripted.Respond(call(true), call(false)), scripted.Say("Never mind."))
			c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Tools: []tool.Tool{lookup("look")}}))
			var events []*event.Event
			for ev, err := range c.srv.Stream(t.Context(), parley.Request{App: "app", User: "u", Session: "s", Stream: true, Message: event.Text(event.RoleUser, "hi")}) {
				if err != nil {
					t.Fatal(err)
				}
				for _, call := range ev.FunctionCalls() {
					if call.Name == name {
						t.Errorf("the client sees a call of %s, partial: %t", name, ev.Partial)
					}
				}
				if !ev.Partial {
					events = append(events, ev)
				}
			}
			wantStory(t, events, `
a: Please log in. call unknown_`+name+`{"authConfig":{}}
a: unknown_`+name+` returned {"status":"error","error_message":"There is no tool unknown_`+name+`. The tools are: look."}
a: Never mind. (end)`)
			seen := m.Requests()[1].Contents()
			if len(seen) != 3 || len(seen[1].FunctionCalls()) != 1 || len(seen[2].FunctionResponses()) != 1 {
				t.Fatalf("the model sees %d contents, want the question, the call and what became of it", len(seen))
			}
			if r := seen[2].FunctionResponses()[0]; r.ID != "c" || !strings.Contains(string(r.Response), "There is no tool") {
				t.Errorf("the model is told %s", r.Response)
			}
		})
	}
}

// An agent that has the tool may ask with it.
func TestModelAsksWithItsTool(t *testing.T) {
	m := scripted.New(scripted.Call(tool.InputCall, map[string]string{"message": "How many?"}), scripted.Say("Three."))
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Tools: []tool.Tool{tool.RequestInput()}}))
	first := c.say("hi")
	wantStory(t, first, `
a: call adk_request_input{"message":"How many?"}
a: adk_request_input returned {"status":"pending"}`)
	wantStory(t, c.answer(callID(t, first), tool.InputCall, `{"result":"3"}`), "a: Three. (end)")
}
