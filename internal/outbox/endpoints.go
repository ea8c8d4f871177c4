package outbox

import (
	"sync"
	"time"

	"github.com/parley-run/parley/internal/retry"
	"github.com/parley-run/parley/session"
)

const (
	// longestRest is the mean of the longest time for which nothing is sent to an endpoint
	// whose attempts fail.
	longestRest = time.Minute
	// forgetAfter is when it is forgotten that the attempts of an endpoint have failed.
	forgetAfter = time.Hour
)

// endpoints knows how many deliveries of each subscription of an application may be sent.
// One whose attempts fail gets one at a time, after some time, however many sessions it
// has deliveries for. The zero value is ready to use.
type endpoints struct {
	mu    sync.Mutex
	known map[string]*endpoint
}

type endpoint struct {
	sends    int // in progress
	failures int // since an attempt has succeeded
	rest     time.Time
}

// limits returns what session.DeliveryQueue.ClaimDeliveries needs to know.
func (e *endpoints) limits() map[string]int {
	e.mu.Lock()
	defer e.mu.Unlock()
	now, limits := time.Now(), map[string]int{}
	for id, p := range e.known {
		switch {
		case p.sends == 0 && now.Sub(p.rest) > forgetAfter:
			delete(e.known, id)
		case now.Before(p.rest):
			limits[id] = 0
		case p.failures > 0:
			limits[id] = max(1-p.sends, 0)
		default:
			limits[id] = max(session.MaxClaimed-p.sends, 0)
		}
	}
	return limits
}

func (e *endpoints) begin(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known == nil {
		e.known = map[string]*endpoint{}
	}
	if e.known[id] == nil {
		e.known[id] = &endpoint{}
	}
	e.known[id].sends++
}

func (e *endpoints) finish(id string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p := e.known[id]
	if p.sends--; err == nil {
		p.failures = 0
		if p.sends == 0 {
			delete(e.known, id)
		}
		return
	}
	if now := time.Now(); !now.Before(p.rest) { // attempts that fail together count once
		p.failures++
		p.rest = now.Add(retry.Pause(p.failures, firstPause, longestRest))
	}
}
