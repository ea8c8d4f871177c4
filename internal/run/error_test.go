package run_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/tool"
)

// The last event decides how a run has ended, and not whether one of its agents
// failed before.
func TestErrorAsTheLastEvent(t *testing.T) {
	t.Parallel()
	broken := scripted.Error("RATE_LIMITED", "Too many requests.")
	talker := func(name string, steps ...scripted.Step) *agent.Agent {
		a, err := agent.NewLLM(agent.LLMConfig{Name: name, Model: scripted.New(steps...)})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	within := func(build func(agent.Config) (*agent.Agent, error), name string, sub ...*agent.Agent) *agent.Agent {
		a, err := build(agent.Config{Name: name, SubAgents: sub})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	// after speaks when another agent has.
	after := func(first *agent.Agent, spoken <-chan struct{}, step scripted.Step) *agent.Agent {
		return within(agent.NewParallel, "p", first, talker("second", scripted.Wait(spoken, step)))
	}
	notes := func(what *event.Content) *agent.Agent {
		a, err := agent.NewLLM(agent.LLMConfig{Name: "a", Model: scripted.New(broken), AfterAgent: []agent.Callback{
			func(ctx *tool.Context) (*event.Content, error) { return what, ctx.State.Set("seen", true) },
		}})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	loop := func(cfg agent.Config) (*agent.Agent, error) { return agent.NewLoop(cfg, 2) }
	for name, tt := range map[string]struct {
		root   func(spoken chan struct{}) *agent.Agent
		failed bool
	}{
		"one":      {func(chan struct{}) *agent.Agent { return talker("a", broken) }, true},
		"answered": {func(chan struct{}) *agent.Agent { return talker("a", scripted.Say("hi")) }, false},
		"tried again": {func(chan struct{}) *agent.Agent {
			return within(loop, "l", talker("a", broken, scripted.Say("hi")))
		}, false},
		"sequence continues": {func(chan struct{}) *agent.Agent {
			return within(agent.NewSequential, "s", talker("a", broken), talker("b", scripted.Say("hi")))
		}, false},
		"sequence ends": {func(chan struct{}) *agent.Agent {
			return within(agent.NewSequential, "s", talker("a", scripted.Say("hi")), talker("b", broken))
		}, true},
		"parallel, failed first": {func(spoken chan struct{}) *agent.Agent {
			return after(told(t, spoken, talker("first", broken)), spoken, scripted.Say("hi"))
		}, true},
		"parallel, failed last": {func(spoken chan struct{}) *agent.Agent {
			return after(told(t, spoken, talker("first", scripted.Say("hi"))), spoken, broken)
		}, true},
		"after a parallel one": {func(spoken chan struct{}) *agent.Agent {
			return within(agent.NewSequential, "s", after(told(t, spoken, talker("first", broken)), spoken, scripted.Say("hi")), talker("b", scripted.Say("sum")))
		}, false},
		"callback notes it":   {func(chan struct{}) *agent.Agent { return notes(nil) }, true},
		"callback apologises": {func(chan struct{}) *agent.Agent { return notes(event.Text(event.RoleModel, "Sorry.")) }, false},
		"an agent that is a tool": {func(chan struct{}) *agent.Agent {
			return llm(scripted.New(scripted.Call("inner", map[string]string{"request": "x"}), scripted.Say("hi")), agent.AsTool(talker("inner", broken)))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFixture(t, memstore.New(0), tt.root(make(chan struct{})))
			row := h.wait(h.start("go")).Run
			stored := h.list()[0]
			switch want := (session.Failure{Type: "RATE_LIMITED", Message: "Too many requests.", Reported: true}); {
			case !tt.failed && (stored.Status != session.Completed || stored.Failure != nil):
				t.Errorf("the run is %s: %v", stored.Status, stored.Failure)
			case tt.failed && (stored.Status != session.Failed || stored.Failure == nil || *stored.Failure != want || row.Status != session.Failed):
				t.Errorf("the run is %s: %+v", stored.Status, stored.Failure)
			}
		})
	}
}

// told is an agent that closes a channel when another one has spoken.
func told(t *testing.T, spoken chan<- struct{}, a *agent.Agent) *agent.Agent {
	t.Helper()
	outer, err := agent.New(agent.Config{Name: "outer", SubAgents: []*agent.Agent{a}}, func(ctx *agent.Context, emit agent.Emit) error {
		defer close(spoken)
		return a.Run(ctx, emit)
	})
	if err != nil {
		t.Fatal(err)
	}
	return outer
}

// What was said before a run changed hands counts as well.
func TestErrorBeforeATakeover(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	root := func(held bool) *agent.Agent {
		failing, err := agent.NewLLM(agent.LLMConfig{Name: "a", Model: scripted.New(scripted.Error("RATE_LIMITED", "Too many requests.")), AfterAgent: []agent.Callback{
			func(ctx *tool.Context) (*event.Content, error) {
				if held {
					close(began)
					<-ctx.Done()
					return nil, context.Cause(ctx)
				}
				return nil, ctx.State.Set("x", json.RawMessage("1"))
			},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return failing
	}
	first, second, _ := replicas(t, root(true), root(false))
	r := first.start("go")
	<-began
	over, cancel := context.WithCancel(t.Context())
	cancel()
	first.Shutdown(over)
	if _, row := read(t, second.other(r)); row.Status != session.Failed || row.Failure == nil || row.Failure.Type != "RATE_LIMITED" {
		t.Errorf("the run is %s: %v", row.Status, row.Failure)
	}
}
