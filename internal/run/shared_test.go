package run_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
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

const lease = 1500 * time.Millisecond

// freezable is the store of a process that can be stopped in its tracks.
type freezable struct {
	session.Store
	mu sync.RWMutex
}

func (f *freezable) thaw() func() {
	f.mu.RLock()
	return f.mu.RUnlock
}

func (f *freezable) Renew(ctx context.Context) ([]session.Held, error) {
	defer f.thaw()()
	return f.Store.Renew(ctx)
}

func (f *freezable) Idle(ctx context.Context, limit int) ([]session.Key, error) {
	defer f.thaw()()
	return f.Store.Idle(ctx, limit)
}

func (f *freezable) Append(ctx context.Context, key session.Key, epoch int64, notes session.Journal, entries ...*session.Entry) error {
	defer f.thaw()()
	return f.Store.Append(ctx, key, epoch, notes, entries...)
}

func (f *freezable) End(ctx context.Context, key session.Key, epoch int64, end session.End) (bool, error) {
	defer f.thaw()()
	return f.Store.End(ctx, key, epoch, end)
}

// replicas are two engines on one database, each with agents of its own.
func replicas(t *testing.T, a, b *agent.Agent) (first, second *fixture, freeze *freezable) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "parley.db")
	open := func(name string, root *agent.Agent) *fixture {
		inner, err := sqlite.Open(t.Context(), path, session.Options{Owner: name, Lease: lease, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		store := &freezable{Store: session.Cached(inner, 1<<20)}
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
	first, second = open("one", a), open("two", b)
	if _, err := first.Create(t.Context(), session.NewSession{Key: key}, nil); err != nil {
		t.Fatal(err)
	}
	freeze, _ = first.store.(*freezable)
	return first, second, freeze
}

// other is the run as another replica knows it.
func (h *fixture) other(r *run.Run) *run.Reader {
	h.t.Helper()
	reader, err := h.Follow(h.t.Context(), r.Key(), r.ID(), "")
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(reader.Close)
	return reader
}

// read reads to the end.
func read(t *testing.T, r *run.Reader) (string, *session.Run) {
	t.Helper()
	var entries []*session.Entry
	for {
		item, err := r.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return words(entries), r.Run()
		}
		if err != nil {
			t.Fatal(err)
		}
		if item.Entry != nil {
			entries = append(entries, item.Entry)
		}
	}
}

// worker is an agent whose tool works for as long as the gate is shut.
func worker(effect tool.Effect, gate <-chan struct{}, started chan<- string) *agent.Agent {
	work := tool.Must(tool.New(tool.Declaration{Name: "work", Effect: effect}, func(ctx *tool.Context, _ struct{}) (map[string]string, error) {
		started <- ctx.FunctionCallID
		select {
		case <-gate:
			return map[string]string{"status": "done"}, ctx.State.Set("temp:x", "1")
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}))
	return llm(scripted.New(scripted.Call("work", nil), scripted.Say("end"), scripted.Say("more")), work)
}

// taker continues where worker has left off: its model has said the call already.
func taker(effect tool.Effect, gate <-chan struct{}, started chan<- string) *agent.Agent {
	work := tool.Must(tool.New(tool.Declaration{Name: "work", Effect: effect}, func(ctx *tool.Context, _ struct{}) (map[string]string, error) {
		started <- ctx.FunctionCallID
		<-gate
		return map[string]string{"status": "again"}, nil
	}))
	return llm(scripted.New(scripted.Say("end")), work)
}

func TestTakeover(t *testing.T) {
	t.Parallel()
	open := make(chan struct{})
	close(open)
	for effect, want := range map[tool.Effect]string{
		tool.Once:       "a:call-work a:response-interrupted a:end",
		tool.Idempotent: "a:call-work a:response-again a:end",
	} {
		t.Run(string(effect), func(t *testing.T) {
			t.Parallel()
			gate, started, again := make(chan struct{}), make(chan string, 1), make(chan string, 1)
			first, second, frozen := replicas(t, worker(effect, gate, started), taker(effect, open, again))
			r := first.start("go")
			id := <-started
			mine := r.Read()
			defer mine.Close()

			frozen.mu.Lock() // the first one stops, and does not renew its lease
			got, row := read(t, second.other(r))
			if got != want || row.Status != session.Completed || row.Attempt != 2 {
				t.Errorf("the other one made of it: %s, %s at attempt %d; want %s", got, row.Status, row.Attempt, want)
			}
			if effect == tool.Idempotent {
				if same := <-again; same != id {
					t.Errorf("the call id was %s, and then %s", id, same)
				}
			}
			close(gate)
			frozen.mu.Unlock() // it wakes up, with a result in its hands

			if got, _ := read(t, mine); got != want {
				t.Errorf("its own reader got %s", got)
			}
			if got := first.history(); got != "user:go "+want {
				t.Errorf("history %s", got)
			}
			if len(again) > 0 {
				t.Error("the tool was called again")
			}
		})
	}
}

// A call whose outcome is unknown can be put before the user, who finds out and
// answers it.
func TestTakeoverAsks(t *testing.T) {
	t.Parallel()
	open, started, again := make(chan struct{}), make(chan string, 1), make(chan string, 1)
	close(open)
	first, second, frozen := replicas(t, worker(tool.Ask, nil, started), taker(tool.Ask, open, again))
	r := first.start("go")
	id := <-started
	frozen.mu.Lock()
	defer frozen.mu.Unlock()
	got, row := read(t, second.other(r))
	if got != "a:call-work a:response-pending" || row.Status != session.Waiting {
		t.Fatalf("the other one made of it: %s, %s", got, row.Status)
	}
	reply := func() (*run.Run, error) {
		return second.Start(t.Context(), run.Request{Key: key, Message: &event.Content{Role: event.RoleUser, Parts: []*event.Part{
			{FunctionResponse: &event.FunctionResponse{ID: id, Name: "work", Response: []byte(`{"status":"found"}`)}},
		}}})
	}
	next, err := reply()
	if err != nil {
		t.Fatal(err)
	}
	if result := second.wait(next); result.Run.Status != session.Completed || result.Run.Resumes != r.ID() {
		t.Errorf("after the answer: %+v", result.Run)
	}
	if got := second.history(); got != "user:go a:call-work a:response-pending user:response-found a:end" {
		t.Errorf("history %s", got)
	}
	if _, err := reply(); !errors.Is(err, run.ErrAnswered) {
		t.Errorf("a second answer: %v", err)
	}
	if len(again) > 0 {
		t.Error("the tool was called again")
	}
}

func TestCancelFromElsewhere(t *testing.T) {
	t.Parallel()
	started := make(chan string, 1)
	first, second, _ := replicas(t, worker(tool.Once, nil, started), llm(scripted.New()))
	r := first.start("go")
	<-started
	if _, err := second.Cancel(t.Context(), key, r.ID()); err != nil {
		t.Fatal(err)
	}
	got, row := read(t, second.other(r))
	if row.Status != session.Cancelled || got != "a:call-work a:response-cancelled!INVOCATION_ABORTED" {
		t.Errorf("%s: %s", row.Status, got)
	}
	if again, err := second.Cancel(t.Context(), key, r.ID()); err != nil || again.Status != session.Cancelled {
		t.Errorf("a second cancel: %v, %v", again, err)
	}
}

func TestQueueAcrossReplicas(t *testing.T) {
	t.Parallel()
	gate, started := make(chan struct{}), make(chan string, 1)
	echoes := llm(scripted.Func(echo))
	first, second, _ := replicas(t, worker(tool.Once, gate, started), echoes)
	r := first.start("one")
	<-started
	var line []*run.Run
	for _, text := range []string{"two", "three"} {
		line = append(line, second.start(text))
	}
	if _, err := second.Start(t.Context(), run.Request{Key: key, Message: event.Text(event.RoleUser, "x"), Busy: session.Reject}); err == nil || !strings.Contains(err.Error(), r.ID()) {
		t.Errorf("rejected with %v", err)
	}
	if _, err := first.Cancel(t.Context(), key, line[1].ID()); err != nil {
		t.Fatal(err)
	}
	if _, err := line[1].Wait(t.Context()); !errors.Is(err, run.ErrCancelled) {
		t.Errorf("cancelled by another process while queued: %v", err)
	}
	close(gate)
	second.wait(line[0])
	if got := second.info(line[0]).Status; !got.Ended() {
		t.Errorf("status %s", got)
	}
	got := second.history()
	if !strings.HasPrefix(got, "user:one a:call-work a:response-done a:end user:two ") {
		t.Errorf("history %s", got)
	}
}

func TestInterruptFromElsewhere(t *testing.T) {
	t.Parallel()
	for _, policy := range []session.Policy{session.Interrupt, session.Rollback} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			started := make(chan string, 1)
			first, second, _ := replicas(t, worker(tool.Once, nil, started), llm(scripted.Func(echo)))
			r := first.start("one")
			<-started
			next, err := second.Start(t.Context(), run.Request{Key: key, Message: event.Text(event.RoleUser, "two"), Busy: policy})
			if err != nil {
				t.Fatal(err)
			}
			result := second.wait(next)
			if got := first.info(r).Status; got != session.Cancelled {
				t.Errorf("the first is %s", got)
			}
			s, err := first.store.Get(t.Context(), key, session.Read{})
			if err != nil {
				t.Fatal(err)
			}
			want := "user:one a:call-work a:response-cancelled!INVOCATION_ABORTED user:two "
			if policy == session.Rollback {
				want = "user:two "
			}
			if got := words(s.Seen()); got != want+words(result.Entries) {
				t.Errorf("history %s", got)
			}
		})
	}
}

// A server that is shut down leaves what it cannot finish to the others, at
// once, and tells its readers.
func TestHandOver(t *testing.T) {
	t.Parallel()
	open, started := make(chan struct{}), make(chan string, 1)
	close(open)
	first, second, _ := replicas(t, worker(tool.Idempotent, nil, started), taker(tool.Idempotent, open, make(chan string, 1)))
	r := first.start("go")
	<-started
	mine, others := r.Read(), second.other(r)
	defer mine.Close()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	first.Shutdown(over)
	if got, row := read(t, others); got != "a:call-work a:response-again a:end" || row.Status != session.Completed {
		t.Errorf("%s: %s", row.Status, got)
	}
	var last error
	for last == nil {
		_, last = mine.Next(t.Context())
	}
	if !errors.Is(last, run.ErrClosing) && !errors.Is(last, io.EOF) {
		t.Errorf("the reader of the first one ended with %v", last)
	}
}
