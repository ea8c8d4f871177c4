package host

import (
	"context"
	"encoding/json"
	"runtime"

	"github.com/parley-run/parley/internal/script/host/keys"
)

// slots limit what is done at a time, for all applications and for one.
type slots struct {
	all, own chan struct{}
}

// allSlots are the connections that are open at a time. A request waits for a free
// slot, as in the connection pools of Node.js. Without a limit, requests that hang
// would use up the file descriptors that the server needs to accept connections.
//
// They are a quarter of the file descriptors that the process may have. The rest is
// for clients, models, databases and files.
var allSlots = make(chan struct{}, max(16, min(descriptors()/4, 4096)))

// allWork is what generates and derives keys at a time. It leaves processors for the
// server.
var allWork = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))

// newSlots makes the slots of one application: half of all, so that the others
// always have some, or are next if there is only one.
func newSlots(all chan struct{}) slots {
	return slots{all: all, own: make(chan struct{}, max(1, cap(all)/2))}
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

// derive generates or derives a key for code that awaits it.
func (h *Host) derive(ctx context.Context, params json.RawMessage, yield func(any) error) error {
	var w keys.Work
	if err := json.Unmarshal(params, &w); err != nil {
		return err
	}
	if err := h.work.acquire(ctx); err != nil {
		return err
	}
	out, err := keys.Do(w)
	h.work.release()
	if err != nil {
		return err
	}
	return yield(out)
}
