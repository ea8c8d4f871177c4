package engine

import (
	"container/heap"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// timer is a timer of the code.
type timer struct {
	id     int64
	delay  time.Duration
	repeat bool
	due    time.Time
	index  int // in the queue; -1 if it is not there
}

// timers is a queue for container/heap: the timer that is due first comes first,
// and of two at the same time the older one. Code relies on that order.
type timers []*timer

func (q timers) Len() int { return len(q) }

func (q timers) Less(i, j int) bool {
	if !q[i].due.Equal(q[j].due) {
		return q[i].due.Before(q[j].due)
	}
	return q[i].id < q[j].id
}

func (q timers) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

// Push is for container/heap.
func (q *timers) Push(x any) {
	a := x.(*timer)
	a.index = len(*q)
	*q = append(*q, a)
}

// Pop is for container/heap.
func (q *timers) Pop() any {
	last := len(*q) - 1
	a := (*q)[last]
	a.index = -1
	*q = slices.Delete(*q, last, last+1)
	return a
}

func (e *Engine) startTimer(payload string) (string, error) {
	var m struct {
		ID     int64   `json:"id"`
		MS     float64 `json:"ms"`
		Repeat bool    `json:"repeat"`
	}
	if err := json.Unmarshal([]byte(payload), &m); err != nil {
		return "", err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.timers) >= maxTimers {
		return "", fmt.Errorf("there are %d timers already", maxTimers)
	}
	e.drop(m.ID)
	a := &timer{id: m.ID, delay: time.Duration(m.MS * float64(time.Millisecond)), repeat: m.Repeat}
	e.timers[m.ID] = a
	e.set(a)
	return "", nil
}

// maxTimers is how many timers an engine may have at a time.
const maxTimers = 100_000

func (e *Engine) stopTimer(payload string) (string, error) {
	id, _ := strconv.ParseInt(payload, 10, 64)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.drop(id)
	return "", nil
}

// drop removes a timer, if it exists. e.mu must be held, also for set and
// schedule.
func (e *Engine) drop(id int64) {
	if a := e.timers[id]; a != nil && a.index >= 0 {
		heap.Remove(&e.queue, a.index)
	}
	delete(e.timers, id)
}

func (e *Engine) set(a *timer) {
	a.due = time.Now().Add(a.delay)
	heap.Push(&e.queue, a)
	if a.index == 0 {
		e.schedule()
	}
}

// schedule sets the clock to the time when the next timer is due.
func (e *Engine) schedule() {
	if len(e.queue) == 0 {
		return
	}
	wait := time.Until(e.queue[0].due)
	if e.clock == nil {
		e.clock = time.AfterFunc(wait, e.fire)
	} else {
		e.clock.Reset(wait)
	}
}

// fire calls the timers that are due.
func (e *Engine) fire() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for now := time.Now(); len(e.queue) > 0 && !e.queue[0].due.After(now); {
		a := e.queue[0]
		heap.Pop(&e.queue)
		if !a.repeat {
			delete(e.timers, a.id)
		}
		e.thread.post(func() error {
			_, err := e.thread.vm.Call("__timer", strconv.FormatInt(a.id, 10))
			// An interval starts again only after its function was called, so that
			// calls do not pile up in a busy engine.
			e.mu.Lock()
			defer e.mu.Unlock()
			if a.repeat && e.timers[a.id] == a {
				e.set(a)
			}
			return err
		})
	}
	e.schedule()
}
