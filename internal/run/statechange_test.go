package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/session/sqlite"
	"github.com/parley-run/parley/tool"
)

// A call increments a key that another one sets to a text at the same time. The
// run fails and says why, and leaves a history in which every call is answered.
func TestStateConflict(t *testing.T) {
	t.Parallel()
	var both sync.WaitGroup
	both.Add(2)
	change := func(name string, change func(*tool.Context) error) tool.Tool {
		return tool.Must(tool.New(tool.Declaration{Name: name}, func(ctx *tool.Context, _ struct{}) (any, error) {
			both.Done()
			both.Wait()
			return "done", change(ctx)
		}))
	}
	h := newFixture(t, memstore.New(0), llm(
		scripted.New(scripted.Calls(&event.FunctionCall{Name: "set"}, &event.FunctionCall{Name: "add"}), scripted.Say("never")),
		change("set", func(ctx *tool.Context) error { return ctx.State.Set("k", "a text") }),
		change("add", func(ctx *tool.Context) error { return ctx.State.Increment("k", 1) }),
	))
	r := h.start("go")
	h.wait(r)
	if info := h.info(r); info.Status != session.Failed || info.Failure == nil || !strings.Contains(info.Failure.Message, "the state could not be changed") {
		t.Errorf("the run is %+v, %+v", info, info.Failure)
	}
	if got, want := h.history(), "user:go a:call-setcall-add a:response-interruptedresponse-interrupted"; !strings.HasPrefix(got, want) {
		t.Errorf("the history is %q, want %q", got, want)
	}
}

// noting tells when something was written into the journal of a run.
type noting struct {
	session.Store
	noted chan struct{}
}

func (n *noting) Append(ctx context.Context, key session.Key, epoch int64, notes session.Journal, entries ...*session.Entry) error {
	err := n.Store.Append(ctx, key, epoch, notes, entries...)
	if len(entries) == 0 && err == nil {
		n.noted <- struct{}{}
	}
	return err
}

// A call has incremented and appended, and its result is in the journal but not
// in the log when its server ends. The server that takes the run over makes the
// changes, once, and does not repeat the call.
func TestTakeoverMakesStateChanges(t *testing.T) {
	t.Parallel()
	started := make(chan struct{}, 1)
	rootOf := func(first bool, steps ...scripted.Step) *agent.Agent {
		add := tool.Must(tool.New(tool.Declaration{Name: "add", Effect: tool.Once}, func(ctx *tool.Context, _ struct{}) (string, error) {
			if !first {
				t.Error("the call was repeated")
			}
			return "added", errors.Join(ctx.State.Increment("n", 2), ctx.State.Append("list", "x"))
		}))
		work := tool.Must(tool.New(tool.Declaration{Name: "work", Effect: tool.Pure}, func(ctx *tool.Context, _ struct{}) (string, error) {
			if first {
				started <- struct{}{}
				<-ctx.Done()
				return "", context.Cause(ctx)
			}
			return "worked", ctx.State.Increment("n", 1)
		}))
		return llm(scripted.New(steps...), add, work)
	}
	path := filepath.Join(t.TempDir(), "parley.db")
	noted := make(chan struct{}, 10)
	open := func(name string, root *agent.Agent) *fixture {
		inner, err := sqlite.Open(t.Context(), path, session.Options{Owner: name, Lease: lease, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		store := &noting{inner, noted}
		h := &fixture{t: t, store: store, Engine: run.NewEngine(run.Options{
			Store: session.NewStore(store), Lease: lease, Log: slog.New(slog.NewTextHandler(t.Output(), nil)).With("replica", name),
			Agent: func(string) (*agent.Agent, error) { return root, nil },
		})}
		t.Cleanup(func() {
			h.Shutdown(context.Background())
			_ = inner.Close()
		})
		return h
	}
	first := open("one", rootOf(true, scripted.Calls(&event.FunctionCall{Name: "add"}, &event.FunctionCall{Name: "work"})))
	if _, err := first.Create(t.Context(), session.NewSession{Key: key, State: map[string]json.RawMessage{"n": json.RawMessage("40")}}, nil); err != nil {
		t.Fatal(err)
	}
	r := first.start("go")
	<-started
	<-noted
	over, cancel := context.WithCancel(t.Context())
	cancel()
	first.Shutdown(over)
	second := open("two", rootOf(false, scripted.Say("end")))
	got, row := read(t, second.other(r))
	s, err := second.store.Get(t.Context(), key, session.Read{})
	if err != nil {
		t.Fatal(err)
	}
	if row.Status != session.Completed || string(s.State["n"]) != "43" || string(s.State["list"]) != `["x"]` {
		t.Errorf("%s: %s; the state is %s", row.Status, got, s.State)
	}
}
