package parley_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/replay"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// shop counts the calls of its model and of each of its tools.
type shop struct{ models, charged, looked atomic.Int64 }

func (s *shop) counts() [3]int64 {
	return [3]int64{s.models.Load(), s.charged.Load(), s.looked.Load()}
}

// agent charges, looks, and says something: the calls 1 to 5 of a run.
func (s *shop) agent(name string) *agent.Agent {
	charge := tool.Must(tool.New(tool.Declaration{Name: "charge"}, func(*tool.Context, struct{}) (any, error) {
		return map[string]int64{"charged": s.charged.Add(1)}, nil
	}))
	look := tool.Must(tool.New(tool.Declaration{Name: "look", Effect: tool.Pure}, func(*tool.Context, struct{}) (any, error) {
		return map[string]int64{"looked": s.looked.Add(1)}, nil
	}))
	asked := scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		s.models.Add(1)
		last := scripted.LastResponses(req)
		switch {
		case len(last) == 0:
			return scripted.Call("charge", nil)(ctx, req)
		case last[0].Name == "charge":
			return scripted.Call("look", nil)(ctx, req)
		}
		return scripted.Say("Done.")(ctx, req)
	})
	return agent.Must(agent.NewLLM(agent.LLMConfig{Name: name, Model: asked, Tools: []tool.Tool{charge, look}}))
}

// record runs an application once, and returns the run.
func record(t *testing.T, root *agent.Agent) (*parley.Server, string) {
	t.Helper()
	srv, err := parley.Open(t.Context(), parley.Config{Agents: map[string]*agent.Agent{"shop": root}, Recording: parley.RecordingConfig{Share: 1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(context.WithoutCancel(t.Context())) })
	r, err := srv.Start(t.Context(), parley.Request{App: "shop", User: "u", Session: "s", Message: event.Text(event.RoleUser, "hello")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return srv, r.ID()
}

// Calls are made from a call on, or one by one. Others are answered with what was
// recorded, and nothing is done twice that the plan does not have made.
func TestReplayMakesOnlyTheChosenCalls(t *testing.T) {
	t.Parallel()
	result := map[int]json.RawMessage{2: json.RawMessage(`{"charged":9}`)}
	for _, tt := range []struct {
		name string
		plan replay.Plan
		want [3]int64 // calls of the model, of charge, of look
		live []int
	}{
		{"from the start", replay.Plan{From: 1, LiveTools: true}, [3]int64{3, 1, 1}, []int{1, 2, 3, 4, 5}},
		{"from a tool on", replay.Plan{From: 2, LiveTools: true}, [3]int64{2, 1, 1}, []int{2, 3, 4, 5}},
		{"after an effect", replay.Plan{From: 3, LiveTools: true}, [3]int64{2, 0, 1}, []int{3, 4, 5}},
		{"from the second tool on", replay.Plan{From: 4, LiveTools: true}, [3]int64{1, 0, 1}, []int{4, 5}},
		{"all models, tools from a call on", replay.Plan{LiveModels: true, From: 3, LiveTools: true}, [3]int64{3, 0, 1}, []int{1, 3, 4, 5}},
		{"after another result", replay.Plan{Results: result, LiveTools: true}, [3]int64{2, 0, 1}, []int{3, 4, 5}},
		{"all, and another result", replay.Plan{Results: result, LiveModels: true, LiveTools: true}, [3]int64{3, 0, 1}, []int{1, 3, 4, 5}},
		{"one tool", replay.Plan{Live: []int{4}}, [3]int64{0, 0, 1}, []int{4}},
		{"one call of a model", replay.Plan{Live: []int{3}}, [3]int64{1, 0, 0}, []int{3}},
		{"two calls", replay.Plan{Live: []int{2, 5}}, [3]int64{1, 1, 0}, []int{2, 5}},
		{"models, and one tool", replay.Plan{LiveModels: true, Live: []int{4}}, [3]int64{3, 0, 1}, []int{1, 3, 4, 5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &shop{}
			srv, run := record(t, s.agent("clerk"))
			before := s.counts()
			r, err := srv.Replay(t.Context(), session.Key{App: "shop", User: "u", ID: "s"}, run, tt.plan)
			if err != nil {
				t.Fatal(err)
			}
			got := s.counts()
			for i := range got {
				got[i] -= before[i]
			}
			if got != tt.want || r.Status != session.Completed {
				t.Errorf("calls of the model, of charge and of look: %v, want %v: %s", got, tt.want, differences(r))
			}
			var live []int
			for _, c := range r.Calls {
				if c.Live {
					live = append(live, c.Number)
				}
				if planned := tt.plan.Makes(c.Recorded, c.Kind); planned != c.Live {
					t.Errorf("call %d: the plan has it made: %v; it was: %v", c.Number, planned, c.Live)
				}
				effect := map[string]string{"charge": "once", "look": "pure"}[c.Name]
				if !c.Live {
					effect = ""
				}
				if c.Effect != effect || c.Repeats != (effect == "once") {
					t.Errorf("call %d, %s, live %v: effect %q, repeats %v", c.Number, c.Name, c.Live, c.Effect, c.Repeats)
				}
			}
			if !slices.Equal(live, tt.live) {
				t.Errorf("live calls: %v, want %v", live, tt.live)
			}
		})
	}
}

// Which calls are made does not depend on which of two agents is faster.
func TestReplayFromAStepInABranch(t *testing.T) {
	t.Parallel()
	s := &shop{}
	srv, run := record(t, agent.Must(agent.NewParallel(agent.Config{Name: "both", SubAgents: []*agent.Agent{s.agent("left"), s.agent("right")}})))
	key := session.Key{App: "shop", User: "u", ID: "s"}
	recording, err := srv.Recording(t.Context(), key, run)
	if err != nil {
		t.Fatal(err)
	}
	for from := 1; from <= len(recording.Steps); from++ {
		var want [3]int64
		for i, step := range recording.Steps {
			if i+1 >= from {
				want[map[string]int{"charge": 1, "look": 2}[step.Name]]++
			}
		}
		before := s.counts()
		r, err := srv.Replay(t.Context(), key, run, replay.Plan{From: from, LiveTools: true})
		if err != nil {
			t.Fatal(err)
		}
		got := s.counts()
		for i := range got {
			got[i] -= before[i]
		}
		if got != want {
			t.Errorf("from %d: calls of the models, of charge and of look: %v, want %v: %s", from, got, want, differences(r))
		}
	}
}

// Of two calls that a model has asked for at the same time, only the later one is made.
func TestReplayFromTheSecondOfTwoCalls(t *testing.T) {
	t.Parallel()
	e := &edges{}
	srv := e.open(t)
	defer srv.Close(context.WithoutCancel(t.Context()))
	run := converse(t, srv, "twice", false)[0]
	for range 20 {
		before := [2]int64{e.models.Load(), e.tools.Load()}
		r := report(t, srv, "twice", run, replay.Plan{From: 3, LiveTools: true})
		if got := [2]int64{e.models.Load() - before[0], e.tools.Load() - before[1]}; got != [2]int64{1, 1} {
			t.Fatalf("%v calls of models and tools, want 1 and 1: %s", got, differences(r))
		}
	}
}

// A toolset is asked for its tools only where one of them may be called.
func TestReplayAsksToolsetsWhenTheirToolsAreLive(t *testing.T) {
	t.Parallel()
	e := &edges{}
	srv := e.open(t)
	defer srv.Close(context.WithoutCancel(t.Context()))
	run := converse(t, srv, "toolset", false)[0] // a model, a tool, a model
	for _, tt := range []struct {
		plan  replay.Plan
		tools int64 // questions to the toolset, and calls
	}{
		{replay.Plan{}, 0},
		{replay.Plan{Live: []int{1, 3}}, 0},
		{replay.Plan{From: 3}, 0},
		{replay.Plan{From: 3, LiveTools: true}, 1},
		{replay.Plan{Live: []int{2}}, 2},
		{replay.Plan{From: 2, LiveTools: true}, 3},
	} {
		before := e.tools.Load()
		r := report(t, srv, "toolset", run, tt.plan)
		if got := e.tools.Load() - before; got != tt.tools || r.Status != session.Completed {
			t.Errorf("%+v: the toolset was asked or called %d times, want %d: %s", tt.plan, got, tt.tools, differences(r))
		}
	}
}

// After a call from which on others are made, an agent that does something else than
// in the run may do so; before it, the replay ends.
func TestReplayFromAStepAllowsOtherCalls(t *testing.T) {
	t.Parallel()
	e := &edges{}
	srv := e.open(t)
	defer srv.Close(context.WithoutCancel(t.Context()))
	run := converse(t, srv, "tool", false)[0] // a model, a tool, a model
	var asked atomic.Int64
	other := func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		if asked.Add(1) == 1 {
			return scripted.Call("note", map[string]string{"text": "more"})(ctx, req)
		}
		return scripted.Say(fmt.Sprint("Done, ", len(scripted.LastResponses(req))))(ctx, req)
	}
	e.answer = other
	before := e.tools.Load()
	r := report(t, srv, "tool", run, replay.Plan{From: 3, LiveTools: true})
	if got := e.tools.Load() - before; got != 1 || r.Status != session.Completed {
		t.Errorf("%d calls of tools, want 1: %s", got, differences(r))
	}
	asked.Store(0)
	if r = report(t, srv, "tool", run, replay.Plan{Live: []int{3}}); r.Failure == nil || r.Failure.Type != "diverged" || !strings.Contains(r.Failure.Message, "note") {
		t.Errorf("a call that was not recorded was answered: %s", differences(r))
	}
}
