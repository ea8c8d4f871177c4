package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// routedBy is a routed agent that takes the one that the user names.
func routedBy(subs ...*agent.Agent) *agent.Agent {
	return agent.Must(agent.NewRouted(agent.Config{Name: "desk", SubAgents: subs}, func(ctx *tool.Context, failed *agent.RouteFailure) (string, error) {
		if failed != nil {
			return "b", nil
		}
		return ctx.UserContent.Text(), nil
	}))
}

func TestRouted(t *testing.T) {
	a := mustLLM(agent.LLMConfig{Name: "a", Model: scripted.New(scripted.Say("a1"), scripted.Fail(errors.New("no line")))})
	b := mustLLM(agent.LLMConfig{Name: "b", Model: scripted.New(scripted.Say("b1"), scripted.Say("b2"), scripted.Fail(errors.New("no line either")), scripted.Fail(errors.New("still none")))})
	c := newChat(t, routedBy(a, b))
	wantStory(t, c.say("a"), "a: a1 (end)")
	wantStory(t, c.say("b"), "b: b1 (end)")
	wantStory(t, c.say("a"), "b: b2 (end)") // a has failed
	for text, want := range map[string]string{"c": `there is no sub-agent "c"; there are: a, b`, "": `there is no sub-agent ""`} {
		if _, err := c.send(&event.Content{Parts: []*event.Part{{Text: text}}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("a route to %q: %v, want %q", text, err, want)
		}
	}
	if _, err := agent.NewRouted(agent.Config{Name: "x"}, nil); err == nil {
		t.Error("an agent without a route was made")
	}
}

func TestRoutedGivesUp(t *testing.T) {
	var seen []string
	sub := func(name string) *agent.Agent {
		return mustLLM(agent.LLMConfig{Name: name, Model: scripted.New(scripted.Fail(errors.New("no line for " + name)))})
	}
	root := agent.Must(agent.NewRouted(agent.Config{Name: "desk", SubAgents: []*agent.Agent{sub("a"), sub("b")}}, func(_ *tool.Context, failed *agent.RouteFailure) (string, error) {
		if failed == nil {
			return "a", nil
		}
		seen = append(seen, strings.Join(failed.Names, "+"))
		return map[string]string{"a": "b"}[failed.Names[len(failed.Names)-1]], nil
	}))
	_, err := newChat(t, root).send(event.Text(event.RoleUser, "hello"))
	if err == nil || !strings.Contains(err.Error(), "no line for b") || strings.Join(seen, " ") != "a a+b" {
		t.Errorf("error %v, asked after %q", err, seen)
	}
}

// TestRoutedAfterRefusals has models that refuse. Before the first word that is
// a failure of their agent, which is not seen if there is another.
func TestRoutedAfterRefusals(t *testing.T) {
	busy, said := scripted.Error("UNAVAILABLE", "busy"), scripted.Say("b1")
	blocks := func(*tool.Context, *model.Request) (*model.Response, error) {
		return &model.Response{ErrorCode: "BLOCKED"}, nil
	}
	for name, tt := range map[string]struct {
		a, b  []scripted.Step
		cfg   agent.LLMConfig
		want  string
		asked string // after whom, and why
	}{
		"one": {a: []scripted.Step{busy}, b: []scripted.Step{said}, want: "b: b1 (end)", asked: "a (model scripted: UNAVAILABLE: busy)"},
		"both": {
			a: []scripted.Step{busy}, b: []scripted.Step{scripted.Error("SAFETY", "no")}, want: "b: error SAFETY",
			asked: "a (model scripted: UNAVAILABLE: busy) a+b (model scripted: SAFETY: no)",
		},
		"after a call": {
			a: []scripted.Step{scripted.Call("look", map[string]string{"of": "x"}), busy}, cfg: agent.LLMConfig{Tools: []tool.Tool{lookup("look")}},
			want: "a: call look{\"of\":\"x\"}\na: look returned {\"found\":\"x\"}\na: error UNAVAILABLE",
		},
		"of a callback": {cfg: agent.LLMConfig{BeforeModel: []agent.BeforeModel{blocks}}, want: "a: error BLOCKED"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			tt.cfg.Name, tt.cfg.Model = "a", scripted.New(tt.a...)
			root := agent.Must(agent.NewRouted(agent.Config{Name: "desk", SubAgents: []*agent.Agent{
				mustLLM(tt.cfg), mustLLM(agent.LLMConfig{Name: "b", Model: scripted.New(tt.b...)}),
			}}, func(_ *tool.Context, failed *agent.RouteFailure) (string, error) {
				if failed == nil {
					return "a", nil
				}
				asked = append(asked, strings.Join(failed.Names, "+")+" ("+failed.Err.Error()+")")
				return map[int]string{1: "b"}[len(failed.Names)], nil
			}))
			wantStory(t, newChat(t, root).say("hello"), tt.want)
			if got := strings.Join(asked, " "); got != tt.asked {
				t.Errorf("asked after %s", got)
			}
		})
	}
}

// TestRefusalsCost replaces refusals by answers: the tokens of a refusal count,
// although it is not shown.
func TestRefusalsCost(t *testing.T) {
	dear := scripted.Respond(&model.Response{ErrorCode: "SAFETY", ErrorMessage: "no", Usage: &event.Usage{Total: 100}})
	plugin := &agent.Plugin{Name: "p", OnModelError: func(*tool.Context, *model.Request, error) (*model.Response, error) {
		return model.Text("instead"), nil
	}}
	refusing := func() *agent.Agent { return mustLLM(agent.LLMConfig{Name: "a", Model: scripted.New(dear)}) }
	b := func() *agent.Agent {
		return mustLLM(agent.LLMConfig{Name: "b", Model: scripted.New(scripted.Say("b1"))})
	}
	for name, root := range map[string]*agent.Agent{
		"routed": routedBy(refusing(), b()),
		"plugin": agent.Must(agent.WithPlugins(sequential("all", refusing(), b()), plugin)),
	} {
		t.Run(name, func(t *testing.T) {
			srv, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"app": root}, Limits: parley.Limits{RunTokens: 50}})
			if err != nil {
				t.Fatal(err)
			}
			defer srv.Close(context.Background())
			if got := story((&chat{t: t, srv: srv}).say("a")); !strings.HasSuffix(got, "b: error MAX_RUN_TOKENS") {
				t.Errorf("events:\n%s", got)
			}
		})
	}
}

// TestRoutedKeepsTheAgentThatWaits has an agent that fails when it is answered: no
// other one can take the answer.
func TestRoutedKeepsTheAgentThatWaits(t *testing.T) {
	for name, step := range map[string]scripted.Step{"failure": scripted.Fail(errors.New("no line")), "refusal": scripted.Error("UNAVAILABLE", "busy")} {
		t.Run(name, func(t *testing.T) {
			a := mustLLM(agent.LLMConfig{Name: "a", Tools: []tool.Tool{later("ask", nil)}, Model: scripted.New(
				scripted.Calls(&event.FunctionCall{ID: "c1", Name: "ask"}), step, scripted.Say("again"))})
			c := newChat(t, routedBy(a, mustLLM(agent.LLMConfig{Name: "b", Model: scripted.New(scripted.Say("b1"))})))
			c.say("a")
			events, err := c.send(&event.Content{Role: event.RoleUser, Parts: []*event.Part{{
				FunctionResponse: &event.FunctionResponse{ID: "c1", Name: "ask", Response: []byte(`{"ok":true}`)},
			}}})
			switch name {
			case "failure":
				if err == nil || len(events) > 0 {
					t.Errorf("error %v after\n%s", err, story(events))
				}
			default:
				wantStory(t, events, "a: error UNAVAILABLE")
			}
		})
	}
}

func TestTakeoverRouted(t *testing.T) {
	t.Parallel()
	for name, turns := range map[string][]string{"work": {"a", "b"}, "waits": {"w", "answer pure_w"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scene{turns: turns, tree: func(w *world) *agent.Agent {
				return sequential("all",
					routedBy(
						w.llm("a", tools(w.tool("once")), calls("once"), scripted.Say("a1")),
						w.llm("b", tools(w.tool("pure")), calls("pure"), scripted.Say("b1")),
						w.llm("w", tools(w.later("pure_w", nil)), calls("pure_w"), scripted.Say("w1"))),
					w.llm("z", nil, scripted.Say("z1"), scripted.Say("z2")))
			}}.play(t)
		})
	}
}

func TestTakeoverRoutedAfterRefusal(t *testing.T) {
	t.Parallel()
	scene{turns: []string{"a"}, tree: func(w *world) *agent.Agent {
		alone := agent.Must(agent.NewRouted(agent.Config{Name: "desk", SubAgents: []*agent.Agent{w.llm("a", nil, scripted.Error("REFUSED", "no"))}},
			func(_ *tool.Context, failed *agent.RouteFailure) (string, error) {
				if failed != nil {
					return "", nil
				}
				return "a", nil
			}))
		return sequential("all", alone, w.llm("z", nil, scripted.Say("z1")))
	}}.play(t)
}
