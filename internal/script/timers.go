package script

import (
	"container/heap"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// alarm is a timer of JavaScript.
type alarm struct {
	id     int64
	delay  time.Duration
	repeat bool
	due    time.Time
	place  int // in the queue; -1 when it is not there
}

// alarms is a queue, as container/heap wants it: what is due first is called
// first, and of two at once the older one. Code relies on that order.
type alarms []*alarm

func (q alarms) Len() int { return len(q) }

func (q alarms) Less(i, j int) bool {
	if !q[i].due.Equal(q[j].due) {
		return q[i].due.Before(q[j].due)
	}
	return q[i].id < q[j].id
}

func (q alarms) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push is for container/heap.
func (q *alarms) Push(x any) {
	a := x.(*alarm)
	a.place = len(*q)
	*q = append(*q, a)
}

// Pop is for container/heap.
func (q *alarms) Pop() any {
	last := len(*q) - 1
	a := (*q)[last]
	a.place = -1
	*q = slices.Delete(*q, last, last+1)
	return a
}

func (g *guest) timer(payload string) (string, error) {
	var m struct {
		ID     int64   `json:"id"`
		MS     float64 `json:"ms"`
		Repeat bool    `json:"repeat"`
	}
	if err := json.Unmarshal([]byte(payload), &m); err != nil {
		return "", err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.timers) >= maxTimers {
		return "", fmt.Errorf("there are %d timers already", maxTimers)
	}
	g.drop(m.ID)
	a := &alarm{id: m.ID, delay: time.Duration(m.MS * float64(time.Millisecond)), repeat: m.Repeat}
	g.timers[m.ID] = a
	g.set(a)
	return "", nil
}

// maxTimers is how many timers an application may have at a time.
const maxTimers = 100_000

func (g *guest) stopTimer(payload string) (string, error) {
	id, _ := strconv.ParseInt(payload, 10, 64)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drop(id)
	return "", nil
}

// drop forgets a timer, if there is one. It wants g.mu held, as the rest does.
func (g *guest) drop(id int64) {
	if a := g.timers[id]; a != nil && a.place >= 0 {
		heap.Remove(&g.queue, a.place)
	}
	delete(g.timers, id)
}

func (g *guest) set(a *alarm) {
	a.due = time.Now().Add(a.delay)
	heap.Push(&g.queue, a)
	if a.place == 0 {
		g.wind()
	}
}

// wind sets the clock to when the next timer is due.
func (g *guest) wind() {
	if len(g.queue) == 0 {
		return
	}
	wait := time.Until(g.queue[0].due)
	if g.clock == nil {
		g.clock = time.AfterFunc(wait, g.ring)
	} else {
		g.clock.Reset(wait)
	}
}

// ring calls all that is due.
func (g *guest) ring() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for now := time.Now(); len(g.queue) > 0 && !g.queue[0].due.After(now); {
		a := g.queue[0]
		heap.Pop(&g.queue)
		if !a.repeat {
			delete(g.timers, a.id)
		}
		g.engine.post(func() error {
			_, err := g.engine.vm.Call("__timer", strconv.FormatInt(a.id, 10))
			// The next tick is due only when this one has been heard, so that
			// a busy engine is not buried in them.
			g.mu.Lock()
			defer g.mu.Unlock()
			if a.repeat && g.timers[a.id] == a {
				g.set(a)
			}
			return err
		})
	}
	g.wind()
}
