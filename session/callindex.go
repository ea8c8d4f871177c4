package session

import (
	"hash/maphash"
	"slices"
	"sync"
)

// CallIndex holds the ids of the function calls in a log. All snapshots of a
// session share it, so that every entry is decoded once, and not once for each run.
// It is safe for concurrent use.
type CallIndex struct {
	mu   sync.Mutex
	ids  map[uint64]struct{} // hashes: what has that of another is treated like a call
	read int                 // the number of indexed entries of the log

	visible []*Entry // of the first seen entries of the log, if it was rewound
	seen    int

	derived any
}

// visibleIn is Visible for the log of the session from its first entry on, whose last
// entry that rewinds it has the sequence number rewound. Most later calls only add to what
// an earlier one has found.
func (x *CallIndex) visibleIn(log []*Entry, rewound int64) []*Entry {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case len(log) < x.seen:
		return Visible(log)
	case int64(x.seen) < rewound:
		x.visible = Visible(log)
	default:
		x.visible = append(x.visible, log[x.seen:]...)
	}
	x.seen = len(log)
	return slices.Clip(x.visible)
}

var idSeed = maphash.MakeSeed()

// Release drops what can be derived again.
func (x *CallIndex) Release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.derived = nil
}

// Derived returns the value that create has returned in the first call. It is where
// the agents of a session keep what they have read of the log, as long as the index
// is kept.
func (x *CallIndex) Derived(create func() any) any {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.derived == nil {
		x.derived = create()
	}
	return x.derived
}

// Has reports whether a call in the log has the id. The log must be that of the
// session from its first entry on; its length may differ.
func (x *CallIndex) Has(log []*Entry, id string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for ; x.read < len(log); x.read++ {
		ev, err := log[x.read].Decode()
		if err != nil {
			continue
		}
		for _, call := range ev.FunctionCalls() {
			if x.ids == nil {
				x.ids = map[uint64]struct{}{}
			}
			x.ids[maphash.String(idSeed, call.ID)] = struct{}{}
		}
	}
	_, ok := x.ids[maphash.String(idSeed, id)]
	return ok
}
