// Package retry waits between attempts.
package retry

import (
	"context"
	"math/rand/v2"
	"time"
)

// Sleep waits for d. It fails with the error of ctx when that is done first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() // of two that come together, the end counts
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Backoff returns longer and longer pauses.
type Backoff struct {
	// Wait is the mean of the next pause. It doubles with each one, up to Max.
	Wait, Max time.Duration
}

// Next returns the next pause: between half and one and a half times Wait, so that
// callers that failed together do not come back together.
func (b *Backoff) Next() time.Duration {
	pause := b.Wait
	if b.Wait > 0 {
		pause = b.Wait/2 + rand.N(b.Wait) //nolint:gosec // it only spreads callers
	}
	b.Wait = min(2*b.Wait, b.Max)
	return pause
}
