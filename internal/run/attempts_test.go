package run_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/sqlite"
	"github.com/parley-run/parley/tool"
)

// refusingStore is a store that cannot keep what some ends say.
type refusingStore struct {
	session.Store
	ends atomic.Int64
}

func (p *refusingStore) End(ctx context.Context, key session.Key, epoch int64, end session.End) (bool, error) {
	if p.ends.Add(1); end.Resumes != "" || len(end.Entries) > 0 {
		return false, errors.New("invalid byte sequence")
	}
	return p.Store.End(ctx, key, epoch, end)
}

// A run that cannot be ended as it should is ended all the same, when it has been
// tried often enough.
func TestEndThatIsNeverStored(t *testing.T) {
	t.Parallel()
	const short = 450 * time.Millisecond
	inner, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "parley.db"), session.Options{Owner: "one", Lease: short})
	if err != nil {
		t.Fatal(err)
	}
	store := &refusingStore{Store: inner}
	ask := tool.Must(tool.New(tool.Declaration{Name: "ask", LongRunning: true}, func(*tool.Context, struct{}) (any, error) { return nil, nil }))
	root := llm(scripted.New(scripted.Call("ask", nil), scripted.Say("thanks"), scripted.Say("hello")), ask)
	h := &fixture{t: t, store: store, Engine: run.NewEngine(run.Options{
		Store: session.NewStore(store), Lease: short, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Agent: func(string) (*agent.Agent, error) { return root, nil },
	})}
	t.Cleanup(func() {
		h.Shutdown(context.Background())
		_ = inner.Close()
	})
	if _, err := h.Create(t.Context(), session.NewSession{Key: key}, nil); err != nil {
		t.Fatal(err)
	}
	first := h.wait(h.start("go"))
	ev, err := first.Entries[0].Decode()
	if err != nil {
		t.Fatal(err)
	}
	r, err := h.Start(t.Context(), run.Request{Key: key, Message: &event.Content{Role: event.RoleUser, Parts: []*event.Part{{
		FunctionResponse: &event.FunctionResponse{ID: ev.FunctionCalls()[0].ID, Name: "ask", Response: []byte(`{"ok":true}`)},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	result := h.wait(r)
	if row := result.Run; row.Status != session.Failed || row.Failure == nil || row.Failure.Type != "attempts" {
		t.Errorf("%s, %v", row.Status, row.Failure)
	}
	if got := h.wait(h.start("next")); got.Run.Status != session.Completed {
		t.Errorf("the next one is %s", got.Run.Status)
	}
	if n := store.ends.Load(); n > 30 {
		t.Errorf("%d ends were tried", n)
	}
	h.healthy()
}

// A run that crashes its process is not taken over by one process after the other
// forever.
func TestRunThatCrashesEveryProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "parley.db")
	store, err := sqlite.Open(t.Context(), path, session.Options{Owner: "one", Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Create(t.Context(), session.NewSession{Key: key}); err != nil {
		t.Fatal(err)
	}
	log := entries(t, hiLine, payLine)
	begun, err := store.Begin(t.Context(), session.NewRun{
		ID: "e-1", Key: key, Busy: session.Enqueue, Message: log[0],
		Request: func() ([]byte, error) { return []byte(`{"message":{"role":"user","parts":[{"text":"pay"}]}}`), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Append(t.Context(), key, begun.Run.Epoch, nil, log[1]); err != nil {
		t.Fatal(err)
	}
	for begun.Run.Attempt < run.MaxAttempts {
		if err := store.HandOver(t.Context(), key, begun.Run.Epoch); err != nil {
			t.Fatal(err)
		}
		if begun, err = store.Claim(t.Context(), key, session.Read{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.HandOver(t.Context(), key, begun.Run.Epoch); err != nil {
		t.Fatal(err)
	}
	h := fixtureOn(t, store, llm(scripted.New(scripted.Say("not again"))))
	got, row := h.outcome("e-1")
	if row.Status != session.Failed || row.Failure == nil || row.Failure.Type != "attempts" || row.Attempt != run.MaxAttempts+1 {
		t.Errorf("%s, %v at attempt %d", row.Status, row.Failure, row.Attempt)
	}
	if got != "a:call-pay a:response-interrupted!INVOCATION_ABORTED" {
		t.Errorf("it said %s", got)
	}
	h.healthy()
}

// A run whose request cannot be read, as when it was written by a later version,
// ends.
func TestRunOfAnOddRequest(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "parley.db"), session.Options{Owner: "one", Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Create(t.Context(), session.NewSession{Key: key}); err != nil {
		t.Fatal(err)
	}
	begun, err := store.Begin(t.Context(), session.NewRun{
		ID: "e-1", Key: key, Busy: session.Enqueue, Message: entries(t, hiLine)[0],
		Request: func() ([]byte, error) { return []byte(`{"message":7}`), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.HandOver(t.Context(), key, begun.Run.Epoch); err != nil {
		t.Fatal(err)
	}
	if _, row := fixtureOn(t, store, llm(scripted.New())).outcome("e-1"); row.Status != session.Failed || row.Attempt != 2 {
		t.Errorf("%s at attempt %d", row.Status, row.Attempt)
	}
}

// fixtureOn is a house whose runs may be there already.
func fixtureOn(t *testing.T, store session.Backend, root *agent.Agent) *fixture {
	t.Helper()
	h := &fixture{t: t, store: store, Engine: run.NewEngine(run.Options{
		Store: session.NewStore(store), Lease: lease, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Agent: func(string) (*agent.Agent, error) { return root, nil },
	})}
	t.Cleanup(func() {
		h.Shutdown(context.Background())
		_ = store.Close()
	})
	return h
}

// outcome waits for the end of a run of key.
func (h *fixture) outcome(id string) (said string, row *session.Run) {
	h.t.Helper()
	reader, err := h.Follow(h.t.Context(), key, id, "")
	if err != nil {
		h.t.Fatal(err)
	}
	defer reader.Close()
	return read(h.t, reader)
}
