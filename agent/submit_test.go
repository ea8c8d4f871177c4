package agent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// separate is a model that cannot have a schema for its answer together with tools.
type separate struct{ *scripted.Model }

func (separate) SchemaOrTools() bool { return true }

func TestAnswerAsCall(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"}}}`)
	m := scripted.New(scripted.Call("look", map[string]string{"of": "x"}), scripted.Call("set_model_response", map[string]int{"n": 7}))
	c := newChat(t, mustLLM(agent.LLMConfig{
		Name: "a", Model: separate{m}, Instruction: "Be brief.", Tools: []tool.Tool{lookup("look")}, OutputKey: "answer", OutputSchema: schema,
	}))
	wantStory(t, c.say("hello"), `
a: call look{"of":"x"}
a: look returned {"found":"x"}
a: {"n":7} state{"answer":{"n":7}} (end)`)
	req := m.Requests()[0]
	if req.Config != nil || len(req.Tools) != 2 || req.Tools[1].Name != "set_model_response" || string(req.Tools[1].Parameters) != string(schema) {
		t.Errorf("the request has %v, %+v", req.Tools, req.Config)
	}
	if !strings.HasPrefix(req.Instruction, "Be brief.\n\nTo output the final result") {
		t.Errorf("the instruction is %q", req.Instruction)
	}
}

func TestIntroduction(t *testing.T) {
	for _, tc := range []struct {
		cfg  agent.LLMConfig
		want string
	}{
		{agent.LLMConfig{Name: "a", Description: "d"}, "Be brief."},
		{agent.LLMConfig{Name: "a", Introduce: true}, "You are an agent. Your internal name is \"a\".\n\nBe brief."},
		{agent.LLMConfig{Name: "a", Introduce: true, Description: "d"}, "You are an agent. Your internal name is \"a\".\n\nThe description about you is \"d\"\n\nBe brief."},
		{agent.LLMConfig{Name: "a", Introduce: true, DisallowTransferToParent: true, DisallowTransferToPeers: true}, "Be brief."},
	} {
		m := scripted.New(scripted.Say("hi"))
		tc.cfg.Model, tc.cfg.Instruction = m, "Be brief."
		newChat(t, mustLLM(tc.cfg)).say("hello")
		if got := m.Requests()[0].Instruction; got != tc.want {
			t.Errorf("the instruction is %q, want %q", got, tc.want)
		}
	}
}

// An agent made of a function waits for the answer to a long-running call that it
// has emitted.
func TestFunctionThatWaits(t *testing.T) {
	root := agent.Must(agent.New(agent.Config{Name: "a"}, func(ctx *agent.Context, emit agent.Emit) error {
		if r := ctx.UserContent().FunctionResponses(); len(r) > 0 {
			return emit(&event.Event{Content: event.Text(event.RoleModel, "told "+string(r[0].Response))})
		}
		return emit(&event.Event{
			Content:            &event.Content{Role: event.RoleModel, Parts: []*event.Part{{FunctionCall: &event.FunctionCall{ID: "c", Name: "ask"}}}},
			LongRunningToolIDs: []string{"c"},
		})
	}))
	c := newChat(t, root)
	wantStory(t, c.say("hello"), "a: call ask{}")
	wantStory(t, c.answer("c", "ask", `{"yes":true}`), `a: told {"yes":true}`)
}
