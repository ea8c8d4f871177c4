package agent_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

func callID(t *testing.T, events []*event.Event) string {
	t.Helper()
	for _, ev := range events {
		if len(ev.LongRunningToolIDs) == 1 {
			return ev.LongRunningToolIDs[0]
		}
	}
	t.Fatalf("no long-running call in:\n%s", story(events))
	return ""
}

func TestLongRunningTool(t *testing.T) {
	m := scripted.New(scripted.Call("approve", nil), scripted.Say("I have asked."), scripted.Say("Chatting."), scripted.Say("Still not."), scripted.Say("Approved."))
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Tools: []tool.Tool{later("approve", map[string]string{"ticket": "7"})}}))
	first := c.say("please")
	wantStory(t, first, `
a: call approve{}
a: approve returned {"ticket":"7"}
a: I have asked. (end)`)
	id := callID(t, first)
	c.say("meanwhile")
	wantStory(t, c.answer(id, "approve", `{"status":"pending","queue":3}`), "a: Still not. (end)")
	wantStory(t, c.answer(id, "approve", `{"ok":true}`), "a: Approved. (end)")

	// Nothing that was said is lost, and every call is followed by its answer.
	var seen []string
	for _, content := range m.Requests()[4].Contents() {
		line := content.Role
		for _, p := range content.Parts {
			switch {
			case p.FunctionCall != nil:
				line += " call"
			case p.FunctionResponse != nil:
				line += " " + string(p.FunctionResponse.Response)
			default:
				line += " " + p.Text
			}
		}
		seen = append(seen, line)
	}
	want := []string{
		"user please", "model call", `user {"ticket":"7"}`, "model I have asked.",
		"user meanwhile", "model Chatting.",
		"model call", `user {"status":"pending","queue":3}`, "model Still not.",
		"model call", `user {"ok":true}`,
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("the model sees (-want +got):\n%s", diff)
	}
}

func TestLongRunningToolWithoutReceiptEndsTheTurn(t *testing.T) {
	m := scripted.New(scripted.Call("approve", nil), scripted.Say("Approved."))
	c := newChat(t, mustLLM(agent.LLMConfig{Name: "a", Model: m, Tools: []tool.Tool{later("approve", nil)}}))
	first := c.say("please")
	wantStory(t, first, "a: call approve{}\na: approve returned {\"status\":\"pending\"}")
	wantStory(t, c.answer(callID(t, first), "approve", `{"ok":true}`), "a: Approved. (end)")
	// The answer came before anything else was said: it takes the receipt's place.
	if got := m.Requests()[1].Contents(); len(got) != 3 || string(got[2].Parts[0].FunctionResponse.Response) != `{"ok":true}` {
		t.Errorf("%d contents, want the question, the call and the answer", len(got))
	}
}

func TestWorkflowWaitsAndGoesOn(t *testing.T) {
	waiting := mustLLM(agent.LLMConfig{Name: "ask", Tools: []tool.Tool{later("approve", nil)}, Model: scripted.New(
		scripted.Call("approve", nil), scripted.Say("Approved."))})
	skipped := 0
	root := agent.Must(agent.NewSequential(agent.Config{
		Name:        "seq",
		BeforeAgent: []agent.Callback{func(*tool.Context) (*event.Content, error) { skipped++; return nil, nil }},
		SubAgents:   []*agent.Agent{speaker("first", scripted.Say("First.")), waiting, speaker("last", scripted.Say("Last."))},
	}))
	c := newChat(t, root)
	before := c.say("go")
	if got := story(before); strings.Contains(got, "last:") || !strings.HasSuffix(got, `approve returned {"status":"pending"}`) {
		t.Errorf("the workflow went on without the answer:\n%s", got)
	}
	wantStory(t, c.answer(callID(t, before), "approve", `{"ok":true}`), "ask: Approved.\nlast: Last. state{\"last\":\"Last.\"} (end)")
	if skipped != 1 {
		t.Errorf("the callback before the agent ran %d times, want once", skipped)
	}
}

// A loop that waits in every round still ends after the last.
func TestLoopThatWaitsKeepsCount(t *testing.T) {
	for name, tt := range map[string]struct {
		wrap func(*agent.Agent) *agent.Agent
		asks []string // the ends of the turns in which it waits
	}{
		"alone": {func(a *agent.Agent) *agent.Agent { return loop("again", 3, a) }, []string{"1", "2", "3"}},
		"beside others": {func(a *agent.Agent) *agent.Agent {
			return loop("again", 3, sequential("seq", a, quiet("other")))
		}, []string{"1", "2", "3"}},
		"in a branch": {func(a *agent.Agent) *agent.Agent {
			return loop("again", 3, parallel("par", a, quiet("other")))
		}, []string{"1", "2", "3"}},
		"in a loop": {func(a *agent.Agent) *agent.Agent {
			return loop("outer", 2, loop("inner", 2, a))
		}, []string{"1", "2", "3", "4"}},
		"below": {func(a *agent.Agent) *agent.Agent {
			return sequential("seq", loop("again", 3, mustLLM(agent.LLMConfig{Name: "top", Tools: []tool.Tool{agent.AsTool(loop("inside", 1, a))}, Model: scripted.New(
				scripted.Call("inside", nil), scripted.Say("x"), scripted.Call("inside", nil), scripted.Say("x"), scripted.Call("inside", nil), scripted.Say("x"))})))
		}, []string{"1", "2", "3"}},
		"in a tool": {func(a *agent.Agent) *agent.Agent {
			return mustLLM(agent.LLMConfig{Name: "top", Tools: []tool.Tool{agent.AsTool(loop("inside", 3, a))}, Model: scripted.New(scripted.Call("inside", nil), scripted.Say("x"))})
		}, []string{"1", "2", "3"}},
	} {
		t.Run(name, func(t *testing.T) {
			var steps []scripted.Step
			for range 6 {
				steps = append(steps, scripted.Call("approve", nil), scripted.Say("Approved."))
			}
			a := mustLLM(agent.LLMConfig{Name: "ask", Tools: []tool.Tool{later("approve", nil)}, Model: scripted.New(steps...)})
			c := newChat(t, tt.wrap(a))
			events := c.say("go")
			for i, round := range tt.asks {
				id := ""
				for _, ev := range events {
					for _, call := range ev.FunctionCalls() {
						if call.Name == "approve" {
							id = call.ID
						}
					}
				}
				if id == "" {
					t.Fatalf("it ended before round %s", round)
				}
				events = c.answer(id, "approve", `{"ok":true}`)
				if last := i == len(tt.asks)-1; last && strings.Contains(story(events), "call approve") {
					t.Errorf("it goes on after the last round:\n%s", story(events))
				}
			}
		})
	}
}

func TestParallelBranchesWaitForAllAnswers(t *testing.T) {
	branch := func(name string) *agent.Agent {
		return mustLLM(agent.LLMConfig{Name: name, Tools: []tool.Tool{later("approve", nil)}, Model: scripted.New(
			scripted.Call("approve", nil), scripted.Say(name+" approved."))})
	}
	root := agent.Must(agent.NewSequential(agent.Config{Name: "seq", SubAgents: []*agent.Agent{
		agent.Must(agent.NewParallel(agent.Config{Name: "par", SubAgents: []*agent.Agent{branch("a"), branch("b")}})),
		speaker("last", scripted.Say("Both approved.")),
	}}))
	c := newChat(t, root)
	ids := map[string]string{}
	for _, ev := range c.say("go") {
		if len(ev.LongRunningToolIDs) > 0 {
			ids[ev.Author] = ev.LongRunningToolIDs[0]
		}
	}
	wantStory(t, c.answer(ids["b"], "approve", `{"ok":true}`), "b@par.b: b approved.")
	wantStory(t, c.answer(ids["a"], "approve", `{"ok":true}`), "a@par.a: a approved.\nlast: Both approved. state{\"last\":\"Both approved.\"} (end)")
}

func TestAnswerGoesToTheAgentThatAsked(t *testing.T) {
	sub := mustLLM(agent.LLMConfig{Name: "b", Tools: []tool.Tool{later("approve", nil)}, DisallowTransferToParent: true, Model: scripted.New(
		scripted.Call("approve", nil), scripted.Say("B goes on."))})
	root := mustLLM(agent.LLMConfig{Name: "a", SubAgents: []*agent.Agent{sub}, Model: scripted.New(
		scripted.Call("transfer_to_agent", map[string]string{"agent_name": "b"}), scripted.Say("A chats."))})
	c := newChat(t, root)
	id := callID(t, c.say("go"))
	wantStory(t, c.say("hello?"), "a: A chats. (end)")
	wantStory(t, c.answer(id, "approve", `{"ok":true}`), "b: B goes on. (end)")
}
