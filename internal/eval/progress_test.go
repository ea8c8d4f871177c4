package eval

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"testing"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/tool"
)

// serviceOf is a service with one application and a directory.
func serviceOf(t *testing.T, m model.Model, tools ...tool.Tool) *Service {
	t.Helper()
	root, err := agent.NewLLM(agent.LLMConfig{Name: "helper", Model: m, Tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := &Service{
		Dir: func(string) string { return dir }, Now: time.Now, Code: func(string) string { return "c0de" },
		Engine: func(edges func(run.Beginning) run.Edges) (*run.Engine, session.Store, error) {
			store := memstore.New(0)
			agents := func(string) (*agent.Agent, error) { return root, nil }
			return run.NewEngine(run.Options{Store: store, Agent: agents, Log: slog.New(slog.DiscardHandler), Edges: edges}), store, nil
		},
	}
	t.Cleanup(s.Close)
	return s
}

func setOf(t *testing.T, doc string) *Set {
	t.Helper()
	set, err := ReadSet([]byte(doc), "s")
	if err != nil {
		t.Fatal(err)
	}
	return set
}

const twoCases = `{"eval_cases":[{"eval_id":"a","conversation":[{"user_content":{"parts":[{"text":"hi"}]},"final_response":{"parts":[{"text":"Hello."}]}}]},
	{"eval_id":"b","conversation":[{"user_content":{"parts":[{"text":"wait"}]}}]}]}`

// An evaluation in the background can be watched and cancelled, and leaves nothing behind.
func TestCancel(t *testing.T) {
	t.Parallel()
	waiting := make(chan struct{}, 1)
	s := serviceOf(t, scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		if scripted.LastUserText(req) != "wait" {
			return scripted.Say("Hello.")(ctx, req)
		}
		waiting <- struct{}{}
		<-ctx.Done()
		return scripted.Fail(ctx.Err())(ctx, req)
	}))
	if now := s.Progress("app"); now.Status != "none" {
		t.Errorf("before the first: %+v", now)
	}
	plan := Plan{App: "app", Set: setOf(t, twoCases), Metrics: DefaultMetrics()}
	over := make(chan error, 1)
	ctx, leave := context.WithCancel(t.Context())
	if _, err := s.Begin(ctx, plan, func(_ []*SetResult, err error) { over <- err }); err != nil {
		t.Fatal(err)
	}
	leave() // the client is gone
	<-waiting
	now := s.Progress("app")
	if now.Status != "running" || now.Current != "b" || now.Total != 2 || len(now.Cases) != 1 || now.Cases[0].Status != Passed {
		t.Errorf("%+v", now)
	}
	if other := s.Progress("other"); other.Status != "none" {
		t.Errorf("another application: %+v", other)
	}
	if _, err := s.Begin(t.Context(), plan, nil); err == nil || err.Error() == "" {
		t.Error("two at a time")
	}
	now, err := s.Cancel(t.Context(), "app")
	if err != nil || now.Status != "cancelled" {
		t.Errorf("%+v, %v", now, err)
	}
	if err := <-over; !errors.Is(err, errCancelled) {
		t.Errorf("it ended with %v", err)
	}
	if list, err := s.Results("app"); err != nil || len(list) != 0 {
		t.Errorf("results: %v, %v", list, err)
	}
	if now, err = s.Cancel(t.Context(), "app"); err != nil || now.Status != "cancelled" {
		t.Errorf("cancelled again: %+v, %v", now, err)
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, scripted.Func(scripted.Say("Hello.")))
	plan := Plan{App: "app", Set: setOf(t, twoCases), Metrics: DefaultMetrics()}
	result, err := s.Run(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if now := s.Progress("app"); now.Status != "completed" || now.Result != result.ID || now.Cases[1].Why == "" {
		t.Errorf("%+v", now)
	}
	list, err := s.History("app", "s", "")
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if one := list[0]; one.ID != result.ID || one.Code != "c0de" || one.Passed != 1 || one.Failed != 1 || one.Scores["response_match_score"] != 0.5 || one.Scores["tool_trajectory_avg_score"] != 1 {
		t.Errorf("%+v", one)
	}
	if list, err := s.History("app", "other", ""); err != nil || len(list) != 0 {
		t.Errorf("of another set: %+v, %v", list, err)
	}
}

// With the results of a case, no tool is called.
func TestRecordedTools(t *testing.T) {
	t.Parallel()
	called := 0
	look := tool.Must(tool.New(tool.Declaration{Name: "look", Description: "Looks."}, func(*tool.Context, struct {
		City string `json:"city"`
	},
	) (string, error) {
		called++
		return "rain", nil
	}))
	ask := "Oslo"
	s := serviceOf(t, scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		if answers := scripted.LastResponses(req); len(answers) > 0 {
			return scripted.Say("It says "+string(answers[0].Response))(ctx, req)
		}
		return scripted.Call("look", map[string]any{"city": ask})(ctx, req)
	}), look)
	set := setOf(t, `{"eval_cases":[{"eval_id":"a","conversation":[{"user_content":{"parts":[{"text":"hi"}]},"intermediate_data":{
		"tool_uses":[{"id":"1","name":"look","args":{"city":"Rome"}},{"id":"2","name":"look","args":{"city":"Oslo"}}],
		"tool_responses":[{"id":"1","name":"look","response":{"result":"fog"}},{"id":"2","name":"look","response":{"result":"sun"}}]}}]}]}`)
	plan := Plan{App: "app", Set: set, Metrics: DefaultMetrics(), Recorded: true}
	result, err := s.Run(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Cases[0]; called != 0 || got.Error != "" || got.Turns[0].Actual.Final.Text() != `It says {"result":"sun"}` {
		t.Errorf("%d calls: %s, %s", called, got.Error, got.Turns[0].Actual.Final.Text())
	}
	ask = "Bergen"
	if result, err = s.Run(t.Context(), plan); err != nil || called != 0 || result.Cases[0].Error != `The case has no result for a call of a tool: look {"city":"Bergen"}` || result.Cases[0].Status != Failed {
		t.Errorf("%d calls, %v: %+v", called, err, result.Cases[0])
	}
	plan.Recorded = false
	if _, err := s.Run(t.Context(), plan); err != nil || called != 1 {
		t.Errorf("%d calls, %v", called, err)
	}
}

// A model of the registry judges.
func TestJudgeOfRegistry(t *testing.T) {
	t.Parallel()
	s := serviceOf(t, scripted.Func(scripted.Say("Hello.")))
	judge := scripted.Func(scripted.Say(`{"valid": true, "why": "a greeting"}`))
	s.Models = func(name string) (model.Model, error) {
		if name != "stub" {
			return nil, errors.New("MISSING_API_KEY: set GEMINI_API_KEY")
		}
		return judge, nil
	}
	plan := Plan{App: "app", Set: setOf(t, twoCases), Cases: []string{"a"}, Metrics: []Metric{
		{Name: matchMetric, Threshold: 1, Criterion: &Criterion{Threshold: 1, Judge: &Judge{"stub", 1}}}, {Name: matchMetric, Threshold: 1},
	}}
	result, err := s.Run(t.Context(), plan)
	if err != nil {
		t.Fatal(err)
	}
	c := result.Cases[0]
	const why = "final_response_match_v2 could not be measured (the judge gemini-2.5-flash did not answer: MISSING_API_KEY: set GEMINI_API_KEY)"
	if c.Scores[0].Status != Passed || c.Scores[0].Why() != "a greeting" || judge.Calls() != 1 || c.Status != NotEvaluated || c.Why() != why {
		t.Errorf("%+v: %s", c.Scores, c.Why())
	}
}
