package run_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/tool"
)

// limited is a house with limits, and as many sessions as are asked for, s0, s1, ….
func limited(t *testing.T, store session.Backend, limits run.Limits, root *agent.Agent, sessions int) *fixture {
	t.Helper()
	h := &fixture{t: t, store: store, Engine: run.NewEngine(run.Options{
		Store: session.NewStore(store), Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Limits: limits,
		Agent: func(string) (*agent.Agent, error) { return root, nil },
	})}
	for i := range sessions {
		if _, err := h.Create(t.Context(), session.NewSession{Key: at(i)}, nil); err != nil && !errors.Is(err, session.ErrExists) {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { h.Shutdown(context.Background()) })
	return h
}

func at(i int) session.Key { return session.Key{App: "app", User: "u", ID: fmt.Sprint("s", i)} }

func (h *fixture) try(key session.Key, caller string) (*run.Run, error) {
	h.t.Helper()
	return h.Start(h.t.Context(), run.Request{Key: key, Message: event.Text(event.RoleUser, "go"), Caller: caller})
}

// refused wants a run to be refused for now.
func (h *fixture) refused(key session.Key, caller string) *run.LimitError {
	h.t.Helper()
	r, err := h.try(key, caller)
	limit, ok := errors.AsType[*run.LimitError](err)
	if !ok || limit.After <= 0 {
		h.t.Fatalf("%v, %v: want a limit", r, err)
	}
	return limit
}

func (h *fixture) must(key session.Key, caller string) *run.Run {
	h.t.Helper()
	r, err := h.try(key, caller)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// eats calls tick forever, ten tokens at a time.
func eats(_ context.Context, _ *model.Request) iter.Seq2[*model.Response, error] {
	return func(yield func(*model.Response, error) bool) {
		yield(&model.Response{
			Content: &event.Content{Role: event.RoleModel, Parts: []*event.Part{{FunctionCall: &event.FunctionCall{Name: "tick"}}}},
			Usage:   &event.Usage{Prompt: 7, Candidates: 3, Total: 10},
		}, nil)
	}
}

func ticks(wait <-chan struct{}) tool.Tool {
	return tool.Must(tool.New(tool.Declaration{Name: "tick", Description: "Ticks."}, func(ctx *tool.Context, _ struct{}) (string, error) {
		if wait != nil {
			select {
			case <-wait:
			case <-ctx.Done():
			}
		}
		return "tock", nil
	}))
}

func eater(wait <-chan struct{}) *agent.Agent { return llm(scripted.Func(eats), ticks(wait)) }

// ends is how the run of a session ended, and its last event.
func (h *fixture) ends(r *run.Run) (*session.Run, string) {
	h.t.Helper()
	result := h.wait(r)
	list := strings.Fields(words(result.Entries))
	return result.Run, list[len(list)-1]
}

func TestRunTokens(t *testing.T) {
	h := limited(t, memstore.New(0), run.Limits{Tokens: 25}, eater(nil), 1)
	row, last := h.ends(h.must(at(0), ""))
	if row.Status != session.Failed || row.Failure.Type != run.MaxRunTokens || !row.Failure.Reported || !strings.HasSuffix(last, "!"+run.MaxRunTokens) {
		t.Errorf("the run is %+v, %+v, and its last event is %s", row, row.Failure, last)
	}
	if row := h.info(h.must(at(0), "")); row == nil {
		t.Error("the session is not free")
	}
	rows, _, err := h.Runs(t.Context(), at(0), session.Page{})
	if err != nil || rows[len(rows)-1].Usage.Total != 30 {
		t.Errorf("used are %+v, %v; the call that would make it more than 25 + 10 must not be made", rows, err)
	}
}

// The tokens of a day hold for all sessions of a user, survive the end of the
// server, and are not those of others.
func TestDayTokens(t *testing.T) { synctest.Test(t, dayTokens) }

func dayTokens(t *testing.T) {
	t.Helper()
	store := memstore.New(0)
	h := limited(t, store, run.Limits{DayTokens: 45, Tokens: 20}, eater(nil), 3)
	for i := range 2 {
		if row, _ := h.ends(h.must(at(i), "")); row.Failure == nil || row.Failure.Type != run.MaxRunTokens {
			t.Fatalf("run %d ended with %+v", i, row.Failure)
		}
	}
	row, last := h.ends(h.must(at(2), "")) // 40 are used, one call is left
	if row.Failure == nil || row.Failure.Type != run.MaxDayTokens || !strings.HasSuffix(last, "!"+run.MaxDayTokens) {
		t.Errorf("the run ended with %+v, %s", row.Failure, last)
	}
	if limit := h.refused(at(0), ""); limit.After > 24*time.Hour || !strings.Contains(limit.Message, "50 of 45") {
		t.Errorf("refused with %+v", limit)
	}
	again := limited(t, store, run.Limits{DayTokens: 45}, eater(nil), 0)
	again.refused(at(0), "")
	other := session.Key{App: "app", User: "other", ID: "s"}
	if _, err := again.Create(t.Context(), session.NewSession{Key: other}, nil); err != nil {
		t.Fatal(err)
	}
	again.wait(again.must(other, ""))
}

// A new day brings new tokens.
func TestNextDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := limited(t, memstore.New(0), run.Limits{DayTokens: 5}, eater(nil), 1)
		h.wait(h.must(at(0), ""))
		limit := h.refused(at(0), "")
		time.Sleep(limit.After - time.Second)
		h.refused(at(0), "")
		time.Sleep(time.Second)
		h.wait(h.must(at(0), ""))
	})
}

func TestRunDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := limited(t, memstore.New(0), run.Limits{Duration: time.Minute}, eater(make(chan struct{})), 1)
		start := time.Now()
		row, last := h.ends(h.must(at(0), ""))
		if row.Status != session.Failed || row.Failure.Type != run.MaxRunDuration || !strings.HasSuffix(last, "!"+run.MaxRunDuration) {
			t.Errorf("the run is %+v, %+v, and its last event is %s", row, row.Failure, last)
		}
		if took := time.Since(start); took < time.Minute || took > time.Minute+5*time.Second {
			t.Errorf("it took %v", took)
		}
		s, err := h.store.Get(t.Context(), at(0), session.Read{})
		if err != nil {
			t.Fatal(err)
		}
		if got := words(s.Entries); !strings.Contains(got, "response-interrupted") {
			t.Errorf("the open call is not closed: %s", got)
		}
	})
}

// A user with too many active runs is refused, without delaying other users or
// queued runs.
func TestConcurrentRuns(t *testing.T) {
	wait := make(chan struct{})
	h := limited(t, memstore.New(0), run.Limits{Runs: 2, Queue: 1, Tokens: 1}, eater(wait), 4)
	a, b := h.must(at(0), "alice"), h.must(at(1), "alice")
	h.refused(at(2), "alice")
	c := h.must(at(2), "bob")
	unlimited := h.must(at(3), "") // limits apply only to runs with a caller
	queued := h.must(at(2), "bob")
	if _, err := h.try(at(2), "carol"); !errors.Is(err, session.ErrQueueFull) {
		t.Errorf("a second queued run: %v", err)
	}
	close(wait)
	for _, r := range []*run.Run{a, b, c, unlimited, queued} {
		h.wait(r)
	}
	h.wait(h.must(at(2), "alice"))
}

// What an agent uses that is a tool is used by the run.
func TestTokensOfAgentsThatAreTools(t *testing.T) {
	inner, err := agent.NewLLM(agent.LLMConfig{Name: "inner", Description: "Helps.", Model: scripted.Func(func(context.Context, *model.Request) iter.Seq2[*model.Response, error] {
		return func(yield func(*model.Response, error) bool) {
			r := model.Text("done")
			r.Usage = &event.Usage{Total: 100}
			yield(r, nil)
		}
	})})
	if err != nil {
		t.Fatal(err)
	}
	root := llm(scripted.New(scripted.Call("inner", map[string]string{"request": "help"}), scripted.Say("never")), agent.AsTool(inner))
	h := limited(t, memstore.New(0), run.Limits{Tokens: 100}, root, 1)
	row, last := h.ends(h.must(at(0), ""))
	if row.Failure == nil || row.Failure.Type != run.MaxRunTokens {
		t.Errorf("the run ended with %+v, %s", row.Failure, last)
	}
	rows, _, err := h.Runs(t.Context(), at(0), session.Page{})
	if err != nil || len(rows) != 1 || rows[0].Usage.Total != 100 {
		t.Errorf("stored is %+v, %v", rows, err)
	}
}
