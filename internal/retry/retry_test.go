package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parley-run/parley/internal/retry"
)

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := retry.Sleep(t.Context(), time.Hour); err != nil || time.Since(began) != time.Hour {
			t.Errorf("after %v: error %v", time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began = time.Now()
		if err := retry.Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("with a deadline, after %v: error %v", time.Since(began), err)
		}
	})
}

func TestBackoff(t *testing.T) {
	b := retry.Backoff{Wait: time.Second, Max: 3 * time.Second}
	for _, mean := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second} {
		if pause := b.Next(); pause < mean/2 || pause >= mean*3/2 {
			t.Errorf("a pause of %v, want about %v", pause, mean)
		}
	}
	if pause := (&retry.Backoff{}).Next(); pause != 0 {
		t.Errorf("a pause of %v for none", pause)
	}
}
