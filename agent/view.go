package agent

import (
	"slices"
	"sync"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
)

// A log only grows, so what a model saw of it in the last request is the beginning
// of what it sees in the next one. A view keeps that, with the state of its
// builder, and a request costs what is new in the log: BenchmarkTurn.

// view is what the model of one agent sees of a log.
type view struct {
	mu    sync.Mutex
	b     builder          // after the first read events; its contents have the ids of the log
	given []*event.Content // the same contents with the ids that the model gave
	cursor

	short    *compacted // the latest compaction in what was searched for it
	searched cursor
}

// cursor is how far a log was read.
type cursor struct {
	read int
	last *event.Event
}

// fits reports whether a log begins with the events that were read. Rewinding removes
// events, and a store may have decoded them again. An event has the same place only if
// none before it was removed.
func (c *cursor) fits(log agentrt.Log, end int) bool {
	return c.read > 0 && c.read <= end && log.At(c.read-1) == c.last
}

// viewKey is all that the contents of a view depend on, besides the log.
type viewKey struct{ agent, branch, isolation string }

// views are those of one log, for all runs of the session.
type views struct {
	mu  sync.Mutex
	all map[viewKey]*view
}

const (
	// minView is the number of events below which no view is kept: to read them again
	// is cheap, and most sessions are short.
	minView = 64
	// maxViews bounds the views of one log. A view needs two pointers for an event,
	// and a copy of what other agents said.
	maxViews = 8
)

// viewOf returns the view with a key, nil if the log keeps none.
func viewOf(log agentrt.Log, key viewKey) *view {
	keeper, ok := log.(interface{ Derived(create func() any) any })
	if !ok || log.Len() < minView {
		return nil
	}
	kept, ok := keeper.Derived(func() any { return &views{all: map[viewKey]*view{}} }).(*views)
	if !ok {
		return nil
	}
	kept.mu.Lock()
	defer kept.mu.Unlock()
	v := kept.all[key]
	if v == nil {
		for other := range kept.all {
			if len(kept.all) < maxViews {
				break
			}
			delete(kept.all, other)
		}
		v = &view{}
		kept.all[key] = v
	}
	return v
}

// contents reads what is new in the log, and returns all contents. The caller owns
// the slice.
func (v *view) contents(log agentrt.Log, key viewKey) []*event.Content {
	v.mu.Lock()
	defer v.mu.Unlock()
	end := log.Len()
	if !v.fits(log, end) {
		v.b, v.given, v.read = builder{agent: key.agent, isolation: key.isolation}, nil, 0
	}
	same := len(v.given) // contents that stay as they are
	if v.b.answer != nil {
		same-- // more calls may be answered, and that is where
	}
	v.b.sent = true
	for ; v.read < end; v.read++ {
		v.last = log.At(v.read)
		v.b.tell(v.last, key.branch, false)
	}
	v.given = v.given[:same]
	for _, c := range v.b.out[same:] {
		v.given = append(v.given, contentAsGiven(c))
	}
	return slices.Clone(v.given)
}

// compaction returns the latest compaction in the log, nil if there is none.
func (v *view) compaction(log agentrt.Log, key viewKey) *compacted {
	v.mu.Lock()
	defer v.mu.Unlock()
	end := log.Len()
	if !v.searched.fits(log, end) {
		v.short, v.searched = nil, cursor{}
	}
	if found := findCompaction(log, key.agent, key.branch, v.searched.read, end); found != nil {
		v.short = found
	}
	if end > 0 {
		v.searched = cursor{end, log.At(end - 1)}
	}
	return v.short
}
