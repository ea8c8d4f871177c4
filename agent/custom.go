package agent

import (
	"sync"

	"github.com/parley-run/parley/event"
)

// asked are the long-running calls that a function has emitted and not answered.
// The agent waits for them when the function returns.
type asked struct {
	mu  sync.Mutex
	ids map[string]bool
}

// watch is emit, and notes the calls.
func (a *asked) watch(emit Emit) Emit {
	return func(ev *event.Event) error {
		if err := emit(ev); err != nil || ev.Partial {
			return err
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, id := range ev.LongRunningToolIDs {
			if a.ids == nil {
				a.ids = map[string]bool{}
			}
			a.ids[id] = true
		}
		for _, r := range ev.FunctionResponses() {
			delete(a.ids, r.ID)
		}
		return nil
	}
}

// open reports whether a call is not answered.
func (a *asked) open() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.ids) > 0
}
