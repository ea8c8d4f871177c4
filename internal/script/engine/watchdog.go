package engine

import (
	"sync"
	"sync/atomic"
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

	exceeded atomic.Bool // the turn was interrupted

	mu       sync.Mutex
	timer    *time.Timer
	armed    bool // the timer will fire, possibly after the turn
	limit    time.Duration
	watching bool
	seen     bool          // the timer has fired in the turn
	began    time.Time     // when that was
	used     time.Duration // processTime then
}

// firstCheck is how often the timer looks for a turn that is new to it. Most turns are
// over before: they need no system call, no clock, and no change of the timer
// (BenchmarkTurn). Longer ones get that much more time.
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
	w.limit, w.watching, w.seen = limit, true, false
	w.exceeded.Store(false)
	if !w.armed {
		w.armed = true
		w.timer.Reset(min(limit, firstCheck))
	}
}

// stop ends the turn. The timer fires once more, unless it was set for this turn alone.
func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watching = false
	if w.seen {
		w.armed = false
		w.timer.Stop()
	}
}

// expired reports whether the turn was interrupted.
func (w *watchdog) expired() bool { return w.exceeded.Load() }

func (w *watchdog) expire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = false
	if !w.watching {
		return
	}
	if !w.seen {
		w.seen, w.began, w.used = true, time.Now(), w.processTime()
	}
	if w.exceeded.Load() {
		w.watching = false
		w.kill()
		return
	}
	w.armed = true
	if rest := w.limit - min(time.Since(w.began), w.processTime()-w.used); rest > 0 {
		w.timer.Reset(max(rest, time.Millisecond))
		return
	}
	w.exceeded.Store(true)
	w.interrupt()
	w.timer.Reset(min(w.limit, interruptTimeout))
}

// processStart stands in for the start of the process where the system does not
// say how much processor time it has used.
var processStart = time.Now()
