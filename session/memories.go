package session

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// Remembered is a message of a session that other sessions of its user can find.
type Remembered struct {
	Event   string // the id of its event
	Author  string
	Time    time.Time
	Content []byte // JSON
	// Words are the search terms. A store compares them byte by byte, and does not
	// return them.
	Words []string
}

// Memories is the part of a Store that searches earlier sessions. Every user of
// every application has a separate memory.
type Memories interface {
	// Remember replaces what is remembered of a session: it adds new items, and
	// deletes those that are not in the list.
	Remember(ctx context.Context, key Key, all []*Remembered) error

	// Recall returns at most limit items with at least one of the words.
	// A word counts more the fewer items of the user have it; of items with
	// the same rank, the latest is first.
	//
	// The memory of a session can be found until a caller deletes the
	// session. It stays when the session expires.
	Recall(ctx context.Context, app, user string, words []string, limit int) ([]*Remembered, error)

	// Forget deletes the memory of a user.
	Forget(ctx context.Context, app, user string) error
}

// keptMemory is a memory of the session with that order.
type keptMemory struct {
	Remembered
	session int64
}

// Remember implements Memories.
func (m *Memory) Remember(_ context.Context, key Key, all []*Remembered) error {
	rec, err := m.hold(key)
	if err != nil {
		return err
	}
	defer rec.mu.Unlock()
	u := rec.user
	u.memoryMu.Lock()
	defer u.memoryMu.Unlock()
	u.memories = slices.DeleteFunc(u.memories, func(k *keptMemory) bool { return k.session == rec.order })
	for _, one := range all {
		u.memories = append(u.memories, &keptMemory{*one, rec.order})
	}
	return nil
}

// Recall implements Memories.
func (m *Memory) Recall(_ context.Context, app, name string, words []string, limit int) ([]*Remembered, error) {
	m.mu.RLock()
	u := m.users[owner{app, name}]
	m.mu.RUnlock()
	found := []*Remembered{}
	if u == nil {
		return found, nil
	}
	u.memoryMu.Lock()
	defer u.memoryMu.Unlock()
	hits := map[string][]*keptMemory{}
	for _, word := range words {
		if hits[word] != nil {
			continue
		}
		for _, k := range u.memories {
			if slices.Contains(k.Words, word) {
				hits[word] = append(hits[word], k)
			}
		}
	}
	score := map[*keptMemory]float64{}
	for _, with := range hits {
		for _, k := range with {
			score[k] += 1 / float64(len(with))
		}
	}
	best := slices.SortedFunc(maps.Keys(score), func(a, b *keptMemory) int {
		return cmp.Or(cmp.Compare(score[b], score[a]), b.Time.Compare(a.Time), cmp.Compare(a.Event, b.Event))
	})
	for _, k := range best[:min(limit, len(best))] {
		one := k.Remembered
		one.Words = nil
		found = append(found, &one)
	}
	return found, nil
}

// Forget implements Memories.
func (m *Memory) Forget(_ context.Context, app, name string) error {
	m.mu.RLock()
	u := m.users[owner{app, name}]
	m.mu.RUnlock()
	if u != nil {
		u.forget(func(*keptMemory) bool { return true })
	}
	return nil
}

func (u *user) forget(which func(*keptMemory) bool) {
	u.memoryMu.Lock()
	u.memories = slices.DeleteFunc(u.memories, which)
	u.memoryMu.Unlock()
}
