package broker

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/internal/retry"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

func lockable(t *testing.T) (store session.Store, id session.SecretID) {
	t.Helper()
	store = memstore.New(0)
	if _, err := store.Create(t.Context(), session.NewSession{Key: session.Key{App: "a", User: "u", ID: "s"}}); err != nil {
		t.Fatal(err)
	}
	return store, session.SecretID{App: "a", User: "u", Session: "s", Name: "lock/x"}
}

func TestLockIsForOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, id := lockable(t)
		brokers := []*Broker{New(Options{Secrets: store}), New(Options{Secrets: store})}
		var all sync.WaitGroup
		inside, most, times := 0, 0, 0
		var mu sync.Mutex
		for i := range 20 {
			all.Go(func() {
				work, release, err := brokers[i%2].lock(t.Context(), id)
				if err != nil {
					t.Error(err)
					return
				}
				defer release()
				mu.Lock()
				inside++
				most, times = max(most, inside), times+1
				mu.Unlock()
				_ = retry.Sleep(work, time.Second)
				mu.Lock()
				inside--
				mu.Unlock()
			})
		}
		all.Wait()
		if most != 1 || times != 20 {
			t.Errorf("%d at a time, %d in all", most, times)
		}
		for _, b := range brokers {
			if len(b.turns.of) != 0 {
				t.Errorf("%d turns are left", len(b.turns.of))
			}
		}
	})
}

// A lock whose owner has died expires, and an owner that was only slow does not take it from the next one.
func TestLockEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, id := lockable(t)
		slow, next, third := New(Options{Secrets: store}), New(Options{Secrets: store}), New(Options{Secrets: store})
		work, releaseSlow, err := slow.lock(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		_, releaseNext, err := next.lock(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited < next.lockLife || waited > next.lockLife+time.Second {
			t.Errorf("the lock of a dead owner ended after %v", waited)
		}
		if !errors.Is(work.Err(), context.DeadlineExceeded) {
			t.Error("the work may outlive its lock")
		}
		releaseSlow()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, _, err := third.lock(ctx, id); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the lock was released by another owner: %v", err)
		}
		releaseNext()
		_, release, err := third.lock(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		release()
	})
}

// Work continues after its caller is cancelled; waiting does not.
func TestLockAndCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, id := lockable(t)
		b := New(Options{Secrets: store})
		ctx, cancel := context.WithCancel(t.Context())
		work, release, err := b.lock(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		waiting := make(chan error)
		go func() {
			_, _, err := b.lock(ctx, id)
			waiting <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-waiting; !errors.Is(err, context.Canceled) {
			t.Errorf("waiting: %v", err)
		}
		if work.Err() != nil {
			t.Error("the work has ended")
		}
		release()
	})
}
