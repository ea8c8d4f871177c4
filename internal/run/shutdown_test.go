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
	"github.com/parley-run/parley/session/memstore"
	"github.com/parley-run/parley/session/sqlite"
	"github.com/parley-run/parley/tool"
)

// slowClaim is a store whose claims do not end before they are given
// up: then they have worked, or not.
type slowClaim struct {
	session.Store
	claimed chan struct{}
	works   bool
}

func (s *slowClaim) Claim(ctx context.Context, key session.Key, read session.Read) (begun *session.Begun, err error) {
	if s.works {
		if begun, err = s.Store.Claim(ctx, key, read); err != nil {
			return nil, err
		}
	}
	s.claimed <- struct{}{}
	<-ctx.Done()
	if !s.works {
		err = ctx.Err()
	}
	return begun, err
}

// A run that is being claimed when the time of a server is over is left to
// others, and is not waited for.
func TestShutdownDuringAClaim(t *testing.T) {
	t.Parallel()
	for name, works := range map[string]bool{"that is answered late": true, "that is not answered": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "parley.db")
			open := func(owner string) session.Store {
				store, err := sqlite.Open(t.Context(), path, session.Options{Owner: owner, Lease: lease, Log: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = store.Close() })
				return store
			}
			mine, others := open("one"), open("two")
			if _, err := others.Create(t.Context(), session.NewSession{Key: key}); err != nil {
				t.Fatal(err)
			}
			begun, err := others.Begin(t.Context(), session.NewRun{
				ID: "e-1", Key: key, Busy: session.Enqueue, Message: entries(t, hiLine)[0],
				Request: func() ([]byte, error) { return []byte(`{"message":{"role":"user","parts":[{"text":"pay"}]}}`), nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := others.HandOver(t.Context(), key, begun.Run.Epoch); err != nil {
				t.Fatal(err)
			}
			root := worker(tool.Pure, nil, make(chan string, 10)) // which works until it is told to end
			store := &slowClaim{Store: mine, claimed: make(chan struct{}), works: works}
			e := run.NewEngine(run.Options{
				Store: session.NewStore(store), Lease: lease, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
				Agent: func(string) (*agent.Agent, error) { return root, nil },
			})
			<-store.claimed
			over, cancel := context.WithCancel(t.Context())
			cancel()
			down := make(chan struct{})
			go func() {
				e.Shutdown(over)
				close(down)
			}()
			select {
			case <-down:
			case <-time.After(5 * time.Minute):
				t.Fatal("the server does not end")
			}
			taken, err := others.Claim(t.Context(), key, session.Read{})
			if err != nil || taken.Run.ID != "e-1" {
				t.Errorf("another process cannot claim the run: %v", err)
			}
		})
	}
}

// Without other processes, a queued run is cancelled.
func TestShutdownOfTheQueue(t *testing.T) {
	t.Parallel()
	started := make(chan string, 10)
	store := &slowClaim{Store: memstore.New(0), claimed: make(chan struct{}), works: true}
	gate := make(chan struct{})
	h := newFixture(t, store, worker(tool.Pure, gate, started))
	h.start("one")
	<-started
	second, err := h.Start(t.Context(), run.Request{Key: key, Message: event.Text(event.RoleUser, "two")})
	if err != nil {
		t.Fatal(err)
	}
	close(gate)
	<-store.claimed
	over, cancel := context.WithCancel(t.Context())
	cancel()
	down := make(chan struct{})
	go func() {
		h.Shutdown(over)
		close(down)
	}()
	select {
	case <-down:
	case <-time.After(5 * time.Minute):
		t.Fatal("the server does not end")
	}
	if row := h.info(second); row.Status != session.Cancelled {
		t.Errorf("the queued run is %s", row.Status)
	}
}
