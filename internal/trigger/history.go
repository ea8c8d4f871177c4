package trigger

import (
	"slices"
	"sync"
	"time"
)

// The outcomes of deliveries.
const (
	Started    = "started"
	Repeated   = "repeated"   // the run was started before
	Ignored    = "ignored"    // the trigger is not for it
	Challenged = "challenged" // the sender has asked whether this is the right address
	Refused    = "refused"    // it is not from the sender
	Failed     = "failed"     // no run could be started
)

// Past is what has come of a delivery.
type Past struct {
	Time     time.Time
	Outcome  string
	Delivery string // the id of the sender, which may be empty
	Type     string // of the event, which may be empty
	User     string
	Session  string
	Run      string
	Error    string
}

const (
	maxPast = 20
	// maxHistories bounds the triggers whose deliveries are remembered.
	maxHistories = 2000
)

// history remembers the latest deliveries that this process has got.
type history struct {
	mu  sync.Mutex
	all map[[2]string][]*Past // by application and name, the latest last
}

func (h *history) add(t *Trigger, p *Past) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil || len(h.all) >= maxHistories {
		h.all = map[[2]string][]*Past{}
	}
	key := [2]string{t.App, t.Name}
	list := h.all[key]
	// Others than the sender can send any number of requests, which must not displace
	// what the sender has sent.
	if n := len(list); n > 0 && p.Outcome == Refused && list[n-1].Outcome == Refused {
		list = list[:n-1]
	}
	if len(list) == maxPast {
		list = slices.Clone(list[1:])
	}
	h.all[key] = append(list, p)
}

func (h *history) drop(app, name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, [2]string{app, name})
}

// Past returns the latest deliveries of a trigger that this process has got, the latest
// first.
func (s *Service) Past(app, name string) []*Past {
	s.past.mu.Lock()
	defer s.past.mu.Unlock()
	list := slices.Clone(s.past.all[[2]string{app, name}])
	slices.Reverse(list)
	return list
}
