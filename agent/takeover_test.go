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

func handTo(name string) scripted.Step {
	return scripted.Call("transfer_to_agent", map[string]string{"agent_name": name})
}

func sequential(name string, subs ...*agent.Agent) *agent.Agent {
	return agent.Must(agent.NewSequential(agent.Config{Name: name, SubAgents: subs}))
}

func loop(name string, limit int, subs ...*agent.Agent) *agent.Agent {
	return agent.Must(agent.NewLoop(agent.Config{Name: name, SubAgents: subs}, limit))
}

func parallel(name string, subs ...*agent.Agent) *agent.Agent {
	return agent.Must(agent.NewParallel(agent.Config{Name: name, SubAgents: subs}))
}

// custom says something after its sub-agents.
func custom(name string, subs ...*agent.Agent) *agent.Agent {
	return agent.Must(agent.New(agent.Config{Name: name, SubAgents: subs}, func(ctx *agent.Context, emit agent.Emit) error {
		for _, sub := range subs {
			if err := sub.Run(ctx, emit); err != nil {
				return err
			}
		}
		return emit(&event.Event{Content: event.Text(event.RoleModel, "callback or function "+name)})
	}))
}

func tools(all ...tool.Tool) []tool.Tool { return all }

// quiet says nothing, and escalates nothing.
func quiet(name string) *agent.Agent {
	return agent.Must(agent.New(agent.Config{Name: name}, func(*agent.Context, agent.Emit) error { return nil }))
}

// speaks is a callback that says something.
func speaks(text string) agent.Callback {
	return func(ctx *tool.Context) (*event.Content, error) {
		return event.Text(event.RoleModel, "callback "+text), ctx.State.Set(text, 1)
	}
}

// silent is a callback that only changes the state.
func silent(key string) agent.Callback {
	return func(ctx *tool.Context) (*event.Content, error) {
		return nil, ctx.State.Set(key, 1)
	}
}

// everyOther is a callback that speaks every other time, by what the agent has
// said before.
func everyOther(agentName string) agent.Callback {
	return func(ctx *tool.Context) (*event.Content, error) {
		n := 0
		for ev := range agent.FromTool(ctx).Events() {
			if ev.Author == agentName && ev.Content != nil && !strings.HasPrefix(ev.Content.Text(), "callback") {
				n++
			}
		}
		if n%2 == 0 {
			return nil, nil
		}
		return event.Text(event.RoleModel, "callback of an odd round"), nil
	}
}

func TestTakeoverLLM(t *testing.T) {
	t.Parallel()
	say := scripted.Say
	for name, s := range map[string]scene{
		"no tools": {tree: func(w *world) *agent.Agent { return w.llm("a", nil, say("one")) }},
		"a call of every effect": {tree: func(w *world) *agent.Agent {
			return w.llm("a", tools(w.tool("once"), w.tool("pure"), w.tool("idempotent")), calls("once"), calls("pure"), calls("idempotent"), say("done"))
		}},
		"calls together": {tree: func(w *world) *agent.Agent {
			return w.llm("a", tools(w.tool("once"), w.tool("once_more"), w.tool("pure"), w.tool("idempotent")),
				calls("once", "pure", "once_more", "idempotent"), calls("pure", "missing"), calls("once", "once_more"), say("done"))
		}},
		"calls numbered by the model": {numbered: true, tree: func(w *world) *agent.Agent {
			numbered := scripted.Calls(
				&event.FunctionCall{ID: "1", Name: "once", Args: json.RawMessage("{}")},
				&event.FunctionCall{ID: "2", Name: "once_more", Args: json.RawMessage("{}")})
			return w.llm("a", tools(w.tool("once"), w.tool("once_more")), numbered, numbered, say("done"))
		}},
		"the results are the answer": {tree: func(w *world) *agent.Agent {
			end := func(a *event.Actions) { a.SkipSummarization = true }
			return sequential("all", w.llm("a", tools(w.tool("pure", end)), calls("pure")), w.llm("b", nil, say("after")))
		}},
		"a refusal": {tree: func(w *world) *agent.Agent {
			return sequential("all", w.llm("a", nil, scripted.Error("REFUSED", "no")), w.llm("b", nil, say("b")))
		}},
		"too many model calls": {maxCalls: 3, tree: func(w *world) *agent.Agent {
			return w.llm("a", tools(w.tool("pure")), calls("pure"), calls("pure"), calls("pure"), calls("pure"))
		}},
		"an agent as a tool": {tree: func(w *world) *agent.Agent {
			inner := mustLLM(agent.LLMConfig{Name: "agent_inside", Model: scripted.Func(say("inner"))})
			return w.llm("a", tools(agent.AsTool(inner), w.tool("pure")), calls("agent_inside"), calls("pure"), say("done"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.turns = []string{"go"}
			s.play(t)
		})
	}
}

func TestTakeoverTransfer(t *testing.T) {
	t.Parallel()
	say := scripted.Say
	for name, s := range map[string]scene{
		"down, aside and up": {turns: []string{"one", "two", "three"}, tree: func(w *world) *agent.Agent {
			return mustLLM(agent.LLMConfig{
				Name: "a", Model: w.model(handTo("b"), say("a at last")),
				SubAgents: []*agent.Agent{
					w.llm("b", tools(w.tool("once")), calls("once"), say("b"), say("b again"), handTo("c")),
					w.llm("c", nil, handTo("a")),
				},
			})
		}},
		"and callbacks after all": {turns: []string{"one"}, tree: func(w *world) *agent.Agent {
			return mustLLM(agent.LLMConfig{
				Name: "a", Model: w.model(handTo("b"), say("a at last")), AfterAgent: []agent.Callback{everyOther("b"), speaks("after a")},
				SubAgents: []*agent.Agent{mustLLM(agent.LLMConfig{Name: "b", Model: w.model(handTo("a")), AfterAgent: []agent.Callback{silent("after b")}})},
			})
		}},
		"together with other calls": {turns: []string{"one"}, tree: func(w *world) *agent.Agent {
			both := scripted.Calls(
				&event.FunctionCall{Name: "pure", Args: json.RawMessage("{}")},
				&event.FunctionCall{Name: "transfer_to_agent", Args: json.RawMessage(`{"agent_name":"b"}`)})
			return mustLLM(agent.LLMConfig{Name: "a", Model: w.model(both), Tools: tools(w.tool("pure")), SubAgents: []*agent.Agent{w.llm("b", nil, say("b"))}})
		}},
		"into a workflow": {turns: []string{"one"}, tree: func(w *world) *agent.Agent {
			return mustLLM(agent.LLMConfig{Name: "a", Model: w.model(handTo("all")), SubAgents: []*agent.Agent{
				sequential("all", w.llm("b", tools(w.tool("once")), calls("once"), say("b")), parallel("par", w.llm("c", nil, say("c")), w.llm("d", nil, say("d")))),
			}})
		}},
		"in a branch": {turns: []string{"one"}, tree: func(w *world) *agent.Agent {
			return parallel("par",
				mustLLM(agent.LLMConfig{Name: "a", Model: w.model(handTo("b")), SubAgents: []*agent.Agent{w.llm("b", tools(w.tool("once")), calls("once"), say("b"))}}),
				w.llm("c", tools(w.tool("pure")), calls("pure"), say("c")))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.play(t)
		})
	}
}

func TestTakeoverCallbacks(t *testing.T) {
	t.Parallel()
	say := scripted.Say
	with := func(w *world, name string, before, after []agent.Callback, steps ...scripted.Step) *agent.Agent {
		return mustLLM(agent.LLMConfig{Name: name, Model: w.model(steps...), Tools: tools(w.tool("once")), BeforeAgent: before, AfterAgent: after})
	}
	for name, tree := range map[string]func(w *world) *agent.Agent{
		"that change the state": func(w *world) *agent.Agent {
			return sequential("all", with(w, "a", []agent.Callback{silent("x")}, []agent.Callback{silent("y")}, calls("once"), say("a")), w.llm("b", nil, say("b")))
		},
		"that speak after": func(w *world) *agent.Agent {
			return sequential("all", with(w, "a", []agent.Callback{silent("x")}, []agent.Callback{speaks("y")}, say("a")), w.llm("b", nil, say("b")))
		},
		"that answer before": func(w *world) *agent.Agent {
			return sequential("all", with(w, "a", []agent.Callback{speaks("x")}, []agent.Callback{speaks("y")}, say("a")), w.llm("b", nil, say("b")))
		},
		"of workflows": func(w *world) *agent.Agent {
			inner := agent.Must(agent.NewSequential(agent.Config{
				Name: "inner", SubAgents: []*agent.Agent{w.llm("a", nil, say("a")), w.llm("b", nil, say("b"))},
				BeforeAgent: []agent.Callback{silent("x")}, AfterAgent: []agent.Callback{speaks("y")},
			}))
			instead := agent.Must(agent.NewParallel(agent.Config{
				Name: "instead", SubAgents: []*agent.Agent{w.llm("c", nil, say("c"))},
				BeforeAgent: []agent.Callback{speaks("z")},
			}))
			return sequential("all", inner, instead, w.llm("d", nil, say("d")))
		},
		"in a loop, sometimes": func(w *world) *agent.Agent {
			return loop("again", 4, with(w, "a", nil, []agent.Callback{everyOther("a")}, say("a1"), say("a2"), say("a3"), say("a4")))
		},
		"in branches of a loop": func(w *world) *agent.Agent {
			return loop("again", 3, parallel("par",
				with(w, "a", []agent.Callback{silent("x")}, []agent.Callback{everyOther("a")}, say("a1"), say("a2"), say("a3")),
				with(w, "b", nil, []agent.Callback{silent("y")}, say("b1"), say("b2"), say("b3"))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scene{tree: tree, turns: []string{"go"}}.play(t)
		})
	}
	t.Run("do not count as model calls", func(t *testing.T) {
		t.Parallel()
		scene{maxCalls: 2, turns: []string{"go"}, tree: func(w *world) *agent.Agent {
			return loop("again", 0, with(w, "a", []agent.Callback{silent("x")}, []agent.Callback{speaks("y")}, say("a1"), say("a2")))
		}}.play(t)
	})
}

func TestTakeoverWorkflows(t *testing.T) {
	t.Parallel()
	say := scripted.Say
	leave := func(a *event.Actions) { a.Escalate, a.SkipSummarization = true, true }
	for name, tree := range map[string]func(w *world) *agent.Agent{
		"sequential": func(w *world) *agent.Agent {
			return sequential("all", w.llm("a", tools(w.tool("once")), calls("once"), say("a")), w.llm("b", tools(w.tool("pure")), calls("pure"), say("b")), w.llm("c", nil, say("c")))
		},
		"loop with a maximum": func(w *world) *agent.Agent {
			return loop("again", 3, w.llm("a", nil, say("a1"), say("a2"), say("a3")), w.llm("b", tools(w.tool("idempotent")), calls("idempotent"), say("b1"), say("b2"), calls("idempotent"), say("b3")))
		},
		"loop until it is left": func(w *world) *agent.Agent {
			return sequential("all",
				loop("again", 0, w.llm("a", tools(w.tool("pure", leave)), say("a1"), say("a2"), calls("pure")), w.llm("b", nil, say("b1"), say("b2"))),
				w.llm("c", nil, say("c")))
		},
		"parallel": func(w *world) *agent.Agent {
			return parallel("par", w.llm("a", tools(w.tool("once"), w.tool("pure")), calls("once", "pure"), say("a")), w.llm("b", tools(w.tool("idempotent")), calls("idempotent"), say("b")), w.llm("c", nil, say("c")))
		},
		"nested": func(w *world) *agent.Agent {
			return sequential("all",
				loop("again", 2,
					parallel("par",
						w.llm("a", tools(w.tool("once")), calls("once"), say("a1"), say("a2")),
						sequential("two", w.llm("b", nil, say("b1"), say("b2")), parallel("deep", w.llm("c", nil, say("c1"), say("c2")), w.llm("d", nil, say("d1"), say("d2"))))),
					w.llm("e", nil, say("e1"), say("e2"))),
				w.llm("f", nil, say("f")))
		},
		"left from a branch": func(w *world) *agent.Agent {
			return loop("again", 3, parallel("par", w.llm("a", tools(w.tool("pure", leave)), say("a1"), calls("pure")), w.llm("b", nil, say("b1"), say("b2"))), w.llm("c", nil, say("c1")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scene{tree: tree, turns: []string{"go"}}.play(t)
		})
	}
}

func TestTakeoverWaits(t *testing.T) {
	t.Parallel()
	say := scripted.Say
	receipt := map[string]string{"status": "pending"} // no more than what stands for none
	for name, s := range map[string]scene{
		"with a receipt": {turns: []string{"go", "meanwhile", "answer pure"}, tree: func(w *world) *agent.Agent {
			return w.llm("a", tools(w.later("pure", receipt)), calls("pure"), say("asked"), say("chat"), say("thanks"))
		}},
		"without a receipt": {turns: []string{"go", "answer idempotent"}, tree: func(w *world) *agent.Agent {
			return w.llm("a", tools(w.later("idempotent", nil)), calls("idempotent"), say("thanks"))
		}},
		"beside other calls": {turns: []string{"go", "answer pure_b", "answer pure_a"}, tree: func(w *world) *agent.Agent {
			return w.llm("a", tools(w.later("pure_a", nil), w.later("pure_b", receipt), w.tool("once")),
				calls("pure_a", "once", "pure_b"), say("one is missing"), say("thanks"))
		}},
		"in a workflow": {turns: []string{"go", "answer pure"}, tree: func(w *world) *agent.Agent {
			return sequential("all", w.llm("a", nil, say("a")),
				loop("again", 1, w.llm("b", tools(w.later("pure", nil), w.tool("once")), calls("pure"), calls("once"), say("b"))), w.llm("c", nil, say("c")))
		}},
		"in the last round": {turns: []string{"go", "answer pure"}, tree: func(w *world) *agent.Agent {
			return loop("again", 2, w.llm("a", nil, say("a1"), say("a2")),
				w.llm("b", tools(w.later("pure", nil), w.tool("once")), say("b1"), calls("pure"), calls("once"), say("b2")))
		}},
		"in branches": {turns: []string{"go", "answer pure_b", "answer pure_a"}, tree: func(w *world) *agent.Agent {
			return sequential("all", parallel("par",
				w.llm("a", tools(w.later("pure_a", nil)), calls("pure_a"), say("a")),
				sequential("two", w.llm("b", tools(w.later("pure_b", receipt)), calls("pure_b"), say("asked"), say("b")), w.llm("c", nil, say("c"))),
				w.llm("d", nil, say("d"))), w.llm("e", nil, say("e")))
		}},
		"below who handed over": {turns: []string{"go", "answer pure"}, tree: func(w *world) *agent.Agent {
			return mustLLM(agent.LLMConfig{Name: "a", Model: w.model(handTo("b")), SubAgents: []*agent.Agent{
				w.llm("b", tools(w.later("pure", nil), w.tool("once")), calls("pure"), calls("once"), say("b")),
			}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.play(t)
		})
	}
}

func TestTakeoverConfirmations(t *testing.T) {
	t.Parallel()
	say := scripted.Say
	ask := func(w *world, name string) tool.Tool { return tool.Confirm(w.tool(name), nil) }
	for name, s := range map[string]scene{
		"approved": {turns: []string{"go", "meanwhile", "approve once"}, tree: func(w *world) *agent.Agent {
			return w.llm("a", tools(ask(w, "once"), w.tool("pure")), calls("once"), say("chat"), calls("pure"), say("thanks"))
		}},
		"rejected": {turns: []string{"go", "reject once"}, tree: func(w *world) *agent.Agent {
			return w.llm("a", tools(ask(w, "once")), calls("once"), say("a pity"))
		}},
		"beside other calls": {turns: []string{"go", "approve once_b", "reject idempotent", "approve once_a"}, tree: func(w *world) *agent.Agent {
			return w.llm("a", tools(ask(w, "once_a"), ask(w, "once_b"), ask(w, "idempotent"), w.tool("once")),
				calls("once_a", "once", "once_b", "idempotent"), say("two are missing"), say("one is missing"), say("thanks"))
		}},
		"asked again": {turns: []string{"go", "approve once", "approve pure"}, tree: func(w *world) *agent.Agent {
			return w.llm("a", tools(ask(w, "once"), ask(w, "pure")), calls("once"), calls("pure"), say("thanks"))
		}},
		"in branches of a workflow": {turns: []string{"go", "approve once_b", "approve once_a"}, tree: func(w *world) *agent.Agent {
			return sequential("all", parallel("par",
				w.llm("a", tools(ask(w, "once_a")), calls("once_a"), say("a")),
				w.llm("b", tools(ask(w, "once_b")), calls("once_b"), say("b"))), w.llm("c", nil, say("c")))
		}},
		"below who handed over": {turns: []string{"go", "approve once"}, tree: func(w *world) *agent.Agent {
			return mustLLM(agent.LLMConfig{Name: "a", Model: w.model(handTo("b")), SubAgents: []*agent.Agent{
				w.llm("b", tools(ask(w, "once"), w.tool("once_more")), calls("once"), calls("once_more"), say("b")),
			}})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.play(t)
		})
	}
}

func TestTakeoverCustomAgents(t *testing.T) {
	t.Parallel()
	say := scripted.Say
	for name, s := range map[string]scene{
		"in a sequence": {lost: map[string]string{"fn": "fn"}, tree: func(w *world) *agent.Agent {
			return sequential("all", w.llm("a", nil, say("a")), custom("fn"), w.llm("b", tools(w.tool("once")), calls("once"), say("b")))
		}},
		"above others": {lost: map[string]string{"fn": "fn", "a": "fn", "inner": "fn"}, tree: func(w *world) *agent.Agent {
			return loop("again", 1, custom("fn", w.llm("a", tools(w.tool("once")), calls("once"), say("a")), custom("inner")), w.llm("b", nil, say("b")))
		}},
		"that say nothing": {tree: func(w *world) *agent.Agent {
			return loop("again", 2, quiet("first"), w.llm("a", nil, say("a1"), say("a2")), quiet("last"))
		}},
		"in a branch that is done": {from: 4, tree: func(w *world) *agent.Agent {
			return sequential("all", parallel("par", custom("fn"), w.llm("a", nil, say("a"))), w.llm("b", tools(w.tool("pure")), calls("pure"), say("b")))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.turns = []string{"go"}
			s.play(t)
		})
	}
}
