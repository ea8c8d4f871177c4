package engine

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestWatchdog(t *testing.T) {
	t.Parallel()
	const limit = 5 * time.Second
	for _, tt := range []struct {
		name        string
		share       float64       // of the elapsed time, that the process gets a processor
		turn        time.Duration // that the code needs, of elapsed time
		interrupted time.Duration // after the turn began; 0 for not at all
		killed      time.Duration
	}{
		{name: "ends in time", share: 1, turn: 4 * time.Second},
		{name: "ends in time on a busy machine", share: 0.1, turn: 45 * time.Second},
		{name: "without a processor", share: 0, turn: time.Hour},
		{name: "endless", share: 1, turn: time.Hour, interrupted: limit, killed: limit + interruptTimeout},
		{name: "endless on a busy machine", share: 0.5, turn: time.Hour, interrupted: 2 * limit, killed: 2*limit + interruptTimeout},
		{name: "interrupted", share: 1, turn: limit + interruptTimeout/2, interrupted: limit},
		{name: "other code of the process is busy", share: 2, turn: time.Hour, interrupted: limit, killed: limit + interruptTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var interrupted, killed time.Duration
				began := time.Now()
				w := newWatchdog(func() { interrupted = time.Since(began) }, func() { killed = time.Since(began) })
				w.processTime = func() time.Duration { return time.Duration(float64(time.Since(began)) * tt.share) }
				w.start(limit)
				time.Sleep(tt.turn)
				w.stop()
				if expired := w.expired(); expired != (tt.interrupted != 0) {
					t.Errorf("expired: %v", expired)
				}
				time.Sleep(time.Hour)
				const grain = 100 * time.Millisecond
				if interrupted.Round(grain) != tt.interrupted || killed.Round(grain) != tt.killed {
					t.Errorf("interrupted after %v, want %v; killed after %v, want %v", interrupted, tt.interrupted, killed, tt.killed)
				}
			})
		})
	}
}
