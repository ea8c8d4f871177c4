package agent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

func numbered(id, name, args string) *event.FunctionCall {
	return &event.FunctionCall{ID: id, Name: name, Args: json.RawMessage(args)}
}

// sentIDs are the ids of calls and responses in the last request of a model.
func sentIDs(m *scripted.Model) string {
	var ids []string
	all := m.Requests()
	for _, c := range all[len(all)-1].Contents() {
		for _, call := range c.FunctionCalls() {
			ids = append(ids, call.ID)
		}
		for _, r := range c.FunctionResponses() {
			ids = append(ids, r.ID)
		}
	}
	return strings.Join(ids, " ")
}

// A call has one id in the pieces of a response and in the whole, and no two
// calls have the same, whatever the model gives.
func TestCallIDsInPieces(t *testing.T) {
	own := model.CallIDPrefix + strings.Repeat("a", 24) + "-call_0" // as if Parley had given it
	content := &event.Content{Role: event.RoleModel}
	for _, id := range []string{"call_0", "call_0", "", "", own} {
		content.Parts = append(content.Parts, &event.Part{FunctionCall: numbered(id, "look", `{"of":"x"}`)})
	}
	m := scripted.New(scripted.Respond(&model.Response{Content: content, Partial: true}, &model.Response{Content: content}), scripted.Say("Done."))
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Tools: tools(lookup("look"))}))
	var made [][]string
	for ev, err := range c.srv.Stream(t.Context(), parley.Request{App: "app", User: "u", Session: "s", Stream: true, Message: event.Text(event.RoleUser, "go")}) {
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, call := range ev.FunctionCalls() {
			ids = append(ids, call.ID)
		}
		if ids != nil {
			made = append(made, ids)
		}
	}
	if len(made) != 2 || strings.Join(made[0], " ") != strings.Join(made[1], " ") {
		t.Fatalf("the piece and the whole have the ids %q", made)
	}
	seen := map[string]bool{}
	for _, id := range made[0] {
		if id == "" || id == own || seen[id] {
			t.Errorf("the id %q is not one of its own", id)
		}
		seen[id] = true
	}
	if ids := strings.Fields(sentIDs(m)); len(ids) != 10 || ids[0] != "call_0" || ids[1] != "call_0" || ids[4] != own || ids[6] != "call_0" || ids[9] != own {
		t.Errorf("the model was sent the ids %q", ids)
	}
}

// Agents that work at the same time, and agents in tools, are of one session.
func TestCallIDsOfSeveralAgents(t *testing.T) {
	asking := func() *scripted.Model {
		return scripted.New(scripted.Calls(numbered("call_0", "approve", `{}`)), scripted.Say("Approved."))
	}
	for name, root := range map[string]*agent.Agent{
		"parallel": parallel("both",
			mustLLM(agent.LLMConfig{Name: "x", Model: asking(), Tools: tools(later("approve", nil))}),
			mustLLM(agent.LLMConfig{Name: "y", Model: asking(), Tools: tools(later("approve", nil))})),
		"tools": mustLLM(agent.LLMConfig{
			Name: "a", Tools: tools(inside("x", asking(), later("approve", nil)), inside("y", asking(), later("approve", nil))),
			Model: scripted.New(scripted.Calls(numbered("call_0", "x", `{"request":"go"}`), numbered("call_1", "y", `{"request":"go"}`)), scripted.Say("Half."), scripted.Say("Both.")),
		}),
	} {
		t.Run(name, func(t *testing.T) {
			c := newChat(t, root)
			var ids []string
			seen := map[string]bool{}
			for _, ev := range c.say("go") {
				for _, call := range ev.FunctionCalls() {
					if seen[call.ID] {
						t.Errorf("two calls have the id %s", call.ID)
					}
					if seen[call.ID] = true; call.Name == "approve" {
						ids = append(ids, call.ID)
					}
				}
			}
			if len(ids) != 2 {
				t.Fatalf("%d questions were asked, want 2", len(ids))
			}
			for i, id := range ids {
				if got := story(c.answer(id, "approve", `{"ok":true}`)); !strings.Contains(got, []string{"", "Approved."}[i]) || strings.Contains(got, "error") {
					t.Errorf("answer %d:\n%s", i, got)
				}
			}
		})
	}
}

// Sessions that are older than this rule may have calls of one response with one
// id. An approval cannot tell which of them it means, so it approves none.
func TestApprovalOfOneIDInOldSession(t *testing.T) {
	var l ledger
	said := func(id string, content *event.Content) *event.Event {
		return &event.Event{ID: id, InvocationID: "1", Author: "a", Content: content}
	}
	calls := &event.Content{Role: event.RoleModel, Parts: []*event.Part{
		{FunctionCall: numbered("call_0", "pay", `{"amount":1}`)}, {FunctionCall: numbered("call_0", "pay", `{"amount":2}`)},
	}}
	ask := said("2", &event.Content{Role: event.RoleModel, Parts: []*event.Part{
		{FunctionCall: numbered("q", tool.ConfirmationCall, `{"originalFunctionCall":{"id":"call_0","name":"pay","args":{"amount":2}},"toolConfirmation":{"hint":"?","confirmed":false}}`)},
	}})
	ask.LongRunningToolIDs = []string{"q"}
	message := &event.Content{Role: event.RoleUser, Parts: []*event.Part{decide("q", `{"confirmed":true}`)}}
	log := agentrt.NewPrivateLog(nil, []*event.Event{
		{ID: "0", InvocationID: "1", Author: event.User, Content: event.Text(event.RoleUser, "pay")},
		said("1", calls), ask,
		{ID: "3", InvocationID: "2", Author: event.User, Content: message},
	})
	root := mustLLM(agent.LLMConfig{Name: "a", Model: scripted.New(scripted.Say("Done.")), Tools: tools(l.pay("pay", nil))})
	inv := &agentrt.Invocation{ID: "2", UserContent: message, Log: log, Resume: &agentrt.Resume{Agent: "a", InvocationID: "1"}, MaxModelCalls: 5}
	if err := inv.Start(t.Context(), root, log.Emit); err != nil {
		t.Fatal(err)
	}
	l.want(t, "")
}
