package host

import "context"

// slots limit the connections that are open at a time, of all applications and of
// one. A request waits for a free slot, as in the connection pools of Node.js.
// Without a limit, requests that hang would use up the file descriptors that the
// server needs to accept connections.
type slots struct {
	all, own chan struct{}
}

// allSlots are those of all applications: a quarter of the file descriptors that
// the process may have. The rest is for clients, models, databases and files.
var allSlots = make(chan struct{}, max(16, min(descriptors()/4, 4096)))

// newSlots makes the slots of one application: half of all, so that the others
// always have some.
func newSlots(all chan struct{}) slots {
	return slots{all: all, own: make(chan struct{}, cap(all)/2)}
}

// acquire waits for a slot, which must be released.
func (s slots) acquire(ctx context.Context) error {
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

func (s slots) release() {
	<-s.all
	<-s.own
}
