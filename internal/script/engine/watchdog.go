package engine

import (
	"sync"
	"time"
)

// watchdog limits one turn of an engine at a time. A turn that exceeds its limit
// is first interrupted; if it still runs after a grace period, it is killed.
//
// The limit counts processor time of the process as well as elapsed time: on a
// busy machine code may wait for a processor for seconds, and that is not its
// fault. The process cannot have spent less on the code than the code has used,
// so code that is never given a processor is never stopped, and code that uses one
// is stopped as soon as it can be said that it has used its limit.
type watchdog struct {
	interrupt, kill func()
	processTime     func() time.Duration

	mu       sync.Mutex
	timer    *time.Timer
	limit    time.Duration
	began    time.Time
	used     time.Duration // processTime at the first check
	measured bool          // used is set
	watching bool
	exceeded bool // the turn was interrupted
}

// firstCheck is when the processor time is read first. Most turns are over by then:
// they need no system call (BenchmarkTurn). Longer ones get that much more time.
const firstCheck = 10 * time.Millisecond

func newWatchdog(interrupt, kill func()) *watchdog {
	w := &watchdog{interrupt: interrupt, kill: kill, processTime: processTime}
	w.timer = time.AfterFunc(time.Hour, w.expire)
	w.timer.Stop()
	return w
}

// start begins a turn.
func (w *watchdog) start(limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit, w.began = limit, time.Now()
	w.watching, w.measured, w.exceeded = true, false, false
	w.timer.Reset(min(limit, firstCheck))
}

// stop ends the turn.
func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watching = false
	w.timer.Stop()
}

// expired reports whether the turn was interrupted.
func (w *watchdog) expired() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.exceeded
}

func (w *watchdog) expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.watching {
		return
	}
	if w.exceeded {
		w.watching = false
		w.kill()
		return
	}
	if !w.measured {
		w.measured, w.used = true, w.processTime()
	}
	// A later turn may have begun since the timer fired, so the elapsed time is
	// compared too.
	if rest := w.limit - min(time.Since(w.began), w.processTime()-w.used); rest > 0 {
		w.timer.Reset(max(rest, time.Millisecond))
		return
	}
	w.exceeded = true
	w.interrupt()
	w.timer.Reset(min(w.limit, interruptTimeout))
}

// processStart stands in for the start of the process where the system does not
// say how much processor time it has used.
var processStart = time.Now()
