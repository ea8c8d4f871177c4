package agent_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// A client calls one tool: no model is asked, nothing else in the tree runs, and a crash
// at any moment makes no difference.
func TestSingleCall(t *testing.T) {
	t.Parallel()
	tree := func(w *world) *agent.Agent {
		tools := []tool.Tool{w.tool("pure"), w.tool("once"), tool.Confirm(w.tool("pure_asks"), nil), w.later("pure_later", nil), w.tool("pure_moves", func(a *event.Actions) { a.TransferToAgent = "other" })}
		other := w.llm("other", nil)
		return sequential("root", w.llm("first", nil), w.llm("callee", tools), other)
	}
	for name, tt := range map[string]struct {
		tool  string
		turns []string
		want  string // of the last run
		waits bool
	}{
		"a result":            {"pure", nil, "done", false},
		"an effect":           {"once", nil, "done", false},
		"a transfer":          {"pure_moves", nil, "done", false},
		"no such tool":        {"missing", nil, "There is no tool missing", false},
		"a question":          {"pure_asks", nil, "requires confirmation", true},
		"an approval":         {"pure_asks", []string{"approve pure_asks"}, "done", false},
		"a rejection":         {"pure_asks", []string{"reject pure_asks"}, "rejected", false},
		"a wait":              {"pure_later", nil, "pending", true},
		"an answer to a wait": {"pure_later", []string{"answer pure_later"}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := scene{tree: tree, turns: append([]string{"go"}, tt.turns...), maxCalls: 9, call: &agentrt.ToolCall{Agent: "callee", Tool: tt.tool, Args: json.RawMessage("{}")}}
			p := s.play(t)
			if waits := errors.Is(p.err, agent.ErrWaiting); waits != tt.waits || p.err != nil && !waits {
				t.Errorf("the end is %v", p.err)
			}
			events := p.events[p.first:]
			last := events[len(events)-1]
			for _, ev := range events[1:] {
				if ev.Author != "callee" {
					t.Errorf("%s runs:\n%s", ev.Author, story(events))
				}
			}
			if tt.want == "" {
				if len(events) != 1 {
					t.Errorf("something follows the answer:\n%s", story(events))
				}
				return
			}
			if r := last.FunctionResponses(); len(r) != 1 || !strings.Contains(string(r[0].Response), tt.want) || !last.Actions.SkipSummarization {
				t.Errorf("the last event is not the result:\n%s", story(events))
			}
		})
	}
}

// The conversation stays with the agent that has it.
func TestSingleCallKeepsTheSpeaker(t *testing.T) {
	t.Parallel()
	tp := newTape()
	w := &world{runs: map[string]int{}}
	sub := w.llm("sub", []tool.Tool{w.tool("pure")})
	root := mustLLM(agent.LLMConfig{Name: "root", Model: w.model(scripted.Say("Hello."), scripted.Say("Hello.")), SubAgents: []*agent.Agent{sub}})
	run := func(call *agentrt.ToolCall) {
		t.Helper()
		message := event.Text(event.RoleUser, "go")
		if err := tp.emit(&event.Event{Author: event.User, Content: message}); err != nil {
			t.Fatal(err)
		}
		inv := &agentrt.Invocation{App: "app", User: "u", Session: "s", ID: tp.id, UserContent: message, Log: tp, Call: call}
		if err := inv.Start(t.Context(), root, tp.emit); err != nil {
			t.Fatalf("%v\n%s", err, story(tp.events))
		}
	}
	run(&agentrt.ToolCall{Agent: "sub", Tool: "pure", Args: json.RawMessage("{}")})
	tp.id = "run-2"
	run(nil)
	if last := tp.events[len(tp.events)-1]; last.Author != "root" {
		t.Errorf("%s answers:\n%s", last.Author, story(tp.events))
	}
	tp.id = "run-3"
	inv := &agentrt.Invocation{ID: tp.id, UserContent: event.Text(event.RoleUser, "go"), Log: tp, Call: &agentrt.ToolCall{Agent: "none"}}
	if err := inv.Start(t.Context(), root, tp.emit); err == nil || !strings.Contains(err.Error(), "no agent none") {
		t.Errorf("an agent that does not exist: %v", err)
	}
}
