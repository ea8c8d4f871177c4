package agent_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

func TestPlanReAct(t *testing.T) {
	m := scripted.New(
		scripted.Respond(&model.Response{Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{
			{Text: "/*PLANNING*/ 1. look"}, {FunctionCall: &event.FunctionCall{Name: "look", Args: []byte(`{"of":"x"}`)}},
		}}}),
		scripted.Say("/*REASONING*/ It is there. /*FINAL_ANSWER*/ It is x."))
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Instruction: "Be brief.", Tools: tools(lookup("look")), Planner: agent.PlanReAct(), OutputKey: "answer"}))
	events := c.say("hello")
	if got := m.Requests()[0].Instruction; !strings.HasPrefix(got, "Be brief.\n\n") || !strings.Contains(got, "/*FINAL_ANSWER*/") {
		t.Errorf("instruction %q", got)
	}
	plan, last := events[0].Content.Parts, events[2].Content.Parts
	if len(plan) != 2 || !plan[0].Thought || plan[1].FunctionCall == nil {
		t.Errorf("the plan is not a thought: %s", story(events))
	}
	if len(last) != 2 || !last[0].Thought || last[0].Text != "/*REASONING*/ It is there. " || last[1].Thought || last[1].Text != "It is x." {
		t.Errorf("the answer is not told from the plan: %s", story(events))
	}
	if got := string(events[2].Actions.StateDelta["answer"]); got != `"It is x."` {
		t.Errorf("the output is %s", got)
	}
}

type brokenPlanner struct{ instruct, read error }

func (b brokenPlanner) Instruct(*tool.Context, *model.Request) (string, error) {
	return "", b.instruct
}

func (b brokenPlanner) Read(*tool.Context, []*event.Part) ([]*event.Part, error) {
	return nil, b.read
}

func TestPlannersThatGoWrong(t *testing.T) {
	for want, p := range map[string]brokenPlanner{
		"planner of agent a: no idea": {instruct: errors.New("no idea")},
		"planner of agent a: no clue": {read: errors.New("no clue")},
	} {
		c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: scripted.New(scripted.Say("x")), Planner: p}))
		if _, err := c.send(event.Text(event.RoleUser, "hello")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
