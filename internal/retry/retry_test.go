package retry_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

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

func TestPause(t *testing.T) {
	for attempt, seconds := range map[int]int{0: 1, 1: 1, 2: 2, 3: 4, 6: 32, 7: 60, 8: 60, 40: 60, 1 << 40: 60} {
		mean := time.Duration(seconds) * time.Second
		if pause := retry.Pause(attempt, time.Second, time.Minute); pause < mean/2 || pause >= mean*3/2 {
			t.Errorf("after attempt %d, a pause of %v, want about %v", attempt, pause, mean)
		}
	}
}

// Postgres refuses text that is not UTF-8, or that has null bytes: the outcome of the
// attempt would be lost.
func TestReason(t *testing.T) {
	for _, text := range []string{strings.Repeat("ü", 300), "x" + strings.Repeat("😀", 300), "a\x00b", "\xff"} {
		got := retry.Reason(errors.New(text))
		if !utf8.ValidString(got) || strings.Contains(got, "\x00") || len(got) > 300 {
			t.Errorf("%.20q is stored as %q", text, got)
		}
	}
}

func TestCounting(t *testing.T) {
	retry.Repeated(t.Context()) // which does not count
	outer, n := retry.Counting(t.Context())
	type key struct{}
	inner, m := retry.Counting(context.WithValue(outer, key{}, "value"))
	retry.Repeated(outer)
	within, cancel := context.WithCancel(inner)
	retry.Repeated(within)
	if n.Load() != 2 || m.Load() != 1 || within.Value(key{}) != "value" {
		t.Errorf("%d and %d attempts are counted, with %v", n.Load(), m.Load(), within.Value(key{}))
	}
	cancel()
}
