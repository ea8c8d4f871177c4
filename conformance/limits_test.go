package conformance

import (
	"context"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley"
	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/testkit"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/tool"
)

// limited is a session on a server with limits.
func limited(t *testing.T, cfg parley.Config) *talk {
	t.Helper()
	return limitedAt(t, serve(t, cfg), unique("u"))
}

func limitedAt(t *testing.T, base, user string) *talk {
	t.Helper()
	s := &talk{testkit.NewClient(t, base), "weather", user, "s1"}
	s.Do(t, http.MethodPost, s.path(), nil).Want(t, http.StatusOK)
	return s
}

// tooMuch wants a message to be refused for now, however it is sent, and the
// session to be as it was.
func (s *talk) tooMuch(t *testing.T, most time.Duration, why string) {
	t.Helper()
	before := len(s.get(t).Events)
	for _, path := range []string{"/run", "/run_sse", s.path() + "/runs"} {
		resp := s.Do(t, http.MethodPost, path, s.request("hello"))
		if f := refusal(t, resp, http.StatusTooManyRequests); !strings.Contains(f.Error, why) {
			t.Errorf("%s: the error is %q", path, f.Error)
		}
		after, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		if err != nil || after < 1 || time.Duration(after)*time.Second > most {
			t.Errorf("%s: Retry-After is %q", path, resp.Header.Get("Retry-After"))
		}
	}
	if now := len(s.get(t).Events); now != before {
		t.Errorf("there are %d events, and were %d", now, before)
	}
}

func TestQueueDepth(t *testing.T) {
	t.Parallel()
	s := limited(t, parley.Config{Limits: parley.Limits{QueueDepth: 1}})
	gate := unique("g")
	first := s.start(t, "slow "+gate)
	s.called(t, first.ID)
	second := s.start(t, "hello")
	s.tooMuch(t, time.Second, "waiting for the session")
	wantBrief(t, s.another(t).say(t, "hello"), "weather_agent: You said: hello")
	s.release(t, gate)
	for _, id := range []string{first.ID, second.ID} {
		if r := s.ended(t, id); r.Status != "completed" {
			t.Errorf("the run is %+v", r)
		}
	}
	wantBrief(t, s.say(t, "hello"), "weather_agent: You said: hello")
}

func TestConcurrentRunsOfACaller(t *testing.T) {
	t.Parallel()
	s := limited(t, parley.Config{Limits: parley.Limits{ConcurrentRuns: 1}})
	gate := unique("g")
	busy := s.start(t, "slow "+gate)
	s.called(t, busy.ID)
	s.another(t).tooMuch(t, time.Second, "Too many runs at once")
	// Of another application it may be one more, and that can open the gate.
	other := &talk{s.Client, "relay", s.User, "s1"}
	other.Do(t, http.MethodPost, other.path(), nil).Want(t, http.StatusOK)
	other.say(t, "release "+gate)
	s.ended(t, busy.ID)
	// The run is over a moment before its place is free.
	again := s.another(t)
	testkit.Eventually(t, "a place", func() bool {
		return s.Do(t, http.MethodPost, "/run", again.request("hello")).Status == http.StatusOK
	})
}

// eater is an agent that calls a tool forever, and uses ten tokens each time.
// When it is told to, it says that it is done.
func eater(t *testing.T) map[string]*agent.Agent {
	t.Helper()
	tick := tool.Must(tool.New(tool.Declaration{Name: "tick", Description: "Ticks."},
		func(ctx *tool.Context, _ struct{}) (string, error) {
			if ctx.UserContent.Text() == "hang" {
				<-ctx.Done()
			}
			return "tock", nil
		}))
	root, err := agent.NewLLM(agent.LLMConfig{Name: "eater", Tools: []tool.Tool{tick}, Model: scripted.Func(
		func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
			if scripted.LastUserText(req) == "stop" && len(scripted.LastResponses(req)) == 0 {
				return scripted.Say("Done.")(ctx, req)
			}
			return func(yield func(*model.Response, error) bool) {
				yield(&model.Response{
					Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{{FunctionCall: &event.FunctionCall{Name: "tick"}}}},
					Usage:   &event.Usage{Prompt: 7, Candidates: 3, Total: 10}, ModelVersion: "dear",
				}, nil)
			}
		})})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*agent.Agent{"weather": root}
}

// Limits of a run end it with an event that says so, the same in every view, and
// the session continues.
func TestLimitsOfARun(t *testing.T) {
	t.Parallel()
	for code, tt := range map[string]struct {
		cfg   parley.Config
		text  string
		calls int // of the model
	}{
		"MAX_RUN_TOKENS":   {parley.Config{Limits: parley.Limits{RunTokens: 25}}, "go", 3},
		"MAX_RUN_COST":     {parley.Config{Limits: parley.Limits{RunCost: 0.00008}, PriceFile: priceFile(t)}, "go", 3},
		"MAX_MODEL_CALLS":  {parley.Config{Limits: parley.Limits{ModelCalls: 2}}, "go", 2},
		"MAX_RUN_DURATION": {parley.Config{Limits: parley.Limits{RunDuration: 2 * time.Second}}, "hang", 1},
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			tt.cfg.Agents = eater(t)
			s := limited(t, tt.cfg)
			views := map[string]func(*testing.T, *talk) []Event{
				"run":    func(t *testing.T, s *talk) []Event { t.Helper(); return s.say(t, tt.text) },
				"stream": func(t *testing.T, s *talk) []Event { t.Helper(); return rest(t, s.stream(t, s.request(tt.text))) },
				"start": func(t *testing.T, s *talk) []Event {
					t.Helper()
					var events []Event
					id := s.start(t, tt.text).ID
					s.ended(t, id)
					s.Do(t, http.MethodGet, s.runPath(id)+"/events", nil, acceptJSON).Want(t, http.StatusOK).Into(t, &events)
					return events
				},
			}
			for name, view := range views {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					at := s.another(t)
					events := view(t, at)
					last := events[len(events)-1]
					if last.ErrorCode != code || last.ErrorMessage == "" || last.Error != "" {
						t.Errorf("the last event is %+v", last)
					}
					if r := at.runs(t)[0]; r.Status != "failed" || r.Error == nil || r.Error.Type != code {
						t.Errorf("the run is %+v", r)
					}
					calls := 0
					for _, e := range events {
						if e.Content != nil && len(e.Content.Parts) > 0 && e.Content.Parts[0].FunctionCall != nil {
							calls++
						}
					}
					if calls > tt.calls || calls == 0 {
						t.Errorf("there were %d calls, want %d at most", calls, tt.calls)
					}
					wantAnswered(t, at.get(t).Events)
					wantBrief(t, at.say(t, "stop"), "eater: Done.")
				})
			}
		})
	}
}

// The tokens of a day end a run, and refuse the next ones until the day is over;
// those of other users they do not touch.
func TestTokensOfADay(t *testing.T) {
	t.Parallel()
	base := serve(t, parley.Config{Agents: eater(t), Limits: parley.Limits{DayTokens: 15}})
	s := limitedAt(t, base, unique("u"))
	events := s.say(t, "go")
	if last := events[len(events)-1]; last.ErrorCode != "MAX_DAY_TOKENS" {
		t.Errorf("the turn is %q", brief(events))
	}
	wantAnswered(t, s.get(t).Events)
	s.tooMuch(t, 24*time.Hour, "The tokens of today are used up: 20 of 15")
	s.another(t).tooMuch(t, 24*time.Hour, "used up")
	var used []struct {
		Total int `json:"totalTokenCount"`
		Runs  int `json:"runs"`
	}
	s.Do(t, http.MethodGet, "/usage?userId="+s.User, nil).Want(t, http.StatusOK).Into(t, &used)
	if len(used) != 1 || used[0].Total != 20 || used[0].Runs != 1 {
		t.Errorf("used are %+v", used)
	}
	wantBrief(t, limitedAt(t, base, unique("u")).say(t, "stop"), "eater: Done.")
}

// Too many requests are refused before anything is looked at.
func TestRequestsPerMinute(t *testing.T) {
	t.Parallel()
	s := limited(t, parley.Config{Limits: parley.Limits{RequestsPerMinute: 2}})
	wantBrief(t, s.say(t, "hello"), "weather_agent: You said: hello")
	for method, path := range map[string]string{http.MethodGet: s.path(), http.MethodPost: "/run", http.MethodDelete: s.path()} {
		var body any
		if method == http.MethodPost {
			body = s.request("hello")
		}
		resp := s.Do(t, method, path, body)
		refusal(t, resp, http.StatusTooManyRequests)
		if after, err := strconv.Atoi(resp.Header.Get("Retry-After")); err != nil || after < 1 || after > 60 {
			t.Errorf("%s: Retry-After is %q", path, resp.Header.Get("Retry-After"))
		}
	}
	s.Do(t, http.MethodGet, "/health", nil).Want(t, http.StatusOK)
}
