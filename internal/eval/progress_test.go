package eval

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"strings"
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

// The session and the spans of a case can be read as soon as it is known how it went, and until
// the next evaluation also of one that was cancelled.
func TestSessionsOfRunningEvaluation(t *testing.T) {
	t.Parallel()
	waiting, answer := make(chan struct{}, 1), make(chan struct{})
	s := serviceOf(t, scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		if scripted.LastUserText(req) == "wait" {
			waiting <- struct{}{}
			select {
			case <-answer:
			case <-ctx.Done():
			}
		}
		return scripted.Say("Bye.")(ctx, req)
	}))
	s.Record = func(session.Store) Recording { return spanning{} }
	plan := Plan{App: "app", Set: setOf(t, twoCases), Metrics: DefaultMetrics()}
	first := func() session.Key {
		t.Helper()
		now := s.Progress("app")
		if len(now.Cases) == 0 || now.Cases[0].Status != Failed || now.Cases[0].Session == "" || now.Cases[0].User == "" {
			t.Fatalf("%+v", now)
		}
		return session.Key{App: "app", User: now.Cases[0].User, ID: now.Cases[0].Session}
	}
	check := func(when string, key session.Key) {
		t.Helper()
		doc, err := s.Session(key)
		if err != nil || !strings.Contains(string(doc), "Bye.") {
			t.Errorf("%s: the session is %s, %v", when, doc, err)
		}
		for content, want := range map[bool]string{
			true:  `{"attributes":{"gcp.vertex.agent.invocation_id":"e-1","gcp.vertex.agent.llm_request":"{}"}}`,
			false: `{"attributes":{"gcp.vertex.agent.invocation_id":"e-1"}}`,
		} {
			if list, err := s.Spans(key, content, nil); err != nil || len(list) != 1 || string(list[0]) != want {
				t.Errorf("%s: the spans are %s, %v, want %s", when, list, err, want)
			}
		}
		if list, err := s.Spans(key, true, map[string]bool{"e-1": true}); err != nil || len(list) != 0 {
			t.Errorf("%s: spans of a run that is known: %s, %v", when, list, err)
		}
		key.User = "other"
		if doc, err := s.Session(key); err == nil {
			t.Errorf("%s: the session of another user is %s", when, doc)
		}
	}

	over := make(chan error, 1)
	report := func(_ []*SetResult, err error) { over <- err }
	if _, err := s.Begin(t.Context(), plan, report); err != nil {
		t.Fatal(err)
	}
	<-waiting
	cancelled := first()
	check("while it runs", cancelled)
	if _, err := s.Cancel(t.Context(), "app"); err != nil {
		t.Fatal(err)
	}
	<-over
	check("cancelled", cancelled)

	if _, err := s.Begin(t.Context(), plan, report); err != nil {
		t.Fatal(err)
	}
	<-waiting
	if doc, err := s.Session(cancelled); err == nil {
		t.Errorf("of an earlier evaluation that was cancelled: %s", doc)
	}
	stored := first()
	close(answer)
	if err := <-over; err != nil {
		t.Fatal(err)
	}
	check("stored", stored)
	if held := &s.latest.of("app").held; len(held.cases) != 0 || held.size != 0 {
		t.Errorf("%d cases of %d bytes are held in memory, besides the stored result", len(held.cases), held.size)
	}
}

// spanning is a recording of one span, with what was said.
type spanning struct{}

func (spanning) Edges(run.Beginning) run.Edges { return nil }
func (spanning) Close()                        {}
func (spanning) Spans(context.Context, session.Key, bool) ([]json.RawMessage, error) {
	return []json.RawMessage{json.RawMessage(`{"attributes":{"gcp.vertex.agent.invocation_id":"e-1","gcp.vertex.agent.llm_request":"{}"}}`)}, nil
}

// What is held of cases that are not stored is bounded: first without spans, then without sessions.
func TestHeldSessionsAreBounded(t *testing.T) {
	t.Parallel()
	var h held
	third := make([]byte, maxHeld/3)
	for i, want := range []struct{ held, spans bool }{{true, true}, {true, false}, {false, false}} {
		key := session.Key{ID: string(rune('a' + i))}
		if got := h.add(key, &CaseResult{Details: third, spans: []json.RawMessage{third}}); got != want.held || len(h.cases[key].spans) > 0 != want.spans {
			t.Errorf("case %d: held %v with %d spans, want %v", i, got, len(h.cases[key].spans), want)
		}
	}
	if h.add(session.Key{ID: "none"}, &CaseResult{}) {
		t.Error("a case without a session is held")
	}
	for key := range h.cases {
		h.drop(key)
	}
	h.drop(session.Key{ID: "unknown"})
	if h.size != 0 {
		t.Errorf("%d bytes are left", h.size)
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
