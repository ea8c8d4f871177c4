package sessionrt_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/session"
)

// An outage lasts from the first failure until a probe succeeds, and one
// goroutine probes however many failures are reported.
func TestHealthOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("no space left")
		var probes atomic.Int64
		var works atomic.Bool
		h := sessionrt.NewHealth("the store", nil, func(context.Context) error {
			if probes.Add(1); works.Load() {
				return nil
			}
			return broken
		})
		defer h.Close()
		for range 100 {
			h.Failed(broken)
		}
		o := h.Outage()
		if o == nil || !errors.Is(o.Err, broken) {
			t.Fatalf("the outage is %+v", o)
		}
		time.Sleep(10 * time.Second)
		if n := probes.Load(); n < 5 || n > 15 {
			t.Errorf("%d probes in ten seconds", n)
		}
		var unavailable *session.UnavailableError
		before := probes.Load()
		if err := h.Check(t.Context()); !errors.As(err, &unavailable) || !errors.Is(err, broken) || probes.Load() != before {
			t.Errorf("Check: %v after %d probes of its own", err, probes.Load()-before)
		}
		works.Store(true)
		<-o.Over
		if err := h.Check(t.Context()); err != nil || h.Outage() != nil {
			t.Errorf("after the outage: %v, %+v", err, h.Outage())
		}
	})
}

// Check probes when the state is unknown, once for all concurrent callers, and not
// more often than it has to; and a probe that hangs blocks no caller.
func TestHealthCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var probes atomic.Int64
		var hang atomic.Bool
		h := sessionrt.NewHealth("the store", nil, func(ctx context.Context) error {
			probes.Add(1)
			if hang.Load() {
				<-ctx.Done()
				return ctx.Err()
			}
			time.Sleep(time.Second)
			return nil
		})
		defer h.Close()
		all := func(want int64, works bool) {
			t.Helper()
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() {
					if err := h.Check(t.Context()); (err == nil) != works {
						t.Errorf("Check: %v", err)
					}
				})
			}
			wg.Wait()
			if n := probes.Load(); n != want {
				t.Errorf("%d probes, want %d", n, want)
			}
		}
		all(1, true)
		all(1, true)
		time.Sleep(time.Minute)
		all(2, true)
		hang.Store(true)
		time.Sleep(time.Minute)
		asked := time.Now()
		all(3, false)
		if d := time.Since(asked); d > 3*time.Second {
			t.Errorf("a probe that hangs was waited for %v", d)
		}
	})
}
