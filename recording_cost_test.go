package parley_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
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

// dear is an agent whose model uses ten tokens for each of two answers, for 54 millionths
// of a dollar each: it calls a tool, and says something.
func dear() *agent.Agent {
	look := tool.Must(tool.New(tool.Declaration{Name: "look", Effect: tool.Pure}, func(*tool.Context, struct{}) (any, error) { return "seen", nil }))
	return agent.Must(agent.NewLLM(agent.LLMConfig{Name: "dear", Tools: []tool.Tool{look}, Model: scripted.Func(
		func(_ context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
			return func(yield func(*model.Response, error) bool) {
				r := model.Text("Done.")
				if len(scripted.LastResponses(req)) == 0 {
					r.Content.Parts = []*event.Part{{FunctionCall: &event.FunctionCall{Name: "look"}}}
				}
				r.ModelVersion, r.Usage = "dear", &event.Usage{Prompt: 6, CachedContent: 4, Candidates: 3, Thoughts: 1, Total: 10}
				yield(r, nil)
			}
		})}))
}

// usedBy is what the server says that a user has used.
type usedBy struct {
	Runs   int         `json:"runs"`
	Tokens int         `json:"totalTokenCount"`
	USD    json.Number `json:"costUsd"`
}

func openDear(t *testing.T, url string, limits parley.Limits) *parley.Server {
	t.Helper()
	prices := filepath.Join(t.TempDir(), "prices.json")
	if err := os.WriteFile(prices, []byte(`{"models": {"dear": {"input": 1, "cachedInput": 0.5, "output": 10, "thinking": 20}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	srv, err := parley.Open(t.Context(), parley.Config{
		Agents: map[string]*agent.Agent{"dear": dear()}, PriceFile: prices, Limits: limits,
		Recording: parley.RecordingConfig{Share: 1}, Sessions: parley.SessionConfig{URL: url},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { srv.Close(context.WithoutCancel(t.Context())) })
	return srv
}

func spendOnce(t *testing.T, srv *parley.Server) (session.Key, string) {
	t.Helper()
	r, err := srv.Start(t.Context(), parley.Request{App: "dear", User: "u", Session: "s", Message: event.Text(event.RoleUser, "hello")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	return session.Key{App: "dear", User: "u", ID: "s"}, r.ID()
}

// Only calls of models that a replay has made count: for usage, and for metrics. The
// events of the replay have the tokens that were recorded.
func TestReplayIsBilledForLiveCallsOnly(t *testing.T) {
	t.Parallel()
	for _, store := range []string{"memory", "sqlite"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			url := ""
			if store == "sqlite" {
				url = "sqlite://" + filepath.Join(t.TempDir(), "s.db")
			}
			srv := openDear(t, url, parley.Limits{})
			do := caller(t, srv)
			key, run := spendOnce(t, srv)
			for _, tt := range []struct {
				name string
				plan replay.Plan
				want usedBy // in all
				cost float64
			}{
				{"exact", replay.Plan{}, usedBy{1, 20, "0.000108"}, 0.000108},
				{"a live tool", replay.Plan{Live: []int{2}}, usedBy{1, 20, "0.000108"}, 0.000108},
				{"one live call", replay.Plan{From: 3}, usedBy{1, 30, "0.000162"}, 0.000162},
				{"two live calls", replay.Plan{LiveModels: true}, usedBy{1, 50, "0.00027"}, 0.00027},
				{"exact again", replay.Plan{}, usedBy{1, 50, "0.00027"}, 0.00027},
			} {
				r, err := srv.Replay(t.Context(), key, run, tt.plan)
				if err != nil || r.Status != session.Completed {
					t.Fatalf("%s: %v: %s", tt.name, err, differences(r))
				}
				var used []usedBy
				if err := json.Unmarshal(do("GET", "/usage?userId=u", "").Body.Bytes(), &used); err != nil || len(used) != 1 || used[0] != tt.want {
					t.Errorf("%s: used are %+v, want %+v (%v)", tt.name, used, tt.want, err)
				}
				m := parseMetrics(t, do("GET", "/metrics", "").Body)
				if got := m.value("parley_cost_usd_total", map[string]string{"app": "dear", "model": "dear"}); got < tt.cost-1e-9 || got > tt.cost+1e-9 {
					t.Errorf("%s: the metric says that %v dollars were spent, want %v", tt.name, got, tt.cost)
				}
				calls := float64(tt.want.Tokens / 10)
				for _, name := range []string{"gen_ai_client_operation_duration_seconds", "gen_ai_client_token_usage"} {
					labels := map[string]string{"gen_ai_operation_name": "generate_content"}
					if name == "gen_ai_client_token_usage" {
						labels["gen_ai_token_type"] = "input"
					}
					if got := m.value(name, labels); got != calls {
						t.Errorf("%s: %s has %v calls, want %v", tt.name, name, got, calls)
					}
				}
				s, err := srv.Sessions().Get(t.Context(), session.Key{App: "dear", User: "u", ID: r.Session})
				if err != nil {
					t.Fatal(err)
				}
				shown := int64(0)
				for _, entry := range s.Entries {
					if ev, err := entry.Decode(); err == nil && ev.Usage != nil {
						shown += ev.Usage.Total
					}
				}
				if shown != 20 {
					t.Errorf("%s: the events of the replay have %d tokens, want those of the run", tt.name, shown)
				}
			}
		})
	}
}

// A budget of a day that is used up does not prevent replays that cost nothing. It
// refuses those that would call models, and ends one that reaches it.
func TestReplayAndTheBudgetOfADay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		limits parley.Limits
		code   string
	}{
		{"tokens", parley.Limits{DayTokens: 30}, "MAX_DAY_TOKENS"},
		{"cost", parley.Limits{DayCost: 0.000162}, "MAX_DAY_COST"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := openDear(t, "", tt.limits)
			key, run := spendOnce(t, srv) // it leaves a third
			for range 3 {
				if r, err := srv.Replay(t.Context(), key, run, replay.Plan{}); err != nil || !r.Same {
					t.Fatalf("an exact replay: %v: %s", err, differences(r))
				}
			}
			r, err := srv.Replay(t.Context(), key, run, replay.Plan{LiveModels: true})
			if err != nil {
				t.Fatal(err)
			}
			if r.Failure == nil || r.Failure.Type != tt.code || r.Status != session.Failed {
				t.Errorf("a replay that reaches the budget: %s", differences(r))
			}
			if _, err := srv.Replay(t.Context(), key, run, replay.Plan{From: 3}); !errors.Is(err, parley.ErrLimited) || parley.RetryAfter(err) <= 0 {
				t.Errorf("a replay after the budget was reached: %v", err)
			}
			if _, err := srv.Start(t.Context(), parley.Request{App: "dear", User: "u", Session: "s", Message: event.Text(event.RoleUser, "more")}); !errors.Is(err, parley.ErrLimited) {
				t.Errorf("a run after the budget was reached by a replay: %v", err)
			}
			if r, err := srv.Replay(t.Context(), key, run, replay.Plan{Live: []int{2}}); err != nil || !r.Same {
				t.Errorf("a replay without a call of a model: %v: %s", err, differences(r))
			}
		})
	}
}
