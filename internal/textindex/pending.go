package textindex

import "sync"

// Pending are the sessions that have changed since they were indexed. The zero value is ready to use.
type Pending[K comparable] struct {
	mu   sync.Mutex
	set  map[K]struct{}
	lost bool
}

// maxPending bounds the sessions of a Pending.
const maxPending = 10_000

// Add adds sessions. Beyond a limit they are dropped.
func (p *Pending[K]) Add(keys ...K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, key := range keys {
		if len(p.set) >= maxPending {
			p.lost = true
			return
		}
		if p.set == nil {
			p.set = map[K]struct{}{}
		}
		p.set[key] = struct{}{}
	}
}

// Take removes at most limit sessions, and reports whether any were dropped since the last call: then all sessions have
// to be looked at.
func (p *Pending[K]) Take(limit int) (keys []K, lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key := range p.set {
		if len(keys) == limit {
			break
		}
		keys = append(keys, key)
		delete(p.set, key)
	}
	lost, p.lost = p.lost, false
	return keys, lost
}

// Empty reports whether there are none.
func (p *Pending[K]) Empty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.set) == 0 && !p.lost
}
