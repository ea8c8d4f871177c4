package script

import "context"

// slots are connections that may be open at once: so many of all applications,
// and so many of one. A request that finds none free waits for one, as in the
// connection pools of Node.js. Without a limit, requests that hang would take
// the descriptors that the server needs to accept connections of its own.
type slots struct {
	all, own chan struct{}
}

// allSlots are those of all applications: a quarter of the descriptors that the
// process may have. The rest is for callers, models, databases and files.
var allSlots = make(chan struct{}, max(16, min(descriptors()/4, 4096)))

// newSlots are those of an application. It gets no more than half of all, so that
// there are some left for the others.
func newSlots(all chan struct{}) slots {
	return slots{all: all, own: make(chan struct{}, cap(all)/2)}
}

// take waits for a slot. It must be given back.
func (s slots) take(ctx context.Context) error {
	select {
	case s.own <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case s.all <- struct{}{}:
		return nil
	case <-ctx.Done():
		<-s.own
		return context.Cause(ctx)
	}
}

func (s slots) give() {
	<-s.all
	<-s.own
}
