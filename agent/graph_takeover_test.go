package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/agent/workflow"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit/nodes"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// asks is a node that asks the user.
func (w *world) asks(name string, rerun bool) *workflow.Node {
	return w.node(name, workflow.NodeConfig{RerunOnResume: rerun}, func(ctx *workflow.Context, in any) (any, error) {
		if err := ctx.Emit(&event.Event{Content: event.Text(event.RoleModel, "I have a question.")}); err != nil {
			return nil, err
		}
		answer, err := ctx.RequestInput(workflow.InputRequest{Message: "what?"})
		return fmt.Sprintf("%v+%s", in, answer), err
	})
}

// args is a node whose output are the arguments of a tool that needs none.
func (w *world) args() *workflow.Node {
	return w.node("args", workflow.NodeConfig{}, func(*workflow.Context, any) (any, error) { return json.RawMessage("{}"), nil })
}

func nodeOf(a *agent.Agent) *workflow.Node { return workflow.Agent(a, workflow.NodeConfig{}) }

// until is a node that takes the route "again" until its input is long enough.
func (w *world) until(name string, n int) *workflow.Node {
	return w.node(name, workflow.NodeConfig{}, func(ctx *workflow.Context, in any) (any, error) {
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
	start, chain := workflow.Start, workflow.Chain
	for name, s := range map[string]scene{
		"a chain of functions": {tree: func(w *world) *agent.Agent {
			return nodes.Workflow("wf", chain(start, w.adds("a"), w.adds("b"), w.adds("c")))
		}},
		"agents and tools": {tree: func(w *world) *agent.Agent {
			return nodes.Workflow("wf", chain(start, w.adds("a"),
				nodeOf(w.llm("llm_b", tools(w.tool("once"), w.tool("pure")), calls("once", "pure"), say("said"))),
				nodeOf(w.llm("llm_c", nil, say("{}"))),
				workflow.Tool(w.tool("pure"), workflow.NodeConfig{}), w.adds("d")))
		}},
		"a loop": {tree: func(w *world) *agent.Agent {
			a, l, u := w.adds("a"), nodeOf(w.llm("llm_b", tools(w.tool("idempotent")), calls("idempotent"), say("x+y"))), w.until("u", 3)
			return nodes.Workflow("wf", chain(start, l, a, u, workflow.Routes{"again": a, workflow.DefaultRoute: w.adds("end")}))
		}},
		"a loop of agents": {tree: func(w *world) *agent.Agent {
			count := w.node("count", workflow.NodeConfig{}, func(ctx *workflow.Context, in any) (any, error) {
				if ctx.RunID() != "3" {
					ctx.SetRoute("again")
				}
				return in, nil
			})
			l := nodeOf(w.llm("llm_b", tools(w.tool("once")), calls("once"), say("again")))
			return nodes.Workflow("wf", chain(start, l, count, workflow.Routes{"again": l, workflow.DefaultRoute: w.adds("end")}))
		}},
		"a fan with a join": {tree: func(w *world) *agent.Agent {
			return nodes.Workflow("wf", chain(start, w.adds("a"),
				workflow.Fan{w.adds("b"), nodeOf(w.llm("llm_c", tools(w.tool("once")), calls("once"), say("c"))), nodeOf(w.llm("llm_d", nil, say("d")))},
				workflow.Join("join"), w.adds("end")))
		}},
		"a fan into one node": {anyOrder: true, tree: func(w *world) *agent.Agent {
			end := w.adds("end")
			return nodes.Workflow("wf", chain(start, workflow.Fan{w.adds("b"), w.adds("c")}, end))
		}},
		"the answer is the output": {turns: []string{"go", answerInput}, tree: func(w *world) *agent.Agent {
			return nodes.Workflow("wf", chain(start, w.adds("a"), w.asks("b", false), nodeOf(w.llm("llm_c", nil, say("c"))), w.adds("d")))
		}},
		"the answer is the input": {turns: []string{"go", answerInput}, tree: func(w *world) *agent.Agent {
			return nodes.Workflow("wf", chain(start, w.adds("a"), w.asks("b", true), nodeOf(w.llm("llm_c", tools(w.tool("once")), calls("once"), say("c"))), w.adds("d")))
		}},
		"two that wait": {turns: []string{"go", answerInput, answerInput}, tree: func(w *world) *agent.Agent {
			return nodes.Workflow("wf", chain(start, workflow.Fan{w.asks("b", true), w.asks("c", false), nodeOf(w.llm("llm_d", nil, say("d")))}, workflow.Join("join"), w.adds("end")))
		}},
		"one after the other waits": {turns: []string{"go", answerInput, answerInput}, tree: func(w *world) *agent.Agent {
			return nodes.Workflow("wf", chain(start, w.asks("b", true), w.adds("m"), w.asks("c", false), w.adds("end")))
		}},
		"an agent that waits": {turns: []string{"go", "answer pure_later"}, tree: func(w *world) *agent.Agent {
			return nodes.Workflow("wf", chain(start, w.adds("a"),
				nodeOf(w.llm("llm_b", tools(w.later("pure_later", map[string]int{"ticket": 1})), calls("pure_later"), say("asked"), say("done"))), w.adds("c")))
		}},
		"a tool that waits": {turns: []string{"go", "answer pure_later"}, tree: func(w *world) *agent.Agent {
			return nodes.Workflow("wf", chain(start, w.args(), workflow.Tool(w.later("pure_later", map[string]int{"ticket": 1}), workflow.NodeConfig{}), w.adds("c")))
		}},
		"a tool that waits without a receipt": {turns: []string{"go", "answer pure_later"}, tree: func(w *world) *agent.Agent {
			return nodes.Workflow("wf", chain(start, w.args(), workflow.Tool(w.later("pure_later", nil), workflow.NodeConfig{}), w.adds("c")))
		}},
		"a tool that is approved": {turns: []string{"go", "approve pure"}, tree: func(w *world) *agent.Agent {
			return nodes.Workflow("wf", chain(start, w.args(), workflow.Tool(tool.Confirm(w.tool("pure"), nil), workflow.NodeConfig{}), w.adds("c")))
		}},
		"a tool that is rejected": {turns: []string{"go", "reject once"}, tree: func(w *world) *agent.Agent {
			return nodes.Workflow("wf", chain(start, w.args(), workflow.Tool(tool.Confirm(w.tool("once"), nil), workflow.NodeConfig{}), w.adds("c")))
		}},
		"a tool that is approved and waits": {turns: []string{"go", "approve pure_later", "answer pure_later"}, tree: func(w *world) *agent.Agent {
			return nodes.Workflow("wf", chain(start, w.args(), workflow.Tool(tool.Confirm(w.later("pure_later", nil), nil), workflow.NodeConfig{}), w.adds("c")))
		}},
		"tools that wait beside each other": {turns: []string{"go", "answer pure_later", "approve pure"}, tree: func(w *world) *agent.Agent {
			return nodes.Workflow("wf", chain(start, w.args(), workflow.Fan{
				workflow.Tool(w.later("pure_later", nil), workflow.NodeConfig{}), workflow.Tool(tool.Confirm(w.tool("pure"), nil), workflow.NodeConfig{}),
			}, workflow.Join("join"), w.adds("c")))
		}},
		"a retry": {retries: true, tree: func(w *world) *agent.Agent {
			flaky := w.node("flaky", workflow.NodeConfig{Retry: &workflow.Retry{InitialDelay: time.Nanosecond}}, func(ctx *workflow.Context, in any) (any, error) {
				if err := ctx.Emit(&event.Event{Content: event.Text(event.RoleModel, fmt.Sprint("attempt ", ctx.Attempt()))}); err != nil {
					return nil, err
				}
				if ctx.Attempt() < 3 {
					return nil, errors.New("not yet")
				}
				return in, nil
			})
			return nodes.Workflow("wf", chain(start, w.adds("a"), flaky, w.adds("b")))
		}},
		"a failure": {tree: func(w *world) *agent.Agent {
			bad := w.node("bad", workflow.NodeConfig{}, func(*workflow.Context, any) (any, error) { return nil, errors.New("no luck") })
			return nodes.Workflow("wf", chain(start, w.adds("a"), bad, w.adds("b")))
		}},
		"workflows in workflows": {turns: []string{"go", answerInput}, tree: func(w *world) *agent.Agent {
			inner := nodes.Workflow("inner", chain(start, w.adds("b"), w.asks("c", true), nodeOf(w.llm("llm_d", nil, say("d")))))
			return nodes.Workflow("wf", chain(start, w.adds("a"), nodeOf(inner), w.adds("e")))
		}},
		"a workflow in a loop of a workflow": {tree: func(w *world) *agent.Agent {
			inner := nodeOf(nodes.Workflow("inner", chain(start, nodeOf(w.llm("llm_d", tools(w.tool("once")), calls("once"), say("d"))), w.adds("b"))))
			count := w.node("count", workflow.NodeConfig{}, func(ctx *workflow.Context, in any) (any, error) {
				if ctx.RunID() != "2" {
					ctx.SetRoute("again")
				}
				return in, nil
			})
			return nodes.Workflow("wf", chain(start, inner, count, workflow.Routes{"again": inner}))
		}},
		"a workflow in a sequence": {turns: []string{"go", answerInput}, tree: func(w *world) *agent.Agent {
			wf := nodes.Workflow("wf", chain(start, w.adds("a"), w.asks("b", false), w.adds("c")))
			return sequential("all", w.llm("llm_x", nil, say("x")), wf, w.llm("llm_y", nil, say("y")))
		}},
		"a workflow in a loop": {tree: func(w *world) *agent.Agent {
			return loop("all", 2, nodes.Workflow("wf", chain(start, w.adds("a"), nodeOf(w.llm("llm_b", nil, say("b"))), w.adds("c"))))
		}},
		"a workflow in a loop waits": {turns: []string{"go", answerInput, answerInput}, tree: func(w *world) *agent.Agent {
			return loop("all", 2, nodes.Workflow("wf", chain(start, w.adds("a"), w.asks("b", true), w.adds("c"))))
		}},
		"a workflow beside another agent": {tree: func(w *world) *agent.Agent {
			return parallel("all", nodes.Workflow("wf", chain(start, w.adds("a"), nodeOf(w.llm("llm_b", nil, say("b"))), w.adds("c"))),
				w.llm("llm_x", tools(w.tool("pure")), calls("pure"), say("x")))
		}},
		"agents in agents in nodes": {tree: func(w *world) *agent.Agent {
			return nodes.Workflow("wf", chain(start, w.adds("a"),
				nodeOf(sequential("seq", w.llm("llm_b", nil, say("b")), parallel("par", w.llm("llm_c", tools(w.tool("pure")), calls("pure"), say("c")), w.llm("llm_d", nil, say("d"))))),
				w.adds("e")))
		}},
		"nodes that a node runs": {tree: func(w *world) *agent.Agent {
			a, l := w.adds("a"), nodeOf(w.llm("llm_b", tools(w.tool("once")), calls("once"), say("b")))
			outer := w.node("outer", workflow.NodeConfig{}, func(ctx *workflow.Context, in any) (any, error) {
				first, err := ctx.RunNode(a, in, nil)
				if err != nil {
					return nil, err
				}
				if _, err := ctx.RunNode(l, first, nil); err != nil {
					return nil, err
				}
				return ctx.RunNode(l, first, nil)
			})
			return nodes.Workflow("wf", chain(start, outer, w.adds("end")))
		}},
		"a node that a node runs waits": {turns: []string{"go", answerInput}, tree: func(w *world) *agent.Agent {
			a, b := w.adds("a"), w.asks("b", true)
			outer := w.node("outer", workflow.NodeConfig{}, func(ctx *workflow.Context, in any) (any, error) {
				first, err := ctx.RunNode(a, in, nil)
				if err != nil {
					return nil, err
				}
				return ctx.RunNode(b, first, nil)
			})
			return nodes.Workflow("wf", chain(start, outer, w.adds("end")))
		}},
		"workers": {tree: func(w *world) *agent.Agent {
			list := w.node("list", workflow.NodeConfig{}, func(*workflow.Context, any) (any, error) { return []int{1, 2, 3}, nil })
			l := nodeOf(w.llm("llm_b", tools(w.tool("once")), calls("once"), say("b")))
			return nodes.Workflow("wf", chain(start, list, workflow.ParallelWorker(l, 2), w.adds("end")))
		}},
		"one agent in several workflows": {turns: []string{"go", "answer pure_later"}, tree: func(w *world) *agent.Agent {
			same := func() *workflow.Node {
				return nodeOf(w.llm("llm_b", tools(w.later("pure_later", nil), w.tool("once")), calls("once"), say("b")))
			}
			asks := nodeOf(w.llm("llm_b", tools(w.later("pure_later", nil)), calls("pure_later"), say("done")))
			one := nodes.Workflow("one", chain(start, same(), w.adds("c")))
			two := nodes.Workflow("two", chain(start, asks, w.adds("d")))
			return sequential("all", nodes.Workflow("wf", chain(start, same(), nodeOf(one), nodeOf(two), w.adds("end"))), w.llm("llm_x", nil, say("x")))
		}},
		"a function as an agent": {lost: map[string]string{"custom": "custom"}, tree: func(w *world) *agent.Agent {
			return nodes.Workflow("wf", chain(start, w.adds("a"), nodeOf(twice("custom")), w.adds("b")))
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
	for name, node := range map[string]func(w *world) *workflow.Node{
		"a function": func(w *world) *workflow.Node {
			return w.node("once", workflow.NodeConfig{Effect: tool.Once}, func(*workflow.Context, any) (any, error) { return "done", nil })
		},
		"a tool": func(w *world) *workflow.Node { return workflow.Tool(w.tool("once"), workflow.NodeConfig{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := scene{tree: func(w *world) *agent.Agent {
				return nodes.Workflow("wf", workflow.Chain(workflow.Start, w.args(), node(w), w.adds("end")))
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

// A process that continues the run checks again what was not stored.
func TestTakeoverNodeCheck(t *testing.T) {
	t.Parallel()
	s := scene{turns: []string{"go"}, tree: func(w *world) *agent.Agent {
		give := workflow.Func("give", func(*workflow.Context, any) (any, error) { return map[string]string{"city": "Rome"}, nil }, workflow.NodeConfig{})
		check := func(ctx *tool.Context, data workflow.Data, value json.RawMessage) (json.RawMessage, error) {
			var members map[string]json.RawMessage
			if data != workflow.InputData {
				return value, nil
			}
			err := json.Unmarshal(value, &members)
			return members["city"], err
		}
		asked := workflow.Agent(w.llm("llm_a", nil, scripted.Say("Fine.")), workflow.NodeConfig{Check: check})
		return nodes.Workflow("wf", workflow.Chain(workflow.Start, give, asked, w.adds("end")))
	}}
	s.play(t)
}
