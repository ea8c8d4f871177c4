package script

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"
)

func (g *guest) timer(payload string) (string, error) {
	var m struct {
		ID     int64   `json:"id"`
		MS     float64 `json:"ms"`
		Repeat bool    `json:"repeat"`
	}
	if err := json.Unmarshal([]byte(payload), &m); err != nil {
		return "", err
	}
	id, delay := strconv.FormatInt(m.ID, 10), time.Duration(m.MS*float64(time.Millisecond))
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.timers) >= maxTimers {
		return "", fmt.Errorf("there are %d timers already", maxTimers)
	}
	var t *time.Timer
	t = time.AfterFunc(delay, func() {
		// A timer may be due before its variable is set: only the lock says when
		// it is.
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.timers[m.ID] != t {
			return // nobody wants it any more
		}
		if !m.Repeat {
			delete(g.timers, m.ID)
		}
		g.engine.post(func() error {
			_, err := g.engine.vm.Call("__timer", id)
			// The next tick is due only when this one has been heard, so that
			// a busy engine is not buried in them.
			g.mu.Lock()
			if m.Repeat && g.timers[m.ID] == t {
				t.Reset(delay)
			}
			g.mu.Unlock()
			return err
		})
	})
	g.timers[m.ID] = t
	return "", nil
}

// maxTimers is how many timers an application may have at a time.
const maxTimers = 100_000

func (g *guest) stopTimer(payload string) (string, error) {
	id, _ := strconv.ParseInt(payload, 10, 64)
	g.mu.Lock()
	defer g.mu.Unlock()
	if t := g.timers[id]; t != nil {
		t.Stop()
		delete(g.timers, id)
	}
	return "", nil
}
