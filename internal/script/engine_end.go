package script

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"modernc.org/quickjs"
)

func (e *engine) runaway() error {
	return fmt.Errorf("the code ran for more than %v without giving way, and was stopped", e.limits.Turn)
}

func (e *engine) exhausted() error {
	return fmt.Errorf("the code ran out of memory (%d MB), and was stopped", e.limits.Memory>>20)
}

// fatal is why the engine cannot go on after an error; nil if it can.
func (e *engine) fatal(err error) error {
	switch {
	case isInternal(err, "interrupted"):
		return e.runaway()
	case isInternal(err, "out of memory") || isMute(err):
		// What its code holds on to stays, and the next that wants memory may be
		// the protocol.
		return e.exhausted()
	case errors.Is(err, errBroken):
		return err
	}
	return nil
}

// isInternal tells the engine's own error from one of the code, whose message
// may well have the words in it.
func isInternal(err error, message string) bool {
	if thrown, ok := errors.AsType[*quickjs.Error](err); ok {
		return thrown.Name == "InternalError" && thrown.Message == message
	}
	reported, ok := errors.AsType[*Error](err)
	return ok && reported.Name == "InternalError" && reported.Message == message
}

// isMute reports whether there was no memory for the error itself: the engine
// throws null then.
func isMute(err error) bool {
	thrown, ok := errors.AsType[*quickjs.Error](err)
	return ok && thrown.Name == "" && (thrown.Error() == "null" || thrown.Error() == "")
}

// errBroken means that the guest's half of the protocol does not work any more.
// Errors of the author's code do not come that way.
var errBroken = errors.New("the application's engine does not work any more")

func unusable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errBroken, err)
}

// end makes the engine refuse jobs, and says why.
func (e *engine) end(cause error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.closed, e.jobs, e.cause = true, nil, cause
	close(e.dead)
	close(e.wake)
}

// close ends the engine and waits until its memory is freed. Code that is
// running is interrupted, and killed if that does not help.
func (e *engine) close() {
	e.end(errDead)
	e.vm.Interrupt()
	select {
	case <-e.gone:
		return
	case <-time.After(interruptTimeout):
	}
	e.kill()
	select {
	case <-e.gone:
	case <-time.After(killTimeout):
	}
}

const (
	interruptTimeout = time.Second
	killTimeout      = 2 * time.Second
)

// kill ends what is running in an engine that has ended, by a fault at its next
// access of memory.
//
// Only a function of Go that does not return can outlive that. The memory is
// freed at once all the same, but not the goroutine, so the number of those is
// limited.
func (e *engine) kill() {
	e.killing.Do(func() {
		_ = e.heap.revoke() // if it fails, the engine is stuck
		go func() {
			select {
			case <-e.gone:
				return
			case <-time.After(killTimeout):
			}
			stuck.Add(1)
			<-e.gone
			stuck.Add(-1)
		}()
	})
}

// stuck counts the engines that were killed and are still there.
var stuck atomic.Int64

const maxStuck = 16
