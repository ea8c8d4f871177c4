package playback

import (
	"context"
	"sync"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
)

// patience is how long an event waits for others that do not come, because the code
// has changed. The time begins again with every event.
const patience = 10 * time.Second

// order stores the events of agents that run at the same time in the order in which
// they were stored in the run. Agents that run later see them in that order.
type order struct {
	mu       sync.Mutex
	expected []*event.Event
	stored   []bool
	changed  chan struct{} // closed when an event was stored
}

func newOrder(events []*event.Event) *order {
	return &order{expected: events, stored: make([]bool, len(events)), changed: make(chan struct{})}
}

// Emit implements run.Edges.
func (o *order) Emit(ctx context.Context, ev *event.Event, store func(*event.Event) error) error {
	if ev.Partial {
		return store(ev)
	}
	i := o.wait(ctx, ev)
	err := store(ev)
	if i >= 0 {
		o.mu.Lock()
		o.stored[i] = true
		o.mu.Unlock()
	}
	o.notify()
	return err
}

// wait returns the index of the expected event that ev is, or -1, when those before
// it are stored.
func (o *order) wait(ctx context.Context, ev *event.Event) (i int) {
	o.until(ctx, func() (next bool) {
		i, next = o.find(ev)
		return next
	})
	return i
}

// until waits until met returns true. It reports whether that was the case before nothing
// changed for long, or the context ended. o.mu is held when met is called.
func (o *order) until(ctx context.Context, met func() bool) bool {
	for {
		o.mu.Lock()
		ok := met()
		changed := o.changed
		o.mu.Unlock()
		if ok {
			return true
		}
		late := time.NewTimer(patience)
		select {
		case <-changed:
			late.Stop()
		case <-late.C:
			return false
		case <-ctx.Done():
			late.Stop()
			return false
		}
	}
}

// notify has those who wait look again.
func (o *order) notify() {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
}

// find returns the index of the expected event that ev is, or -1, and whether it may be
// stored. o.mu must be held.
func (o *order) find(ev *event.Event) (index int, next bool) {
	next = true
	for i, other := range o.expected {
		switch {
		case o.stored[i]:
		case other.Author == ev.Author && other.Branch == ev.Branch:
			return i, next
		case agentrt.Apart(other.Branch, ev.Branch):
			next = false
		}
	}
	return -1, true
}
