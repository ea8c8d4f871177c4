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
	mu sync.Mutex
	b  builder // after the first read events; its contents have the ids of the log
	// given has the same contents with the ids that the model gave. Requests share it: it
	// is appended to, and what it has does not change.
	given []*event.Content
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
type viewKey struct {
	agent, branch, isolation string
	// A view that ends before the end of the log, where a request begins to differ; see
	// view.before. It may be without what was thought.
	part, silent bool
}

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

// contents reads what is new in the log, and returns all contents, which the caller must
// not change. To return a copy would cost as much as the conversation is long.
func (v *view) contents(log agentrt.Log, key viewKey) []*event.Content {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.extend(log, key, log.Len())
	return slices.Clip(v.given)
}

// extend reads the events before end that were not read yet.
func (v *view) extend(log agentrt.Log, key viewKey, end int) {
	if !v.fits(log, end) {
		v.b, v.given, v.cursor = builder{agent: key.agent, isolation: key.isolation}, nil, cursor{}
	}
	same := len(v.given)
	var answer *event.Content
	if v.b.answer != nil { // more calls may be answered, in its place
		answer = v.b.out[same-1]
	}
	v.b.sent = true
	for ; v.read < end; v.read++ {
		v.last = log.At(v.read)
		v.b.addEvent(v.last, key.branch, key.silent)
	}
	if answer != nil && v.b.out[same-1] != answer {
		same--
		v.given = append(make([]*event.Content, 0, cap(v.given)), v.given[:same]...)
	}
	for _, c := range v.b.out[same:] {
		v.given = append(v.given, contentAsGiven(c))
	}
}

// before returns the contents of a request that differs from the view from the event at a
// place on: rest adds them to a builder that has read the events before it.
func (v *view) before(log agentrt.Log, key viewKey, end int, rest func(*builder)) []*event.Content {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.extend(log, key, end)
	b := v.b
	b.out, b.asked, b.sent = slices.Clone(v.b.out), slices.Clip(v.b.asked), true
	rest(&b)
	for i, c := range b.out {
		if i < len(v.given) && c == v.b.out[i] {
			b.out[i] = v.given[i]
		} else {
			b.out[i] = contentAsGiven(c)
		}
	}
	return b.out
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
