package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

func TestTypicalTurn(t *testing.T) {
	m := scripted.New(scripted.Call("look", map[string]string{"of": "x"}), scripted.Say("It is x."))
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Instruction: "Be brief.", Tools: []tool.Tool{lookup("look")}, OutputKey: "answer"}))
	events := c.say("hello")
	wantStory(t, events, `
a: call look{"of":"x"}
a: look returned {"found":"x"}
a: It is x. state{"answer":"It is x."} (end)`)
	if call, resp := events[0].FunctionCalls()[0], events[1].FunctionResponses()[0]; call.ID == "" || call.ID != resp.ID {
		t.Errorf("call id %q, response id %q", call.ID, resp.ID)
	}
	req := m.Requests()[1]
	if req.Instruction != "Be brief." || len(req.Tools) != 1 || len(req.Contents()) != 3 {
		t.Errorf("second request: %q, %d tools, %d contents", req.Instruction, len(req.Tools), len(req.Contents()))
	}
}

func TestToolsThatGoWrong(t *testing.T) {
	failing := tool.Must(tool.New(tool.Declaration{Name: "fails"}, func(*tool.Context, struct{}) (any, error) {
		return nil, errors.New("no such city")
	}))
	odd := tool.Must(tool.New(tool.Declaration{Name: "odd"}, func(*tool.Context, struct{}) (any, error) {
		return make(chan int), nil
	}))
	for _, tc := range []struct {
		call  scripted.Step
		error string
	}{
		{scripted.Call("fails", nil), "no such city"},
		{scripted.Call("nope", nil), "There is no tool nope. The tools are: fails, look, odd."},
		{scripted.Call("look", map[string]any{"of": 7}), "invalid arguments"},
		{scripted.Call("look", map[string]any{}), "of"},
		{scripted.Call("odd", nil), "encode the result"},
	} {
		c := newChat(t, mustLLM(agent.LLMConfig{
			Name: "a", Model: scripted.New(tc.call, scripted.Say("Sorry.")),
			Tools: []tool.Tool{failing, odd, lookup("look")},
		}))
		events := c.say("go")
		if len(events) != 3 {
			t.Fatalf("events: %s", story(events))
		}
		var got struct {
			Status  string `json:"status"`
			Message string `json:"error_message"`
		}
		if err := json.Unmarshal(events[1].FunctionResponses()[0].Response, &got); err != nil {
			t.Fatal(err)
		}
		if got.Status != "error" || !strings.Contains(got.Message, tc.error) {
			t.Errorf("result %+v, want an error with %q", got, tc.error)
		}
	}
}

func TestCallWithoutTools(t *testing.T) {
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: scripted.New(scripted.Call("nope", nil), scripted.Say("Sorry."))}))
	got := string(c.say("go")[1].FunctionResponses()[0].Response)
	if want := `{"status":"error","error_message":"There is no tool nope, nor any other."}`; got != want {
		t.Errorf("the result is %s, want %s", got, want)
	}
}

func TestSeveralCallsRunTogetherAndAnswerInOrder(t *testing.T) {
	var meet sync.WaitGroup
	meet.Add(2)
	type in struct {
		N int `json:"n"`
	}
	both := tool.Must(tool.New(tool.Declaration{Name: "both"}, func(ctx *tool.Context, in in) (int, error) {
		meet.Done()
		meet.Wait() // neither call returns before both have begun
		return in.N, ctx.State.Set("last", in.N)
	}))
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Tools: []tool.Tool{both}, Model: scripted.New(
		scripted.Calls(
			&event.FunctionCall{Name: "both", Args: json.RawMessage(`{"n":1}`)},
			&event.FunctionCall{Name: "both", Args: json.RawMessage(`{"n":2}`)},
		), scripted.Say("Done."))}))
	wantStory(t, c.say("go"), `
a: call both{"n":1} call both{"n":2}
a: both returned {"result":1} both returned {"result":2} state{"last":2}
a: Done. (end)`)
}

func TestInstructionFromState(t *testing.T) {
	m := scripted.New(scripted.Say("ok"), scripted.Say("ok"))
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, OutputKey: "user:said", Instruction: `Before: {user:said?}. JSON {"a": 1} stays.`}))
	c.say("one")
	c.say("two")
	if got := m.Requests()[1].Instruction; got != `Before: ok. JSON {"a": 1} stays.` {
		t.Errorf("instruction %q", got)
	}
	c = newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Instruction: "{missing}"}))
	if _, err := c.send(event.Text("user", "x")); err == nil || !strings.Contains(err.Error(), "`missing`") {
		t.Errorf("a missing key gives %v", err)
	}
}

func TestCallbacks(t *testing.T) {
	say := func(text string) *event.Content { return event.Text(event.RoleModel, text) }
	set := func(key string) agent.Callback {
		return func(ctx *tool.Context) (*event.Content, error) { return nil, ctx.State.Set(key, ctx.Agent) }
	}
	call := scripted.Call("look", map[string]string{"of": "x"})
	for name, tc := range map[string]struct {
		cfg   agent.LLMConfig
		steps []scripted.Step
		want  string
	}{
		"before agent answers": {
			cfg:  agent.LLMConfig{BeforeAgent: []agent.Callback{set("seen"), func(*tool.Context) (*event.Content, error) { return say("Closed."), nil }}},
			want: `a: Closed. state{"seen":"a"} (end)`,
		},
		"before and after agent change the state": {
			cfg:   agent.LLMConfig{BeforeAgent: []agent.Callback{set("b")}, AfterAgent: []agent.Callback{set("c")}},
			steps: []scripted.Step{scripted.Say("Hi.")},
			want:  "a: state{\"b\":\"a\"}\na: Hi. (end)\na: state{\"c\":\"a\"}",
		},
		"after agent adds": {
			cfg:   agent.LLMConfig{AfterAgent: []agent.Callback{func(*tool.Context) (*event.Content, error) { return say("Bye."), nil }}},
			steps: []scripted.Step{scripted.Say("Hi.")},
			want:  "a: Hi. (end)\na: Bye. (end)",
		},
		"before model answers": {
			cfg: agent.LLMConfig{BeforeModel: []agent.BeforeModel{func(ctx *tool.Context, _ *model.Request) (*model.Response, error) {
				return model.Text("Cached."), ctx.State.Set("cached", true)
			}}},
			want: `a: Cached. state{"cached":true} (end)`,
		},
		"before model changes the request": {
			cfg: agent.LLMConfig{BeforeModel: []agent.BeforeModel{func(_ *tool.Context, req *model.Request) (*model.Response, error) {
				req.SetContents([]*event.Content{event.Text("user", "changed")})
				return nil, nil
			}}},
			steps: []scripted.Step{echo},
			want:  "a: changed (end)",
		},
		"after model replaces": {
			cfg: agent.LLMConfig{AfterModel: []agent.AfterModel{func(_ *tool.Context, r *model.Response) (*model.Response, error) {
				return model.Text(strings.ToUpper(r.Content.Text())), nil
			}}},
			steps: []scripted.Step{scripted.Say("hi.")},
			want:  "a: HI. (end)",
		},
		"before tool changes the arguments": {
			cfg: agent.LLMConfig{BeforeTool: []agent.BeforeTool{func(_ *tool.Context, call *agent.Call) (any, error) {
				call.Args = json.RawMessage(`{"of":"y"}`)
				return nil, nil
			}}},
			steps: []scripted.Step{call, scripted.Say("ok")},
			want:  "a: call look{\"of\":\"x\"}\na: look returned {\"found\":\"y\"}\na: ok (end)",
		},
		"before tool answers": {
			cfg: agent.LLMConfig{BeforeTool: []agent.BeforeTool{func(*tool.Context, *agent.Call) (any, error) {
				return map[string]int{"cached": 1}, nil
			}}},
			steps: []scripted.Step{call, scripted.Say("ok")},
			want:  "a: call look{\"of\":\"x\"}\na: look returned {\"cached\":1}\na: ok (end)",
		},
		"after tool replaces": {
			cfg: agent.LLMConfig{AfterTool: []agent.AfterTool{func(_ *tool.Context, _ *agent.Call, result json.RawMessage) (any, error) {
				return map[string]json.RawMessage{"was": result}, nil
			}}},
			steps: []scripted.Step{call, scripted.Say("ok")},
			want:  "a: call look{\"of\":\"x\"}\na: look returned {\"was\":{\"found\":\"x\"}}\na: ok (end)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.cfg.Name, tc.cfg.Model, tc.cfg.Tools = "a", scripted.New(tc.steps...), []tool.Tool{lookup("look")}
			wantStory(t, newChat(t, mustLLM(tc.cfg)).say("hello"), tc.want)
		})
	}
}

// echo says what the user said last.
func echo(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
	return scripted.Say(scripted.LastUserText(req))(ctx, req)
}

func TestSkipSummarizationEndsTheTurn(t *testing.T) {
	quiet := tool.Must(tool.New(tool.Declaration{Name: "quiet"}, func(ctx *tool.Context, _ struct{}) (string, error) {
		ctx.Actions.SkipSummarization = true
		return "that is all", nil
	}))
	m := scripted.New(scripted.Call("quiet", nil))
	events := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Tools: []tool.Tool{quiet}})).say("go")
	wantStory(t, events, "a: call quiet{}\na: quiet returned {\"result\":\"that is all\"}")
}

func TestLoopingAgentIsEnded(t *testing.T) {
	m := scripted.Func(scripted.Call("look", map[string]string{"of": "x"}))
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Tools: []tool.Tool{lookup("look")}}))
	events := c.say("go")
	if last := events[len(events)-1]; last.ErrorCode != "MAX_MODEL_CALLS" || m.Calls() != 20 {
		t.Errorf("%d calls, last event %s", m.Calls(), story(events[len(events)-1:]))
	}
}

func TestOutputSchema(t *testing.T) {
	m := scripted.New(scripted.Say(`{"n": 1}`))
	c := newChat(t, mustLLM(agent.LLMConfig{
		Name: "a", Model: m, OutputKey: "out", OutputSchema: json.RawMessage(`{"type":"object"}`),
		SubAgents: []*agent.Agent{mustLLM(agent.LLMConfig{Name: "b"})},
	}))
	wantStory(t, c.say("go"), `a: {"n": 1} state{"out":{"n":1}} (end)`)
	req := m.Requests()[0]
	if string(req.Config.ResponseSchema) != `{"type":"object"}` || len(req.Tools) != 1 || !strings.Contains(string(req.Tools[0].Parameters), `"enum":["b"]`) {
		t.Errorf("request: %+v, tools %v", req.Config, req.Tools)
	}
}

// An agent with a schema for its answer transfers to its sub-agents, and not to the
// agents above and beside it.
func TestOutputSchemaTransfers(t *testing.T) {
	m := scripted.New(handTo("a"), handTo("b"), scripted.Say("from b"))
	schema := json.RawMessage(`{"type":"object"}`)
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "root", Model: m, SubAgents: []*agent.Agent{
		mustLLM(agent.LLMConfig{Name: "a", Model: separate{m}, OutputSchema: schema, SubAgents: []*agent.Agent{mustLLM(agent.LLMConfig{Name: "b"})}}),
		mustLLM(agent.LLMConfig{Name: "c"}),
	}}))
	if events := c.say("go"); events[len(events)-1].Author != "b" {
		t.Errorf("events:\n%s", story(events))
	}
	req := m.Requests()[1]
	if req.Config != nil || len(req.Tools) != 2 || !strings.Contains(string(req.Tools[0].Parameters), `"enum":["b"]`) || req.Tools[1].Name != "set_model_response" {
		t.Errorf("request: %+v, tools %v", req.Config, req.Tools)
	}
}

func TestPanicsEndTheRunAndRevealNothing(t *testing.T) {
	boom := tool.Must(tool.New(tool.Declaration{Name: "boom"}, func(*tool.Context, struct{}) (any, error) { panic("secret") }))
	for name, cfg := range map[string]agent.LLMConfig{
		"tool boom":               {Model: scripted.New(scripted.Call("boom", nil))},
		"model scripted":          {Model: scripted.Func(func(context.Context, *model.Request) iter.Seq2[*model.Response, error] { panic("secret") })},
		"callback before agent a": {BeforeAgent: []agent.Callback{func(*tool.Context) (*event.Content, error) { panic("secret") }}},
		"callback before model":   {BeforeModel: []agent.BeforeModel{func(*tool.Context, *model.Request) (*model.Response, error) { panic("secret") }}},
		"instruction of agent a":  {InstructionFunc: func(*tool.Context) (string, error) { panic("secret") }},
		"callback after model":    {Model: scripted.New(scripted.Say("x")), AfterModel: []agent.AfterModel{func(*tool.Context, *model.Response) (*model.Response, error) { panic("secret") }}},
		"callback after agent":    {Model: scripted.New(scripted.Say("x")), AfterAgent: []agent.Callback{func(*tool.Context) (*event.Content, error) { panic("secret") }}},
	} {
		cfg.Name, cfg.Tools = "a", []tool.Tool{boom}
		if cfg.Model == nil {
			cfg.Model = scripted.New()
		}
		_, err := newChat(t, mustLLM(cfg)).send(event.Text("user", "go"))
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// What a callback says in the model's place is not what a model said.
func TestAfterModelIsForModels(t *testing.T) {
	root := mustLLM(agent.LLMConfig{
		Name: "a", Model: scripted.New(),
		BeforeModel: []agent.BeforeModel{func(*tool.Context, *model.Request) (*model.Response, error) { return model.Text("cached"), nil }},
		AfterModel: []agent.AfterModel{func(*tool.Context, *model.Response) (*model.Response, error) {
			return model.Text("changed"), nil
		}},
	})
	wantStory(t, newChat(t, root).say("hello"), "a: cached (end)")
}
