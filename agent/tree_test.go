package agent_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

func speaker(name string, steps ...scripted.Step) *agent.Agent {
	return mustLLM(agent.LLMConfig{Name: name, Description: "is " + name, Model: scripted.New(steps...), OutputKey: name})
}

func TestTransfer(t *testing.T) {
	to := func(name string) scripted.Step {
		return scripted.Call("transfer_to_agent", map[string]string{"agent_name": name})
	}
	m := scripted.New(to("b"))
	sub := scripted.New(scripted.Say("B here."), scripted.Say("Still B."), to("c"), to("a"))
	root := mustLLM(agent.LLMConfig{Name: "a", Description: "is a", Model: m, SubAgents: []*agent.Agent{
		mustLLM(agent.LLMConfig{Name: "b", Description: "is b", Model: sub}),
		speaker("c", scripted.Say("C here.")),
	}})
	c := newChat(t, root)
	wantStory(t, c.say("one"), `
a: call transfer_to_agent{"agent_name":"b"}
a: transfer_to_agent returned {"result":"Transfer queued"} transfer b
b: B here. (end)`)
	wantStory(t, c.say("two"), "b: Still B. (end)")
	wantStory(t, c.say("three"), `
b: call transfer_to_agent{"agent_name":"c"}
b: transfer_to_agent returned {"result":"Transfer queued"} transfer c
c: C here. state{"c":"C here."} (end)`)
	if got := m.Requests()[0]; !strings.Contains(got.Instruction, "Agent name: b\nAgent description: is b\n") || strings.Contains(got.Instruction, "Your parent agent") || got.Tools[0].Name != "transfer_to_agent" {
		t.Errorf("the root's model is told %q", got.Instruction)
	}
	if got := sub.Requests()[0].Instruction; !strings.Contains(got, "Agent description: is a\n") || !strings.Contains(got, "Agent description: is c\n") || !strings.Contains(got, "Your parent agent is a.") {
		t.Errorf("b's model is told of its parent and its peer: %q", got)
	}
	if got := sub.Requests()[0].Contents(); got[1].Parts[1].Text != `[a] called tool `+"`transfer_to_agent` with parameters: "+`{"agent_name":"b"}` {
		t.Errorf("b gets the answer of a as %q", got[1].Parts[1].Text)
	}
}

func TestTransferRules(t *testing.T) {
	wrong := scripted.New(scripted.Call("transfer_to_agent", map[string]string{"agent_name": "missing"}), scripted.Say("Then not."))
	alone := scripted.New(scripted.Say("Alone."), scripted.Say("Again."))
	root := mustLLM(agent.LLMConfig{Name: "a", Model: wrong, SubAgents: []*agent.Agent{
		mustLLM(agent.LLMConfig{Name: "b", Model: alone, DisallowTransferToParent: true, DisallowTransferToPeers: true}),
		speaker("c"),
	}})
	wantStory(t, newChat(t, root).say("go"), `
a: call transfer_to_agent{"agent_name":"missing"}
a: transfer_to_agent returned {"status":"error","error_message":"agentName must be one of: b, c"}
a: Then not. (end)`)

	root = mustLLM(agent.LLMConfig{
		Name: "a", Model: scripted.New(
			scripted.Call("transfer_to_agent", map[string]string{"agentName": "b"}), scripted.Say("A again.")),
		SubAgents: []*agent.Agent{mustLLM(agent.LLMConfig{Name: "b", Model: alone, DisallowTransferToParent: true, DisallowTransferToPeers: true})},
	})
	c := newChat(t, root)
	c.say("one")
	if len(alone.Requests()[0].Tools) != 0 {
		t.Error("b may hand over although it must not")
	}
	// An agent that cannot hand back does not keep the conversation.
	wantStory(t, c.say("two"), "a: A again. (end)")
}

func TestSequential(t *testing.T) {
	second := scripted.New(scripted.Say("Two."))
	root := agent.Must(agent.NewSequential(agent.Config{Name: "seq", SubAgents: []*agent.Agent{
		speaker("a", scripted.Say("One.")),
		mustLLM(agent.LLMConfig{Name: "b", Model: second, Instruction: "After {a}"}),
	}}))
	wantStory(t, newChat(t, root).say("go"), "a: One. state{\"a\":\"One.\"}\nb: Two. (end)")
	if got := second.Requests()[0].Instruction; got != "After One." {
		t.Errorf("b's instruction is %q: it must see what a has left in the state", got)
	}
}

func TestLoop(t *testing.T) {
	done := tool.Must(tool.New(tool.Declaration{Name: "done"}, func(ctx *tool.Context, _ struct{}) (string, error) {
		ctx.Actions.Escalate, ctx.Actions.SkipSummarization = true, true
		return "", nil
	}))
	loop := func(limit int, steps ...scripted.Step) string {
		a := mustLLM(agent.LLMConfig{Name: "a", Model: scripted.New(steps...), Tools: []tool.Tool{done}})
		after := speaker("b", scripted.Say("b1"), scripted.Say("b2"), scripted.Say("b3"))
		root := agent.Must(agent.NewLoop(agent.Config{Name: "loop", SubAgents: []*agent.Agent{a, after}}, limit))
		var authors []string
		for _, ev := range newChat(t, root).say("go") {
			word := ev.Author
			if ev.TurnComplete {
				word += "!"
			}
			authors = append(authors, word)
		}
		return strings.Join(authors, " ")
	}
	if got := loop(2, scripted.Say("1"), scripted.Say("2")); got != "a b a b!" {
		t.Errorf("two rounds: %s", got)
	}
	if got := loop(0, scripted.Say("1"), scripted.Call("done", nil)); got != "a b a a" {
		t.Errorf("until it escalates: %s", got)
	}
}

// A loop without a maximum ends with the run that an agent in it ends.
func TestLoopEndsWithTheInvocation(t *testing.T) {
	rounds := 0
	ends := agent.Must(agent.New(agent.Config{Name: "ends"}, func(ctx *agent.Context, _ agent.Emit) error {
		if rounds++; rounds == 3 {
			ctx.EndInvocation()
		}
		return nil
	}))
	c := newChat(t, loop("inner", 0, ends, speaker("after", scripted.Say("1"), scripted.Say("2"))))
	wantStory(t, c.say("go"), `
after: 1 state{"after":"1"}
after: 2 state{"after":"2"}`)
	if rounds != 3 {
		t.Errorf("%d rounds, want 3", rounds)
	}
}

func TestParallelBranchesDoNotSeeEachOther(t *testing.T) {
	// Each waits for the other to have been asked, so they do run together.
	askedA, askedB := make(chan struct{}), make(chan struct{})
	ask := func(mine, other chan struct{}, text string) *scripted.Model {
		return scripted.New(func() scripted.Step {
			wait := scripted.Wait(other, scripted.Say(text))
			return func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
				close(mine)
				return wait(ctx, req)
			}
		}())
	}
	a, b := ask(askedA, askedB, "From A."), ask(askedB, askedA, "From B.")
	last := scripted.New(scripted.Say("Both."))
	root := agent.Must(agent.NewSequential(agent.Config{Name: "all", SubAgents: []*agent.Agent{
		agent.Must(agent.NewParallel(agent.Config{Name: "par", SubAgents: []*agent.Agent{
			mustLLM(agent.LLMConfig{Name: "a", Model: a}), mustLLM(agent.LLMConfig{Name: "b", Model: b}),
		}})),
		mustLLM(agent.LLMConfig{Name: "c", Model: last}),
	}}))
	events := newChat(t, root).say("go")
	got := story(events)
	if len(events) != 3 || !strings.Contains(got, "a@par.a: From A.") || !strings.Contains(got, "b@par.b: From B.") || !strings.HasSuffix(got, "c: Both. (end)") {
		t.Errorf("events:\n%s", got)
	}
	if n := len(last.Requests()[0].Contents()); n != 3 {
		t.Errorf("after the branches, %d contents are seen, want 3", n)
	}
}

func TestParallelFailureStopsTheOthers(t *testing.T) {
	root := agent.Must(agent.NewParallel(agent.Config{Name: "par", SubAgents: []*agent.Agent{
		mustLLM(agent.LLMConfig{Name: "a", Model: scripted.New(scripted.Fail(errors.New("boom")))}),
		mustLLM(agent.LLMConfig{Name: "b", Model: scripted.New(scripted.Wait(nil, scripted.Say("never")))}),
	}}))
	_, err := newChat(t, root).send(event.Text("user", "go"))
	if err == nil || !strings.Contains(err.Error(), "boom") {
		t.Errorf("error %v, want that of the branch that failed", err)
	}
}

func TestCustomAgentChangesAndDrops(t *testing.T) {
	child := speaker("child", scripted.Say("keep"), scripted.Say("drop"))
	root := agent.Must(agent.New(agent.Config{Name: "boss", SubAgents: []*agent.Agent{child}}, func(ctx *agent.Context, emit agent.Emit) error {
		for range 2 {
			err := child.Run(ctx, func(ev *event.Event) error {
				if ev.Content.Text() == "drop" {
					return nil
				}
				ev.Content = event.Text(event.RoleModel, ev.Content.Text()+"!")
				return emit(ev)
			})
			if err != nil {
				return err
			}
			if v, ok := ctx.State().Get("child"); !ok || string(v) != `"keep"` {
				return errors.New("the state does not hold what was emitted")
			}
		}
		return emit(&event.Event{Content: event.Text(event.RoleModel, "done by "+ctx.Agent().Name())})
	}))
	wantStory(t, newChat(t, root).say("go"), "child: keep! state{\"child\":\"keep\"}\nboss: done by boss")
}

func TestAgentAsTool(t *testing.T) {
	remember := tool.Must(tool.New(tool.Declaration{Name: "remember"}, func(ctx *tool.Context, _ struct{}) (string, error) {
		return "ok", errors.Join(ctx.State.Set("topic", "cats"), ctx.State.Set("temp:draft", 1))
	}))
	expert := mustLLM(agent.LLMConfig{
		Name: "expert", Description: "knows", Tools: []tool.Tool{remember},
		Model: scripted.New(scripted.Call("remember", nil), echo),
	})
	root := mustLLM(agent.LLMConfig{Name: "a", Tools: []tool.Tool{agent.AsTool(expert)}, Model: scripted.New(
		scripted.Call("expert", map[string]string{"request": "about cats"}), scripted.Say("So it is."))})
	wantStory(t, newChat(t, root).say("go"), `
a: call expert{"request":"about cats"}
a: expert returned {"result":"about cats"} state{"topic":"cats"}
a: So it is. (end)`)
}

// TestRefusedAgentAsTool has an agent whose model refuses: that is not an answer.
func TestRefusedAgentAsTool(t *testing.T) {
	expert := mustLLM(agent.LLMConfig{Name: "expert", Tools: []tool.Tool{lookup("look")}, Model: scripted.New(
		scripted.Call("look", map[string]string{"of": "x"}), scripted.Error("RESOURCE_EXHAUSTED", "nope"))})
	root := mustLLM(agent.LLMConfig{Name: "a", Tools: []tool.Tool{agent.AsTool(expert)}, Model: scripted.New(
		scripted.Call("expert", map[string]string{"request": "x"}), scripted.Say("A pity."))})
	wantStory(t, newChat(t, root).say("go"), `
a: call expert{"request":"x"}
a: expert returned {"status":"error","error_message":"RESOURCE_EXHAUSTED: nope"}
a: A pity. (end)`)
}

func TestModelIsInherited(t *testing.T) {
	m := scripted.New(scripted.Call("transfer_to_agent", map[string]string{"agent_name": "b"}), scripted.Say("With my parent's model."))
	root := mustLLM(agent.LLMConfig{Name: "a", Model: m, SubAgents: []*agent.Agent{mustLLM(agent.LLMConfig{Name: "b"})}})
	if got := newChat(t, root).say("go"); !strings.HasSuffix(story(got), "b: With my parent's model. (end)") {
		t.Errorf("events:\n%s", story(got))
	}
	_, err := newChat(t, mustLLM(agent.LLMConfig{Name: "a"})).send(event.Text("user", "x"))
	if err == nil || !strings.Contains(err.Error(), "no model found for agent a") {
		t.Errorf("error %v", err)
	}
}

func TestTreesThatCannotBe(t *testing.T) {
	child := speaker("child")
	agent.Must(agent.NewSequential(agent.Config{Name: "parent", SubAgents: []*agent.Agent{child}}))
	for name, make := range map[string]func() (*agent.Agent, error){
		"not a valid name":  func() (*agent.Agent, error) { return agent.NewLLM(agent.LLMConfig{Name: "two words"}) },
		`do not use "user"`: func() (*agent.Agent, error) { return agent.NewLLM(agent.LLMConfig{Name: "user"}) },
		"already a sub-agent": func() (*agent.Agent, error) {
			return agent.NewParallel(agent.Config{Name: "p", SubAgents: []*agent.Agent{child}})
		},
		"two agents are": func() (*agent.Agent, error) {
			return agent.NewParallel(agent.Config{Name: "p", SubAgents: []*agent.Agent{speaker("p")}})
		},
		"two tools are called": func() (*agent.Agent, error) {
			return agent.NewLLM(agent.LLMConfig{Name: "a", Tools: []tool.Tool{lookup("x"), lookup("x")}})
		},
		"is taken": func() (*agent.Agent, error) {
			return agent.NewLLM(agent.LLMConfig{Name: "a", Tools: []tool.Tool{lookup("transfer_to_agent")}})
		},
		"a sub-agent is nil": func() (*agent.Agent, error) {
			return agent.NewLoop(agent.Config{Name: "p", SubAgents: []*agent.Agent{nil}}, 1)
		},
		"a tool is nil": func() (*agent.Agent, error) { return agent.NewLLM(agent.LLMConfig{Name: "a", Tools: []tool.Tool{nil}}) },
	} {
		if _, err := make(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v, want one with %q", err, name)
		}
	}
}
