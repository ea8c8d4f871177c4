package agent_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// routedBy is a routed agent that takes the one that the user names.
func routedBy(subs ...*agent.Agent) *agent.Agent {
	return must(agent.NewRouted(agent.Config{Name: "desk", SubAgents: subs}, func(ctx *tool.Context, failed *agent.RouteFailure) (string, error) {
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
	root := must(agent.NewRouted(agent.Config{Name: "desk", SubAgents: []*agent.Agent{sub("a"), sub("b")}}, func(_ *tool.Context, failed *agent.RouteFailure) (string, error) {
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
