package host

import "sync"

// numbered are things that are open, by the numbers that JavaScript knows them by.
type numbered[T any] struct {
	mu   sync.Mutex
	last int64
	open map[int64]*T
}

func (n *numbered[T]) add(one *T) int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.open == nil {
		n.open = map[int64]*T{}
	}
	n.last++
	n.open[n.last] = one
	return n.last
}

func (n *numbered[T]) remove(id int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.open, id)
}

// get returns one that is open. what is its name in the error if it is not.
func (n *numbered[T]) get(id int64, what string) (*T, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if one := n.open[id]; one != nil {
		return one, nil
	}
	return nil, coded("EPIPE", "the %s is closed", what)
}
