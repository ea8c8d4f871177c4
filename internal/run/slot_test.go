package run

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

func TestSlotExcludes(t *testing.T) {
	t.Parallel()
	var s slot
	var wg sync.WaitGroup
	held := 0
	for i := range 50 {
		wg.Go(func() {
			for range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%2 == 0 {
					go cancel() // while it waits, or has just got it
				}
				if s.acquire(ctx) == nil {
					held++ // the race detector looks
					s.unlock()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	s.lock() // which is free again
	if held < 5000 {
		t.Errorf("it was acquired %d times", held)
	}
	if len(s.next) > 0 {
		t.Errorf("%d still wait", len(s.next))
	}
}

func TestSlotInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s slot
		s.lock()
		cause := errors.New("not any more")
		var order []int
		cancels := make([]context.CancelCauseFunc, 4)
		for i := range cancels {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancels[i] = cancel
			go func() {
				if err := s.acquire(ctx); err != nil {
					if !errors.Is(err, cause) {
						t.Error(err)
					}
					return
				}
				order = append(order, i)
				s.unlock()
			}()
			synctest.Wait()
		}
		cancels[1](cause)
		synctest.Wait()
		s.unlock()
		synctest.Wait()
		if len(order) != 3 || order[0] != 0 || order[1] != 2 || order[2] != 3 {
			t.Errorf("the order is %v", order)
		}
	})
}
