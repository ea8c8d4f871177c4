package run

import (
	"context"
	"slices"
	"sync"
)

// slot is a lock that is held during calls to the store. Waiting for it can be
// cancelled, and callers get it in order. Its zero value is free. Runs lock it
// several times each and seldom wait, for which a channel takes four times the
// instructions (BenchmarkRun in package bench).
type slot struct {
	mu    sync.Mutex
	taken bool
	next  []chan struct{} // one for each caller that waits, closed when it has got the slot
}

// enter takes the slot if it is free. Otherwise it returns a channel that is closed when
// the caller has got it.
func (s *slot) enter() chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.taken {
		s.taken = true
		return nil
	}
	ready := make(chan struct{})
	s.next = append(s.next, ready)
	return ready
}

// lock waits for the slot without a limit.
func (s *slot) lock() {
	if ready := s.enter(); ready != nil {
		<-ready
	}
}

// acquire waits for the slot. It fails with the cause of ctx if that is done first.
func (s *slot) acquire(ctx context.Context) error {
	ready := s.enter()
	if ready == nil { // the usual case does not need ctx.Done, which allocates (BenchmarkRun)
		return nil
	}
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		s.leave(ready)
		return context.Cause(ctx)
	}
}

// leave gives up waiting, and the slot if the caller has got it in the meantime.
func (s *slot) leave(ready chan struct{}) {
	s.mu.Lock()
	i := slices.Index(s.next, ready)
	if i >= 0 {
		s.next = slices.Delete(s.next, i, i+1)
	}
	s.mu.Unlock()
	if i < 0 {
		s.unlock()
	}
}

// unlock passes the slot to the first caller that waits.
func (s *slot) unlock() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.next) == 0 {
		s.taken = false
		return
	}
	close(s.next[0])
	s.next = slices.Delete(s.next, 0, 1)
}
