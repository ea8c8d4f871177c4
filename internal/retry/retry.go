// Package retry waits between attempts.
package retry

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync/atomic"
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

// Pause returns the time to wait after an attempt that failed, from 1 for the first: its
// mean is first, and doubles with each attempt, up to last.
func Pause(attempt int, first, last time.Duration) time.Duration {
	b := Backoff{Wait: last}
	if shift := max(attempt-1, 0); shift < 32 && first < last>>shift {
		b.Wait = first << shift
	}
	return b.Next()
}

// countKey is the context key of a counting.
type countKey struct{}

// counting is a context with a counter.
type counting struct {
	context.Context
	n atomic.Int64
}

// Value implements context.Context.
func (c *counting) Value(key any) any {
	if key == (countKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// Counting returns a context, and the number of attempts that were repeated in it.
func Counting(ctx context.Context) (context.Context, *atomic.Int64) {
	c := &counting{Context: ctx}
	return c, &c.n
}

// Repeated is called before an attempt is repeated. It counts that for all callers that
// want to know.
func Repeated(ctx context.Context) {
	for c, ok := ctx.Value(countKey{}).(*counting); ok; c, ok = c.Context.Value(countKey{}).(*counting) {
		c.n.Add(1)
	}
}

// maxReason bounds what is stored about a failure.
const maxReason = 300

// Reason returns what is stored of an error: text that every database takes.
func Reason(err error) string {
	text := err.Error()
	return strings.ToValidUTF8(strings.ReplaceAll(text[:min(len(text), maxReason)], "\x00", ""), "")
}
