package engine

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"modernc.org/quickjs"
)

func (t *thread) runaway() error {
	return t.limits.Runaway()
}

// Exhausted implements Thread.
func (t *thread) Exhausted() error {
	return t.limits.Exhausted()
}

// Fatal implements Thread.
func (t *thread) Fatal(err error) error {
	switch {
	case err == nil:
	case isInternal(err, "interrupted"):
		return t.runaway()
	case isInternal(err, "out of memory") || isMute(err):
		// The memory stays in use, and the next allocation may be one of the
		// protocol.
		return t.Exhausted()
	case errors.Is(err, errBroken):
		return err
	}
	return nil
}

// isInternal reports whether the interpreter itself has thrown an error. The code
// may throw one with the same message.
func isInternal(err error, message string) bool {
	if thrown, ok := errors.AsType[*quickjs.Error](err); ok {
		return thrown.Name == "InternalError" && thrown.Message == message
	}
	reported, ok := errors.AsType[*Error](err)
	return ok && reported.Name == "InternalError" && reported.Message == message
}

// isMute reports whether there was no memory for the error itself: the interpreter
// throws null then, or an error without a message.
func isMute(err error) bool {
	thrown, ok := errors.AsType[*quickjs.Error](err)
	return ok && (thrown.Name == "" && (thrown.Error() == "null" || thrown.Error() == "") || thrown.Name == "InternalError" && thrown.Message == "")
}

// Full implements Thread.
func (t *thread) Full() bool {
	used := make(chan int64, 1)
	t.post(func() error {
		used <- t.heap.arena.Used()
		return nil
	})
	select {
	case n := <-used:
		return n > t.limits.Memory-t.limits.Memory/8
	case <-t.dead:
		return false
	}
}

// errBroken means that a function of js/guest.js has failed. Errors of the
// author's code are not reported that way.
var errBroken = errors.New("the application's engine does not work any more")

func unusable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errBroken, err)
}

// End implements Thread: the thread rejects jobs from now on.
func (t *thread) End(cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.closed, t.jobs, t.cause = true, nil, cause
	close(t.dead)
	close(t.wake)
}

// Done implements Thread.
func (t *thread) Done() <-chan struct{} { return t.dead }

// Err implements Thread.
func (t *thread) Err() error {
	select {
	case <-t.dead:
		return t.cause
	default:
		return nil
	}
}

// Close implements Thread. It interrupts code that is running, and kills it if it
// does not stop.
func (t *thread) Close() {
	defer t.clock.stop()
	t.End(ErrClosed)
	t.vm.Interrupt()
	select {
	case <-t.gone:
		return
	case <-time.After(interruptTimeout):
	}
	t.kill()
	select {
	case <-t.gone:
	case <-time.After(killTimeout):
	}
}

const (
	interruptTimeout = time.Second
	killTimeout      = 2 * time.Second
)

// kill stops the code that runs in a thread that has ended, by a fault at its next
// access of memory.
//
// Only a function of Go that does not return survives that. The memory is freed
// at once nevertheless, but the goroutine remains, so their number is limited.
func (t *thread) kill() {
	t.killing.Do(func() {
		_ = t.heap.revoke() // if it fails, the thread is stuck
		go func() {
			select {
			case <-t.gone:
				return
			case <-time.After(killTimeout):
			}
			stuck.Add(1)
			<-t.gone
			stuck.Add(-1)
		}()
	})
}

// stuck counts the threads that were killed and have not ended.
var stuck atomic.Int64

const maxStuck = 16
