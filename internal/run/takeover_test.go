package run_test

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/model"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/sqlite"
	"github.com/parley-run/parley/tool"
)

// The process that takes over a run knows what came with its message and what the
// run has used, and its timestamps do not go back.
func TestTakeoverKnows(t *testing.T) {
	t.Parallel()
	thrifty := func(total int64, text string) scripted.Step {
		return func(context.Context, *model.Request) iter.Seq2[*model.Response, error] {
			return func(yield func(*model.Response, error) bool) {
				r := model.Text(text)
				r.Usage = &event.Usage{Total: total}
				yield(r, nil)
			}
		}
	}
	started := make(chan struct{}, 2)
	// rootOf is an agent whose model begins with the steps that are left.
	rootOf := func(waits bool, steps ...scripted.Step) *agent.Agent {
		inner, err := agent.NewLLM(agent.LLMConfig{Name: "inner", Description: "Helps.", Model: scripted.Func(thrifty(100, "done"))})
		if err != nil {
			t.Fatal(err)
		}
		work := tool.Must(tool.New(tool.Declaration{Name: "work", Effect: tool.Pure}, func(ctx *tool.Context, _ struct{}) (map[string]string, error) {
			started <- struct{}{}
			if waits {
				<-ctx.Done()
				return nil, context.Cause(ctx)
			}
			var status string
			if _, err := ctx.State.Get("temp:word", &status); err != nil {
				return nil, err
			}
			return map[string]string{"status": status}, nil
		}))
		return llm(scripted.New(steps...), work, agent.AsTool(inner))
	}
	path := filepath.Join(t.TempDir(), "parley.db")
	open := func(name string, ahead time.Duration, root *agent.Agent) *fixture {
		store, err := sqlite.Open(t.Context(), path, session.Options{Owner: name, Lease: lease, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		h := &fixture{t: t, store: store, Engine: run.NewEngine(run.Options{
			Store: session.NewStore(store), Lease: lease, Log: slog.New(slog.NewTextHandler(t.Output(), nil)).With("replica", name),
			Agent: func(string) (*agent.Agent, error) { return root, nil },
			Now:   func() time.Time { return time.Now().Add(ahead) },
		})}
		t.Cleanup(func() {
			h.Shutdown(context.Background())
			_ = store.Close()
		})
		return h
	}
	first := open("one", time.Hour, rootOf(true, scripted.Call("inner", map[string]string{"request": "help"}), scripted.Call("work", nil)))
	if _, err := first.Create(t.Context(), session.NewSession{Key: key}, nil); err != nil {
		t.Fatal(err)
	}
	r, err := first.Start(t.Context(), run.Request{
		Key: key, Message: event.Text(event.RoleUser, "go"), StateDelta: map[string]json.RawMessage{"temp:word": json.RawMessage(`"kept"`)},
		MessageID: "m1", Tools: []tool.Declaration{{Name: "paint", Parameters: json.RawMessage(`{"type":"object"}`)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	<-started
	over, cancel := context.WithCancel(t.Context())
	cancel()
	first.Shutdown(over)

	offered := func(ctx context.Context, req *model.Request) iter.Seq2[*model.Response, error] {
		if !slices.ContainsFunc(req.Tools, func(d model.Declaration) bool {
			return d.Name == "paint" && string(d.Parameters) == `{"type":"object"}`
		}) {
			t.Errorf("the tool of the client is not offered: %v", req.Tools)
		}
		return thrifty(7, "end")(ctx, req)
	}
	second := open("two", 0, rootOf(false, offered))
	got, row := read(t, second.other(r))
	if want := "a:call-inner a:response- a:call-work a:response-kept a:end"; got != want || row.Status != session.Completed {
		t.Errorf("%s: %s, want %s", row.Status, got, want)
	}
	if row.Usage.Total != 107 {
		t.Errorf("%d tokens were used", row.Usage.Total)
	}
	s, err := second.store.Get(t.Context(), key, session.Read{})
	if err != nil {
		t.Fatal(err)
	}
	if ev, err := s.Entries[0].Decode(); err != nil || ev.ID != "m1" {
		t.Errorf("the message is %v, %v", ev, err)
	}
	latest := 0.0
	for _, e := range s.Entries {
		ev, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		if ev.Timestamp < latest {
			t.Errorf("event %d is of %f, after one of %f", e.Seq, ev.Timestamp, latest)
		}
		latest = max(latest, ev.Timestamp)
	}
}
