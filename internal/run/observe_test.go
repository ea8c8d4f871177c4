package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/tool"
)

// watcher is an observer that remembers which runs it was told are over.
type watcher struct {
	running func() int // the runs that are worked on

	mu       sync.Mutex
	finished []session.Status
	late     int // those that were over before it was told
	gone     []session.Key
}

func (w *watcher) Forgotten(keys ...session.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = append(w.gone, keys...)
}

func (*watcher) Wants(agentrt.StepKind) bool                                { return true }
func (*watcher) Detailed() bool                                             { return false }
func (*watcher) Begin(ctx context.Context, _ *agentrt.Step) context.Context { return ctx }
func (*watcher) Done(*agentrt.Step)                                         {}
func (*watcher) Close(*agentrt.Step)                                        {}
func (*watcher) Mark(context.Context, session.Key) string                   { return "" }
func (*watcher) Spent(string, []session.ModelUsage)                         {}
func (*watcher) CostWarning(string)                                         {}
func (*watcher) Ended(*session.Run, bool)                                   {}
func (*watcher) Login(string)                                               {}

func (w *watcher) Work(ctx context.Context, _ *run.Work) (context.Context, func(session.Status, *session.Failure)) {
	return ctx, func(status session.Status, _ *session.Failure) {
		running := w.running()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.finished = append(w.finished, status)
		if running == 0 {
			w.late++
		}
	}
}

// When Wait returns, the observer of the run has been told, also if the run ends
// without its own code.
func TestObserverReceivesTheEndFirst(t *testing.T) {
	for name, status := range map[string]session.Status{"say": session.Completed, "deaf": session.Cancelled} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				let := make(chan struct{})
				deaf := tool.Must(tool.New(tool.Declaration{Name: "deaf"}, func(*tool.Context, struct{}) (any, error) {
					<-let
					return "late", nil
				}))
				script := scripted.Say("hello")
				if name == "deaf" {
					script = scripted.Call("deaf", nil)
				}
				root, w := llm(scripted.New(script), deaf), &watcher{}
				h := &fixture{t: t, Engine: run.NewEngine(run.Options{
					Store: memstore.New(0), Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Observer: w,
					Agent: func(string) (*agent.Agent, error) { return root, nil },
				})}
				w.running = h.Running
				if _, err := h.Create(t.Context(), session.NewSession{Key: key}, nil); err != nil {
					t.Fatal(err)
				}
				r := h.start("go")
				synctest.Wait()
				if name == "deaf" {
					h.cancel(r)
				}
				h.wait(r)
				w.mu.Lock()
				told := len(w.finished)
				w.mu.Unlock()
				if told != 1 {
					t.Errorf("the run is over, and the observer was told so %d times", told)
				}
				close(let)
				h.Shutdown(context.Background())
				synctest.Wait()
				if len(w.finished) != 1 || w.finished[0] != status || w.late != 0 {
					t.Errorf("told %v, %d times late", w.finished, w.late)
				}
			})
		})
	}
}

// holder is a broker whose runs hold back everything that is said until it is
// complete, and cannot scrub what was held back.
type holder struct {
	run.Logins
	run.Credentials
}

func (h holder) For(session.Key) run.Credentials { return h }
func (holder) Knows() bool                       { return true }
func (holder) Decided(string) int                { return 0 }

func (holder) Seal(_ context.Context, delta map[string]json.RawMessage, _ tool.Lookup) (map[string]json.RawMessage, error) {
	return delta, nil
}

func (holder) Scrub(doc []byte) []byte {
	if bytes.Contains(doc, []byte(`"partial":true`)) {
		return []byte("{")
	}
	return doc
}

// What is stored reaches its readers, whatever becomes of its pieces.
func TestStoredEventIsShownWithoutItsLastPiece(t *testing.T) {
	t.Parallel()
	root := llm(scripted.New(scripted.Say("one two")))
	h := &fixture{t: t, Engine: run.NewEngine(run.Options{
		Store: memstore.New(0), Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Logins: holder{},
		Agent: func(string) (*agent.Agent, error) { return root, nil },
	})}
	t.Cleanup(func() { h.Shutdown(context.Background()) })
	if _, err := h.Create(t.Context(), session.NewSession{Key: key}, nil); err != nil {
		t.Fatal(err)
	}
	r, err := h.Start(t.Context(), run.Request{Key: key, Message: event.Text(event.RoleUser, "go"), Stream: true})
	if err != nil {
		t.Fatal(err)
	}
	result := h.wait(r)
	if got := words(result.Entries); got != "a:one two" || result.Run.Status != session.Completed {
		t.Errorf("readers see %q, and the run is %s: %v", got, result.Run.Status, result.Run.Failure)
	}
}

// The observer is told of sessions that are deleted, by a caller or by age.
func TestObserverReceivesDeletedSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &watcher{}
		e := run.NewEngine(run.Options{
			Store: memstore.New(0), Log: slog.New(slog.DiscardHandler), Observer: w, TTL: time.Hour,
			Agent: func(string) (*agent.Agent, error) { return llm(scripted.New()), nil },
		})
		defer e.Shutdown(context.Background())
		old := session.Key{App: "app", User: "u", ID: "old"}
		for _, k := range []session.Key{key, old} {
			if _, err := e.Create(t.Context(), session.NewSession{Key: k}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := e.Delete(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour) // of the clock of the test
		synctest.Wait()
		if want := []session.Key{key, old}; !slices.Equal(w.gone, want) {
			t.Errorf("the observer was notified of %v, want %v", w.gone, want)
		}
	})
}
