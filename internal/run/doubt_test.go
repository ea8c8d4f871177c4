package run_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/doctor"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/testkit/sessionservice"
	"github.com/parley-run/parley/model/scripted"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/agentengine"
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/session/sqlite"
	"github.com/parley-run/parley/tool"
)

var errAway = errors.New("the database is unavailable")

// doubtfulStore is a store whose answers get lost: it does a write, or not, and
// returns an error.
type doubtfulStore struct {
	session.Store
	appends atomic.Pointer[func([]*session.Entry) bool] // whose answer is lost
	ends    atomic.Int64                                // that are not done, from now on
	closed  atomic.Bool
}

func (u *doubtfulStore) Append(ctx context.Context, key session.Key, epoch int64, notes session.Journal, entries ...*session.Entry) error {
	err := u.Store.Append(ctx, key, epoch, notes, entries...)
	if lost := u.appends.Load(); err == nil && lost != nil && (*lost)(entries) {
		return errAway
	}
	return err
}

func (u *doubtfulStore) End(ctx context.Context, key session.Key, epoch int64, end session.End) (bool, error) {
	if u.ends.Add(-1) >= 0 {
		return false, errAway
	}
	return u.Store.End(ctx, key, epoch, end)
}

func (u *doubtfulStore) Run(ctx context.Context, key session.Key, id string) (*session.Run, error) {
	if u.closed.Load() {
		return nil, errAway
	}
	return u.Store.Run(ctx, key, id)
}

func unsureHouse(t *testing.T, root *agent.Agent) (*fixture, *doubtfulStore) {
	t.Helper()
	inner, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "parley.db"), session.Options{Owner: "one", Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	store := &doubtfulStore{Store: session.Cached(inner, 1<<20)}
	h := &fixture{t: t, store: store, Engine: run.NewEngine(run.Options{
		Store: session.NewStore(store), Lease: lease, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Agent: func(string) (*agent.Agent, error) { return root, nil },
	})}
	t.Cleanup(func() {
		h.Shutdown(context.Background())
		_ = inner.Close()
	})
	if _, err := h.Create(t.Context(), session.NewSession{Key: key}, nil); err != nil {
		t.Fatal(err)
	}
	return h, store
}

// healthy looks for what must not be.
func (h *fixture) healthy() {
	h.t.Helper()
	report, err := doctor.Examine(context.Background(), session.NewStore(h.store), false)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, p := range report.Problems {
		h.t.Error(p)
	}
}

func nothing() tool.Tool {
	return tool.Must(tool.New(tool.Declaration{Name: "work", Effect: tool.Pure}, func(*tool.Context, struct{}) (map[string]string, error) {
		return map[string]string{"status": "done"}, nil
	}))
}

// An event can be stored although the store has said that it could not do it.
// Whatever becomes of the run, the history is whole, and readers see all of it.
func TestAppendInDoubt(t *testing.T) {
	t.Parallel()
	h, store := unsureHouse(t, llm(scripted.New(scripted.Call("work", nil), scripted.Say("end")), nothing()))
	lost := func(entries []*session.Entry) bool {
		for _, e := range entries {
			if ev, err := e.Decode(); err == nil && len(ev.FunctionCalls()) > 0 {
				return true
			}
		}
		return false
	}
	store.appends.Store(&lost)
	r := h.start("go")
	mine := r.Read()
	defer mine.Close()
	got, row := read(t, mine)
	if row.Status != session.Failed || got != "a:call-work a:response-interrupted!INVOCATION_ABORTED" {
		t.Errorf("%s: %s", row.Status, got)
	}
	h.healthy()
}

// After an append that failed, the engine stores nothing more of an agent that
// continues: the order in which readers saw the events would be unknown.
func TestNothingAfterADoubt(t *testing.T) {
	t.Parallel()
	say := func(text string) *event.Event { return &event.Event{Content: event.Text(event.RoleModel, text)} }
	second := make(chan error, 1)
	root, err := agent.New(agent.Config{Name: "a"}, func(_ *agent.Context, emit agent.Emit) error {
		if emit(say("one")) != nil || emit(say("two")) == nil {
			t.Error("the wrong answer was lost")
		}
		second <- emit(say("three"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h, store := unsureHouse(t, root)
	lost := func(entries []*session.Entry) bool { return strings.Contains(words(entries), "two") }
	store.appends.Store(&lost)
	r := h.start("go")
	mine := r.Read()
	defer mine.Close()
	got, row := read(t, mine)
	if got != "a:one a:two" || h.history() != "user:go "+got || row.Status != session.Failed {
		t.Errorf("%s: read is %s, and stored %s", row.Status, got, h.history())
	}
	var failed *run.StoreError
	if err := <-second; !errors.As(err, &failed) {
		t.Errorf("it was told %v", err)
	}
	h.healthy()
}

// The answer to a call is not lost when the store is unavailable just as it comes.
func TestAnswerInDoubt(t *testing.T) {
	t.Parallel()
	ask := tool.Must(tool.New(tool.Declaration{Name: "ask", LongRunning: true}, func(*tool.Context, struct{}) (any, error) { return nil, nil }))
	h, store := unsureHouse(t, llm(scripted.New(scripted.Call("ask", nil), scripted.Say("thanks")), ask))
	first := h.wait(h.start("go"))
	if first.Run.Status != session.Waiting {
		t.Fatal(first.Run.Status)
	}
	once := true
	lost := func([]*session.Entry) bool {
		now := once
		once = false
		return now
	}
	store.appends.Store(&lost)
	ev, err := first.Entries[0].Decode()
	if err != nil {
		t.Fatal(err)
	}
	answer := run.Request{Key: key, IdempotencyKey: "k", Fingerprint: "f", Message: &event.Content{Role: event.RoleUser, Parts: []*event.Part{{
		FunctionResponse: &event.FunctionResponse{ID: ev.FunctionCalls()[0].ID, Name: "ask", Response: []byte(`{"ok":true}`)},
	}}}}
	if _, err := h.Start(t.Context(), answer); err == nil {
		t.Fatal("Start returned no error while the store was unavailable")
	}
	again, err := h.Start(t.Context(), answer)
	if err != nil {
		t.Fatalf("the same again: %v", err)
	}
	if result := h.wait(again); result.Run.Status != session.Completed || words(result.Entries) != "a:thanks" {
		t.Errorf("%s: %s", result.Run.Status, words(result.Entries))
	}
	h.healthy()
}

// refusing is a store that does nothing while it is unavailable.
type refusing struct {
	session.Store
	away atomic.Bool
}

func (r *refusing) Append(ctx context.Context, key session.Key, epoch int64, notes session.Journal, entries ...*session.Entry) error {
	if r.away.Load() {
		return errAway
	}
	return r.Store.Append(ctx, key, epoch, notes, entries...)
}

// atService keeps sessions at a service whose appends get that answer while it is
// away.
func atService(fault sessionservice.Fault) func(t *testing.T) (store session.Backend, leave, come func()) {
	return func(t *testing.T) (session.Backend, func(), func()) {
		t.Helper()
		service := sessionservice.New(t)
		store, err := agentengine.Open(t.Context(), agentengine.Options{
			URL: service.StoreURL(), Getenv: func(string) string { return "" }, Log: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		leave := func() {
			service.Break(func(r *http.Request) *sessionservice.Fault {
				if !strings.HasSuffix(r.URL.Path, ":appendEvent") {
					return nil
				}
				return &fault
			})
		}
		return store, leave, func() { service.Break(nil) }
	}
}

// A session in a store that no other process uses is free again after an answer
// that may or may not be stored: no other process could claim the run.
func TestAnswerInDoubtOfAnOnlyProcess(t *testing.T) {
	t.Parallel()
	always := func([]*session.Entry) bool { return true }
	for _, tt := range []struct {
		name  string
		store func(t *testing.T) (store session.Backend, leave, come func())
		again error // what the same answer gets later
	}{
		{"stored", func(*testing.T) (session.Backend, func(), func()) {
			u := &doubtfulStore{Store: memstore.New(0)}
			return u, func() { u.appends.Store(&always) }, func() { u.appends.Store(nil) }
		}, run.ErrAnswered},
		{"not stored", func(*testing.T) (session.Backend, func(), func()) {
			r := &refusing{Store: memstore.New(0)}
			return r, func() { r.away.Store(true) }, func() { r.away.Store(false) }
		}, nil},
		{"stored at a service", atService(sessionservice.Fault{Status: http.StatusForbidden, After: true}), run.ErrAnswered},
		{"not stored at a service", atService(sessionservice.Fault{Status: http.StatusForbidden}), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ask := tool.Must(tool.New(tool.Declaration{Name: "ask", LongRunning: true}, func(*tool.Context, struct{}) (any, error) { return nil, nil }))
			store, leave, come := tt.store(t)
			h := newFixture(t, store, llm(scripted.New(scripted.Call("ask", nil), scripted.Say("thanks"), scripted.Say("hello")), ask))
			first := h.wait(h.start("go"))
			ev, err := first.Entries[0].Decode()
			if err != nil {
				t.Fatal(err)
			}
			answer := run.Request{Key: key, Message: &event.Content{Role: event.RoleUser, Parts: []*event.Part{{
				FunctionResponse: &event.FunctionResponse{ID: ev.FunctionCalls()[0].ID, Name: "ask", Response: []byte(`{"ok":true}`)},
			}}}}
			leave()
			if _, err := h.Start(t.Context(), answer); err == nil {
				t.Fatal("Start returned no error while the store was unavailable")
			}
			come()
			answer.Busy = session.Reject
			again, err := h.Start(t.Context(), answer)
			if !errors.Is(err, tt.again) {
				t.Fatalf("the same again: %v, want %v", err, tt.again)
			}
			if err == nil {
				h.wait(again)
			}
			r, err := h.Start(t.Context(), run.Request{Key: key, Message: event.Text(event.RoleUser, "next"), Busy: session.Reject})
			if err != nil {
				t.Fatalf("the session is not free: %v", err)
			}
			h.wait(r)
			h.healthy()
		})
	}
}

// A run whose end could not be stored has not ended: no reader sees an end, and
// another process continues the run.
func TestEndIsNotStored(t *testing.T) {
	t.Parallel()
	h, store := unsureHouse(t, llm(scripted.New(scripted.Call("work", nil), scripted.Say("end")), nothing()))
	store.ends.Store(1)
	r := h.start("go")
	mine := r.Read()
	defer mine.Close()
	got, row := read(t, mine)
	if row.Status != session.Completed || got != "a:call-work a:response-done a:end" {
		t.Errorf("%s: %s", row.Status, got)
	}
	if stored, err := h.Run(t.Context(), key, r.ID()); err != nil || stored.Status != row.Status {
		t.Errorf("told %s, stored is %v, %v", row.Status, stored, err)
	}
	h.healthy()
}

// Readers of a server that ends are told to go elsewhere, also when its store is
// closed before they have looked.
func TestReaderOfClosedStore(t *testing.T) {
	t.Parallel()
	started := make(chan string, 1)
	h, store := unsureHouse(t, worker(tool.Pure, nil, started))
	r := h.start("go")
	<-started
	mine := r.Read()
	defer mine.Close()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	h.Shutdown(over)
	store.closed.Store(true)
	var err error
	for err == nil {
		_, err = mine.Next(t.Context())
	}
	if !errors.Is(err, run.ErrClosing) || errors.Is(err, io.EOF) {
		t.Errorf("the reader ended with %v", err)
	}
}

// slowBegin is a store whose answer to a Begin takes its time.
type slowBegin struct {
	session.Store
	gate  chan struct{}
	slow  atomic.Bool
	begun chan string
}

func (s *slowBegin) Begin(ctx context.Context, r session.NewRun) (*session.Begun, error) {
	begun, err := s.Store.Begin(ctx, r)
	if s.slow.Load() {
		s.begun <- r.ID
		<-s.gate
	}
	return begun, err
}

// A run that others know of before its own server does, because the answer of
// the store takes long, is cancelled and read like any other one.
func TestStoredBeforeBeginReturns(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]time.Duration{"soon": 0, "after it was given up": time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { knownBeforeItIsTold(t, late) })
		})
	}
}

func knownBeforeItIsTold(t *testing.T, late time.Duration) {
	t.Helper()
	started := make(chan string, 1)
	store := &slowBegin{Store: memstore.New(0), gate: make(chan struct{}), begun: make(chan string)}
	h := newFixture(t, store, worker(tool.Pure, nil, started))
	first := h.start("first")
	<-started
	store.slow.Store(true)
	told := make(chan *run.Run)
	go func() {
		r, err := h.Start(context.Background(), run.Request{Key: key, Message: event.Text(event.RoleUser, "second")})
		if err != nil {
			t.Error(err)
		}
		told <- r
	}()
	id := <-store.begun
	reader, err := h.Follow(t.Context(), key, id, "")
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if _, err := h.Cancel(t.Context(), key, id); err != nil { // which does not wait for the store's answer
		t.Error(err)
	}
	time.Sleep(late)
	close(store.gate)
	second := <-told
	if _, row := read(t, reader); row.Status != session.Cancelled {
		t.Errorf("the reader was told %s", row.Status)
	}
	if _, err := second.Wait(t.Context()); !errors.Is(err, run.ErrCancelled) {
		t.Errorf("it ended with %v", err)
	}
	time.Sleep(time.Minute) // code that does not return is given up after a second; there is none here
	if err := first.Cancel(t.Context()); err != nil {
		t.Error(err)
	}
	h.wait(first) // which panicked: the second one had left twice
}

// A run that is interrupted before the store's answer to its Begin has come ends
// as soon as the answer has.
func TestInterruptedBeforeBeginReturns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		started := make(chan string, 1)
		store := &slowBegin{Store: memstore.New(0), gate: make(chan struct{}), begun: make(chan string, 2)}
		h := newFixture(t, store, worker(tool.Pure, nil, started))
		store.slow.Store(true)
		told := make(chan *run.Run)
		start := func(policy session.Policy) {
			r, err := h.Start(context.Background(), run.Request{Key: key, Message: event.Text(event.RoleUser, "go"), Busy: policy})
			if err != nil {
				t.Error(err)
			}
			told <- r
		}
		go start(session.Enqueue)
		<-store.begun
		store.slow.Store(false)
		go start(session.Interrupt)
		second := <-told // it is queued, and the first one does not know that it has begun
		close(store.gate)
		first := <-told
		if row := h.wait(first).Run; row.Status != session.Cancelled {
			t.Errorf("the first run is %s", row.Status)
		}
		h.cancel(second)
		h.wait(second)
	})
}
