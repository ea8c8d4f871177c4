package run_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/parley-run/parley/agent"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/sqlite"
	"github.com/parley-run/parley/tool"
)

// stuck is a store that blocks on one session, as when another process holds a
// lock on it.
type stuck struct {
	session.Store
	gate    <-chan struct{}
	waits   chan struct{} // receives a value for each call that gets to the gate, up to its capacity
	renewed chan struct{} // receives a value for each call, if a receiver is ready
}

// wait blocks until the gate is open.
func (s *stuck) wait() {
	select {
	case s.waits <- struct{}{}:
	default:
	}
	<-s.gate
}

func (s *stuck) Renew(ctx context.Context) ([]session.Held, error) {
	held, err := s.Store.Renew(ctx)
	if err == nil && len(held) > 0 {
		select {
		case s.renewed <- struct{}{}:
		default:
		}
	}
	return held, err
}

var stuckKey = session.Key{App: "app", User: "u", ID: "stuck"}

func (s *stuck) Append(ctx context.Context, key session.Key, epoch int64, notes session.Journal, entries ...*session.Entry) error {
	if key == stuckKey {
		s.wait()
	}
	return s.Store.Append(ctx, key, epoch, notes, entries...)
}

func (s *stuck) End(ctx context.Context, key session.Key, epoch int64, end session.End) (bool, error) {
	if key == stuckKey {
		s.wait()
	}
	return s.Store.End(ctx, key, epoch, end)
}

// One run that is stuck in the store does not cost a server all the others.
func TestStuckRunDoesNotStopRenewing(t *testing.T) {
	t.Parallel()
	gate, started := make(chan struct{}), make(chan string, 1)
	inner, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "parley.db"), session.Options{Owner: "one", Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	work := worker(tool.Pure, nil, started)
	store := &stuck{Store: inner, gate: gate, waits: make(chan struct{}, 1), renewed: make(chan struct{})}
	h := &fixture{t: t, store: inner, Engine: run.NewEngine(run.Options{
		Store: session.NewStore(store), Lease: lease, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Agent: func(string) (*agent.Agent, error) { return work, nil },
	})}
	t.Cleanup(func() {
		over, cancel := context.WithCancel(context.Background())
		cancel()
		h.Shutdown(over)
		_ = inner.Close()
	})
	for _, k := range []session.Key{key, stuckKey} {
		if _, err := h.Create(t.Context(), session.NewSession{Key: k}, nil); err != nil {
			t.Fatal(err)
		}
	}
	defer close(gate) // before anyone waits for the end
	h.start("go")
	<-started
	if _, err := h.Start(t.Context(), run.Request{Key: stuckKey, Message: event.Text(event.RoleUser, "go")}); err != nil {
		t.Fatal(err)
	}
	<-store.waits
	for n := range 5 {
		select {
		case <-store.renewed:
		case <-time.After(time.Minute):
			t.Fatalf("leases were renewed %d times", n)
		}
	}
}
