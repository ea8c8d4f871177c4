// Package share bounds how much of a resource one of many may use at a time.
package share

import "sync"

// Shares counts what is in use by key. The zero value is ready to use.
type Shares[K comparable] struct {
	mu   sync.Mutex
	uses map[K]int
}

// Take reports whether key uses less than most. Then it uses one more, until Return.
func (s *Shares[K]) Take(key K, most int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uses[key] >= most {
		return false
	}
	if s.uses == nil {
		s.uses = map[K]int{}
	}
	s.uses[key]++
	return true
}

// Return ends what Take has begun.
func (s *Shares[K]) Return(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uses[key]--; s.uses[key] == 0 {
		delete(s.uses, key)
	}
}
