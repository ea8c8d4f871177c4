package session

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// Remembered is something said in a session that others of its user can find.
type Remembered struct {
	Event   string // the id of the event that said it
	Author  string
	Time    time.Time
	Content []byte // JSON
	// Words are what it is found by. A store compares them byte by
	// byte, and does not give them back.
	Words []string
}

// Memories is the part of a Store that finds what was said in earlier sessions.
// It is kept strictly apart for each user of each application.
type Memories interface {
	// Remember makes all of a session what is remembered of it: what is new is
	// added, and what is not in it any more is forgotten.
	Remember(ctx context.Context, key Key, all []*Remembered) error

	// Recall finds at most limit things that have at least one of the words.
	// A word counts the more the fewer things of the user have it; of those
	// that are equal, the latest comes first.
	//
	// What is remembered of a session is found until a caller deletes the
	// session: it stays when the session expires.
	Recall(ctx context.Context, app, user string, words []string, limit int) ([]*Remembered, error)

	// Forget removes all that is remembered of a user.
	Forget(ctx context.Context, app, user string) error
}

// keptMemory is a memory of the session with that order.
type keptMemory struct {
	Remembered
	session int64
}

// Remember adds to what is remembered of a session.
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

// Recall finds what was said.
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

// Forget removes all that is remembered of a user.
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
