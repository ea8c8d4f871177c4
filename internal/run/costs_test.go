package run_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/price"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

// lines collects log lines.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}

// warnings counts warnings of costs.
type warnings struct {
	run.Observer
	apps []string
}

func (w *warnings) CostWarning(app string) { w.apps = append(w.apps, app) }

// priced is limited, with prices: a token of the model "dear" costs 0.01 dollars.
func priced(t *testing.T, store session.Backend, limits run.Limits, root *agent.Agent, sessions int) (*fixture, *lines, *warnings) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "prices.json")
	if err := os.WriteFile(path, []byte(`{"models": {"dear": {"input": 10000, "output": 10000}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	table, err := price.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	logged, warned := &lines{}, &warnings{Observer: &watcher{running: func() int { return 1 }}}
	h := &fixture{t: t, store: store, Engine: run.NewEngine(run.Options{
		Store: session.NewStore(store), Log: slog.New(slog.NewTextHandler(logged, nil)), Limits: limits, Prices: table, Observer: warned,
		Agent: func(string) (*agent.Agent, error) { return root, nil },
	})}
	for i := range sessions {
		if _, err := h.Create(t.Context(), session.NewSession{Key: at(i)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { h.Shutdown(context.Background()) })
	return h, logged, warned
}

// costly calls tick forever, with a model of that version, ten tokens at a time.
func costly(version string) *agent.Agent {
	return llm(scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		return func(yield func(*model.Response, error) bool) {
			eats(ctx, req)(func(r *model.Response, err error) bool {
				r.ModelVersion = version
				return yield(r, err)
			})
		}
	}), ticks(nil))
}

const cent = 10_000_000 // billionths of a dollar

func TestRunCost(t *testing.T) {
	h, _, _ := priced(t, memstore.New(0), run.Limits{Cost: 25 * cent}, costly("dear-2026-01-01"), 1)
	row, last := h.ends(h.must(at(0), ""))
	if row.Status != session.Failed || row.Failure.Type != run.MaxRunCost || !row.Failure.Reported || !strings.HasSuffix(last, "!"+run.MaxRunCost) {
		t.Errorf("the run is %+v, %+v, and its last event is %s", row, row.Failure, last)
	}
	if want := "it has cost 0.3 US dollars, and may cost 0.25"; !strings.Contains(row.Failure.Message, want) {
		t.Errorf("it says %q, want %q", row.Failure.Message, want)
	}
	rows, _, err := h.Runs(t.Context(), at(0), session.Page{})
	if err != nil {
		t.Fatal(err)
	}
	want := []session.ModelUsage{{
		Model: "dear-2026-01-01", Tokens: event.Usage{Prompt: 21, Candidates: 9, Total: 30}, Cost: session.Cost{Nanos: 30 * cent},
	}}
	if diff := cmp.Diff(want, rows[0].Models); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
}

// The money of a day holds for all sessions of a user, and survives the server.
func TestDayCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New(0)
		h, _, _ := priced(t, store, run.Limits{DayCost: 25 * cent, Tokens: 20}, costly("dear"), 2)
		h.ends(h.must(at(0), ""))
		row, last := h.ends(h.must(at(1), ""))
		if row.Failure == nil || row.Failure.Type != run.MaxDayCost || !strings.HasSuffix(last, "!"+run.MaxDayCost) {
			t.Errorf("the run ended with %+v, %s", row.Failure, last)
		}
		if limit := h.refused(at(0), ""); limit.After > 24*time.Hour || !strings.Contains(limit.Message, "0.3 of 0.25 US dollars") {
			t.Errorf("refused with %+v", limit)
		}
		again, _, _ := priced(t, store, run.Limits{DayCost: 25 * cent}, costly("dear"), 0)
		again.refused(at(0), "")
		time.Sleep(24 * time.Hour)
		again.wait(again.must(at(0), ""))
	})
}

// A model without a price is allowed, and limits of tokens hold; the log says once
// that its cost is not counted.
func TestCostWithoutPrice(t *testing.T) {
	h, logged, _ := priced(t, memstore.New(0), run.Limits{Cost: 1, DayCost: 1, WarnDayCost: 1, Tokens: 15}, costly("unknown"), 2)
	for i := range 2 {
		row, _ := h.ends(h.must(at(i), ""))
		if row.Failure == nil || row.Failure.Type != run.MaxRunTokens {
			t.Errorf("the run ended with %+v", row.Failure)
		}
		if got, want := row.Cost(), (session.Cost{Unpriced: 20}); got != want {
			t.Errorf("its cost is %+v, want %+v", got, want)
		}
	}
	if n := logged.count("cannot count a model without a price"); n != 1 {
		t.Errorf("the log says so %d times", n)
	}
}

// The warning comes once for a user and a day, and refuses nothing.
func TestWarnDayCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, logged, warned := priced(t, memstore.New(0), run.Limits{WarnDayCost: 15 * cent, Tokens: 10}, costly("dear"), 1)
		for i, want := range []int{0, 1, 1, 1} {
			h.ends(h.must(at(0), ""))
			if n := logged.count("has reached the cost of a day"); n != want || len(warned.apps) != want {
				t.Errorf("after run %d there are %d warnings in the log, and %v, want %d", i+1, n, warned.apps, want)
			}
		}
		time.Sleep(24 * time.Hour)
		h.ends(h.must(at(0), ""))
		h.ends(h.must(at(0), ""))
		if len(warned.apps) != 2 || warned.apps[1] != "app" {
			t.Errorf("on the next day, warnings are %v", warned.apps)
		}
	})
}

// What an agent that is a tool has cost is the run's, by its own model.
func TestCostOfAgentsThatAreTools(t *testing.T) {
	say := func(version string, tokens int64, r *model.Response) *model.Response {
		r.ModelVersion, r.Usage = version, &event.Usage{Prompt: tokens, Total: tokens}
		return r
	}
	inner, err := agent.NewLLM(agent.LLMConfig{Name: "inner", Description: "Helps.", Model: scripted.Func(func(context.Context, *model.Request) iter.Seq2[*model.Response, error] {
		return func(yield func(*model.Response, error) bool) { yield(say("dear", 100, model.Text("done")), nil) }
	})})
	if err != nil {
		t.Fatal(err)
	}
	last := scripted.Func(func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		if len(scripted.LastResponses(req)) == 0 {
			return scripted.Call("inner", map[string]string{"request": "help"})(ctx, req)
		}
		return func(yield func(*model.Response, error) bool) { yield(say("other", 7, model.Text("bye")), nil) }
	})
	h, _, _ := priced(t, memstore.New(0), run.Limits{}, llm(last, agent.AsTool(inner)), 1)
	row, _ := h.ends(h.must(at(0), ""))
	want := []session.ModelUsage{
		{Model: "dear", Tokens: event.Usage{Prompt: 100, Total: 100}, Cost: session.Cost{Nanos: 100 * cent}},
		{Model: "other", Tokens: event.Usage{Prompt: 7, Total: 7}, Cost: session.Cost{Unpriced: 7}},
	}
	if diff := cmp.Diff(want, row.Models); diff != "" {
		t.Errorf("by model (-want +got):\n%s", diff)
	}
}

// A call that ends without an answer, because the run is cancelled or the model fails,
// costs what its pieces say.
func TestCostOfBrokenCalls(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]bool{"cancelled": false, "failed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := make(chan struct{})
			root := llm(scripted.Func(func(ctx context.Context, _ *model.Request) iter.Seq2[*model.Response, error] {
				return func(yield func(*model.Response, error) bool) {
					for n := range int64(3) {
						piece := &model.Response{Partial: true, Content: event.Text(event.RoleModel, "word "), ModelVersion: "dear", Usage: &event.Usage{Prompt: 20, Candidates: n, Total: 20 + n}}
						if !yield(piece, nil) {
							return
						}
					}
					close(said)
					if !fail {
						<-ctx.Done()
					}
					yield(nil, errors.New("the connection broke"))
				}
			}))
			h, _, _ := priced(t, memstore.New(0), run.Limits{}, root, 1)
			r, err := h.Start(t.Context(), run.Request{Key: at(0), Message: event.Text(event.RoleUser, "hello"), Stream: true})
			if err != nil {
				t.Fatal(err)
			}
			<-said
			if !fail {
				if err := r.Cancel(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			row, _ := h.ends(r)
			want := []session.ModelUsage{{Model: "dear", Tokens: event.Usage{Prompt: 20, Candidates: 2, Total: 22}, Cost: session.Cost{Nanos: 22 * cent}}}
			if diff := cmp.Diff(want, row.Models); diff != "" {
				t.Errorf("by model (-want +got):\n%s", diff)
			}
		})
	}
}
