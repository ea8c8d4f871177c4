package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// asks is a node that asks the user.
func (w *world) asks(name string, rerun bool) *agent.Node {
	return w.node(name, agent.NodeConfig{RerunOnResume: rerun}, func(ctx *agent.NodeContext, in any) (any, error) {
		if err := ctx.Emit(&event.Event{Content: event.Text(event.RoleModel, "I have a question.")}); err != nil {
			return nil, err
		}
		answer, err := ctx.RequestInput(agent.InputRequest{Message: "what?"})
		return fmt.Sprintf("%v+%s", in, answer), err
	})
}

// args is a node whose output are the arguments of a tool that needs none.
func (w *world) args() *agent.Node {
	return w.node("args", agent.NodeConfig{}, func(*agent.NodeContext, any) (any, error) { return json.RawMessage("{}"), nil })
}

func nodeOf(a *agent.Agent) *agent.Node { return agent.AgentNode(a, agent.NodeConfig{}) }

// until is a node that takes the route "again" until its input is long enough.
func (w *world) until(name string, n int) *agent.Node {
	return w.node(name, agent.NodeConfig{}, func(ctx *agent.NodeContext, in any) (any, error) {
		text := fmt.Sprint(in)
		if strings.Count(text, "+") < n {
			ctx.SetRoute("again")
		}
		return text, nil
	})
}

const answerInput = "answer " + tool.InputCall

func TestTakeoverWorkflow(t *testing.T) {
	t.Parallel()
	say := scripted.Say
	start, chain := agent.Start, agent.Chain
	for name, s := range map[string]scene{
		"a chain of functions": {tree: func(w *world) *agent.Agent {
			return workflow("wf", chain(start, w.adds("a"), w.adds("b"), w.adds("c")))
		}},
		"agents and tools": {tree: func(w *world) *agent.Agent {
			return workflow("wf", chain(start, w.adds("a"),
				nodeOf(w.llm("llm_b", tools(w.tool("once"), w.tool("pure")), calls("once", "pure"), say("said"))),
				nodeOf(w.llm("llm_c", nil, say("{}"))),
				agent.ToolNode(w.tool("pure"), agent.NodeConfig{}), w.adds("d")))
		}},
		"a loop": {tree: func(w *world) *agent.Agent {
			a, l, u := w.adds("a"), nodeOf(w.llm("llm_b", tools(w.tool("idempotent")), calls("idempotent"), say("x+y"))), w.until("u", 3)
			return workflow("wf", chain(start, l, a, u, agent.Routes{"again": a, agent.DefaultRoute: w.adds("end")}))
		}},
		"a loop of agents": {tree: func(w *world) *agent.Agent {
			count := w.node("count", agent.NodeConfig{}, func(ctx *agent.NodeContext, in any) (any, error) {
				if ctx.RunID() != "3" {
					ctx.SetRoute("again")
				}
				return in, nil
			})
			l := nodeOf(w.llm("llm_b", tools(w.tool("once")), calls("once"), say("again")))
			return workflow("wf", chain(start, l, count, agent.Routes{"again": l, agent.DefaultRoute: w.adds("end")}))
		}},
		"a fan with a join": {tree: func(w *world) *agent.Agent {
			return workflow("wf", chain(start, w.adds("a"),
				agent.Fan{w.adds("b"), nodeOf(w.llm("llm_c", tools(w.tool("once")), calls("once"), say("c"))), nodeOf(w.llm("llm_d", nil, say("d")))},
				agent.Join("join"), w.adds("end")))
		}},
		"a fan into one node": {anyOrder: true, tree: func(w *world) *agent.Agent {
			end := w.adds("end")
			return workflow("wf", chain(start, agent.Fan{w.adds("b"), w.adds("c")}, end))
		}},
		"the answer is the output": {turns: []string{"go", answerInput}, tree: func(w *world) *agent.Agent {
			return workflow("wf", chain(start, w.adds("a"), w.asks("b", false), nodeOf(w.llm("llm_c", nil, say("c"))), w.adds("d")))
		}},
		"the answer is the input": {turns: []string{"go", answerInput}, tree: func(w *world) *agent.Agent {
			return workflow("wf", chain(start, w.adds("a"), w.asks("b", true), nodeOf(w.llm("llm_c", tools(w.tool("once")), calls("once"), say("c"))), w.adds("d")))
		}},
		"two that wait": {turns: []string{"go", answerInput, answerInput}, tree: func(w *world) *agent.Agent {
			return workflow("wf", chain(start, agent.Fan{w.asks("b", true), w.asks("c", false), nodeOf(w.llm("llm_d", nil, say("d")))}, agent.Join("join"), w.adds("end")))
		}},
		"one after the other waits": {turns: []string{"go", answerInput, answerInput}, tree: func(w *world) *agent.Agent {
			return workflow("wf", chain(start, w.asks("b", true), w.adds("m"), w.asks("c", false), w.adds("end")))
		}},
		"an agent that waits": {turns: []string{"go", "answer pure_later"}, tree: func(w *world) *agent.Agent {
			return workflow("wf", chain(start, w.adds("a"),
				nodeOf(w.llm("llm_b", tools(w.later("pure_later", map[string]int{"ticket": 1})), calls("pure_later"), say("asked"), say("done"))), w.adds("c")))
		}},
		"a tool that waits": {turns: []string{"go", "answer pure_later"}, tree: func(w *world) *agent.Agent {
			return workflow("wf", chain(start, w.args(), agent.ToolNode(w.later("pure_later", map[string]int{"ticket": 1}), agent.NodeConfig{}), w.adds("c")))
		}},
		"a tool that waits without a receipt": {turns: []string{"go", "answer pure_later"}, tree: func(w *world) *agent.Agent {
			return workflow("wf", chain(start, w.args(), agent.ToolNode(w.later("pure_later", nil), agent.NodeConfig{}), w.adds("c")))
		}},
		"a tool that is approved": {turns: []string{"go", "approve pure"}, tree: func(w *world) *agent.Agent {
			return workflow("wf", chain(start, w.args(), agent.ToolNode(tool.Confirm(w.tool("pure"), nil), agent.NodeConfig{}), w.adds("c")))
		}},
		"a tool that is rejected": {turns: []string{"go", "reject once"}, tree: func(w *world) *agent.Agent {
			return workflow("wf", chain(start, w.args(), agent.ToolNode(tool.Confirm(w.tool("once"), nil), agent.NodeConfig{}), w.adds("c")))
		}},
		"a tool that is approved and waits": {turns: []string{"go", "approve pure_later", "answer pure_later"}, tree: func(w *world) *agent.Agent {
			return workflow("wf", chain(start, w.args(), agent.ToolNode(tool.Confirm(w.later("pure_later", nil), nil), agent.NodeConfig{}), w.adds("c")))
		}},
		"tools that wait beside each other": {turns: []string{"go", "answer pure_later", "approve pure"}, tree: func(w *world) *agent.Agent {
			return workflow("wf", chain(start, w.args(), agent.Fan{
				agent.ToolNode(w.later("pure_later", nil), agent.NodeConfig{}), agent.ToolNode(tool.Confirm(w.tool("pure"), nil), agent.NodeConfig{}),
			}, agent.Join("join"), w.adds("c")))
		}},
		"a retry": {retries: true, tree: func(w *world) *agent.Agent {
			flaky := w.node("flaky", agent.NodeConfig{Retry: &agent.Retry{InitialDelay: time.Nanosecond}}, func(ctx *agent.NodeContext, in any) (any, error) {
				if err := ctx.Emit(&event.Event{Content: event.Text(event.RoleModel, fmt.Sprint("attempt ", ctx.Attempt()))}); err != nil {
					return nil, err
				}
				if ctx.Attempt() < 3 {
					return nil, errors.New("not yet")
				}
				return in, nil
			})
			return workflow("wf", chain(start, w.adds("a"), flaky, w.adds("b")))
		}},
		"a failure": {tree: func(w *world) *agent.Agent {
			bad := w.node("bad", agent.NodeConfig{}, func(*agent.NodeContext, any) (any, error) { return nil, errors.New("no luck") })
			return workflow("wf", chain(start, w.adds("a"), bad, w.adds("b")))
		}},
		"workflows in workflows": {turns: []string{"go", answerInput}, tree: func(w *world) *agent.Agent {
			inner := workflow("inner", chain(start, w.adds("b"), w.asks("c", true), nodeOf(w.llm("llm_d", nil, say("d")))))
			return workflow("wf", chain(start, w.adds("a"), nodeOf(inner), w.adds("e")))
		}},
		"a workflow in a loop of a workflow": {tree: func(w *world) *agent.Agent {
			inner := nodeOf(workflow("inner", chain(start, nodeOf(w.llm("llm_d", tools(w.tool("once")), calls("once"), say("d"))), w.adds("b"))))
			count := w.node("count", agent.NodeConfig{}, func(ctx *agent.NodeContext, in any) (any, error) {
				if ctx.RunID() != "2" {
					ctx.SetRoute("again")
				}
				return in, nil
			})
			return workflow("wf", chain(start, inner, count, agent.Routes{"again": inner}))
		}},
		"a workflow in a sequence": {turns: []string{"go", answerInput}, tree: func(w *world) *agent.Agent {
			wf := workflow("wf", chain(start, w.adds("a"), w.asks("b", false), w.adds("c")))
			return sequential("all", w.llm("llm_x", nil, say("x")), wf, w.llm("llm_y", nil, say("y")))
		}},
		"a workflow in a loop": {tree: func(w *world) *agent.Agent {
			return loop("all", 2, workflow("wf", chain(start, w.adds("a"), nodeOf(w.llm("llm_b", nil, say("b"))), w.adds("c"))))
		}},
		"a workflow in a loop waits": {turns: []string{"go", answerInput, answerInput}, tree: func(w *world) *agent.Agent {
			return loop("all", 2, workflow("wf", chain(start, w.adds("a"), w.asks("b", true), w.adds("c"))))
		}},
		"a workflow beside another agent": {tree: func(w *world) *agent.Agent {
			return parallel("all", workflow("wf", chain(start, w.adds("a"), nodeOf(w.llm("llm_b", nil, say("b"))), w.adds("c"))),
				w.llm("llm_x", tools(w.tool("pure")), calls("pure"), say("x")))
		}},
		"agents in agents in nodes": {tree: func(w *world) *agent.Agent {
			return workflow("wf", chain(start, w.adds("a"),
				nodeOf(sequential("seq", w.llm("llm_b", nil, say("b")), parallel("par", w.llm("llm_c", tools(w.tool("pure")), calls("pure"), say("c")), w.llm("llm_d", nil, say("d"))))),
				w.adds("e")))
		}},
		"nodes that a node runs": {tree: func(w *world) *agent.Agent {
			a, l := w.adds("a"), nodeOf(w.llm("llm_b", tools(w.tool("once")), calls("once"), say("b")))
			outer := w.node("outer", agent.NodeConfig{}, func(ctx *agent.NodeContext, in any) (any, error) {
				first, err := ctx.RunNode(a, in, nil)
				if err != nil {
					return nil, err
				}
				if _, err := ctx.RunNode(l, first, nil); err != nil {
					return nil, err
				}
				return ctx.RunNode(l, first, nil)
			})
			return workflow("wf", chain(start, outer, w.adds("end")))
		}},
		"a node that a node runs waits": {turns: []string{"go", answerInput}, tree: func(w *world) *agent.Agent {
			a, b := w.adds("a"), w.asks("b", true)
			outer := w.node("outer", agent.NodeConfig{}, func(ctx *agent.NodeContext, in any) (any, error) {
				first, err := ctx.RunNode(a, in, nil)
				if err != nil {
					return nil, err
				}
				return ctx.RunNode(b, first, nil)
			})
			return workflow("wf", chain(start, outer, w.adds("end")))
		}},
		"workers": {tree: func(w *world) *agent.Agent {
			list := w.node("list", agent.NodeConfig{}, func(*agent.NodeContext, any) (any, error) { return []int{1, 2, 3}, nil })
			l := nodeOf(w.llm("llm_b", tools(w.tool("once")), calls("once"), say("b")))
			return workflow("wf", chain(start, list, agent.ParallelWorker(l, 2), w.adds("end")))
		}},
		"one agent in several workflows": {turns: []string{"go", "answer pure_later"}, tree: func(w *world) *agent.Agent {
			same := func() *agent.Node {
				return nodeOf(w.llm("llm_b", tools(w.later("pure_later", nil), w.tool("once")), calls("once"), say("b")))
			}
			asks := nodeOf(w.llm("llm_b", tools(w.later("pure_later", nil)), calls("pure_later"), say("done")))
			one := workflow("one", chain(start, same(), w.adds("c")))
			two := workflow("two", chain(start, asks, w.adds("d")))
			return sequential("all", workflow("wf", chain(start, same(), nodeOf(one), nodeOf(two), w.adds("end"))), w.llm("llm_x", nil, say("x")))
		}},
		"a function as an agent": {lost: map[string]string{"custom": "custom"}, tree: func(w *world) *agent.Agent {
			return workflow("wf", chain(start, w.adds("a"), nodeOf(twice("custom")), w.adds("b")))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if s.turns == nil {
				s.turns = []string{"go"}
			}
			s.play(t)
		})
	}
}

// twice is an agent made of a function that says two things.
func twice(name string) *agent.Agent {
	return agent.Must(agent.New(agent.Config{Name: name}, func(_ *agent.Context, emit agent.Emit) error {
		if err := emit(&event.Event{Content: event.Text(event.RoleModel, "callback or function, one")}); err != nil {
			return err
		}
		return emit(&event.Event{Content: event.Text(event.RoleModel, "callback or function, two")})
	}))
}

// TestTakeoverOnceNode has nodes that must not run twice.
func TestTakeoverOnceNode(t *testing.T) {
	t.Parallel()
	for name, node := range map[string]func(w *world) *agent.Node{
		"a function": func(w *world) *agent.Node {
			return w.node("once", agent.NodeConfig{Effect: tool.Once}, func(*agent.NodeContext, any) (any, error) { return "done", nil })
		},
		"a tool": func(w *world) *agent.Node { return agent.ToolNode(w.tool("once"), agent.NodeConfig{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := scene{tree: func(w *world) *agent.Agent {
				return workflow("wf", agent.Chain(agent.Start, w.args(), node(w), w.adds("end")))
			}}
			p := &played{tape: newTape(), message: event.Text(event.RoleUser, "go")}
			if err := p.emit(&event.Event{Author: event.User, Content: p.message}); err != nil {
				t.Fatal(err)
			}
			if p.err = s.run(t, p, &world{runs: map[string]int{}}, false); p.err != nil {
				t.Fatal(p.err)
			}
			interrupted := 0
			for _, at := range p.moments {
				w := &world{runs: map[string]int{}}
				again := &played{tape: p.cut(t, at), message: p.message}
				err := s.run(t, again, w, true)
				if under := len(at.notes) > 0 && at.events == 2; under {
					interrupted++
					if err == nil || !strings.Contains(err.Error(), "node wf.once: ") || !strings.Contains(err.Error(), "may or may not have taken effect") {
						t.Errorf("after %d events and %q: the end is %v", at.events, at.notes, err)
					}
					if len(w.runs) > 0 || w.functions["wf.once"] > 0 {
						t.Error("it is run again")
					}
				} else if err != nil {
					t.Errorf("after %d events and %q: the end is %v", at.events, at.notes, err)
				}
			}
			if interrupted == 0 {
				t.Error("no moment is between the beginning and the end of the node")
			}
		})
	}
}
