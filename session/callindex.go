package session

import "sync"

// CallIndex knows the ids of the function calls in a log. All snapshots of a
// session share it, so that every entry is read once, and not once for each run.
// It is safe for concurrent use.
type CallIndex struct {
	mu   sync.Mutex
	ids  map[string]struct{}
	read int // how many entries of the log are in ids
}

// Has reports whether a call in the log has the id. The log must be that of the
// session from its first entry on; how far it goes may differ.
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
				x.ids = map[string]struct{}{}
			}
			x.ids[call.ID] = struct{}{}
		}
	}
	_, ok := x.ids[id]
	return ok
}
