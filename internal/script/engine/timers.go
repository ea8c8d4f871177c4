package engine

import (
	"container/heap"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
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

// clock has the timers of an engine.
type clock struct {
	fire func(id int64, called func()) // calls the function of a timer, and then called

	mu     sync.Mutex
	timers map[int64]*timer
	queue  timers      // those that wait
	next   *time.Timer // fires when the first of them is due
}

func newClock(fire func(id int64, called func())) *clock {
	return &clock{fire: fire, timers: map[int64]*timer{}}
}

// start starts a timer for JavaScript.
func (c *clock) start(payload string) (string, error) {
	var m struct {
		ID     int64   `json:"id"`
		MS     float64 `json:"ms"`
		Repeat bool    `json:"repeat"`
	}
	if err := json.Unmarshal([]byte(payload), &m); err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.timers) >= maxTimers {
		return "", fmt.Errorf("there are %d timers already", maxTimers)
	}
	c.drop(m.ID)
	a := &timer{id: m.ID, delay: time.Duration(m.MS * float64(time.Millisecond)), repeat: m.Repeat}
	c.timers[m.ID] = a
	c.set(a)
	return "", nil
}

// maxTimers is how many timers an engine may have at a time.
const maxTimers = 100_000

// cancel stops a timer for JavaScript.
func (c *clock) cancel(payload string) (string, error) {
	id, _ := strconv.ParseInt(payload, 10, 64)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(id)
	return "", nil
}

// stop stops all timers.
func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next != nil {
		c.next.Stop()
	}
	clear(c.timers)
	c.queue = nil
}

// none reports whether there are no timers while other is true.
func (c *clock) none(other func() bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers) == 0 && other()
}

// drop removes a timer, if it exists. c.mu must be held, also for set and
// schedule.
func (c *clock) drop(id int64) {
	if a := c.timers[id]; a != nil && a.index >= 0 {
		heap.Remove(&c.queue, a.index)
	}
	delete(c.timers, id)
}

func (c *clock) set(a *timer) {
	a.due = time.Now().Add(a.delay)
	heap.Push(&c.queue, a)
	if a.index == 0 {
		c.schedule()
	}
}

// schedule sets the time when the next timer is due.
func (c *clock) schedule() {
	if len(c.queue) == 0 {
		return
	}
	wait := time.Until(c.queue[0].due)
	if c.next == nil {
		c.next = time.AfterFunc(wait, c.call)
	} else {
		c.next.Reset(wait)
	}
}

// call calls the timers that are due.
func (c *clock) call() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for now := time.Now(); len(c.queue) > 0 && !c.queue[0].due.After(now); {
		a := c.queue[0]
		heap.Pop(&c.queue)
		if !a.repeat {
			delete(c.timers, a.id)
		}
		c.fire(a.id, func() {
			// An interval starts again only after its function was called, so that
			// calls do not pile up in a busy engine.
			c.mu.Lock()
			defer c.mu.Unlock()
			if a.repeat && c.timers[a.id] == a {
				c.set(a)
			}
		})
	}
	c.schedule()
}

// fire calls the function of a timer.
func (t *thread) fire(id int64, called func()) {
	t.post(func() error {
		defer called()
		_, err := t.vm.Call("__timer", strconv.FormatInt(id, 10))
		return err
	})
}
