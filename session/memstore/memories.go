package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/parley-run/parley/session"
)

// keptMemory is a memory of the session with that order. One that was deleted has no
// content.
type keptMemory struct {
	session.Remembered
	session, id int64
}

// Remember implements session.Memories.
func (m *Backend) Remember(_ context.Context, key session.Key, all []*session.Remembered) error {
	rec, err := m.hold(key)
	if err != nil {
		return err
	}
	defer rec.mu.Unlock()
	u := rec.user
	u.memoryMu.Lock()
	defer u.memoryMu.Unlock()
	known, again := map[string]bool{}, map[string]bool{}
	for _, one := range all {
		again[one.Event] = true
	}
	u.memories = slices.DeleteFunc(u.memories, func(k *keptMemory) bool {
		known[k.Event] = known[k.Event] || k.session == rec.order
		return k.session == rec.order && !again[k.Event]
	})
	for _, one := range all {
		if !known[one.Event] {
			u.lastMemory++
			u.memories = append(u.memories, &keptMemory{*one, rec.order, u.lastMemory})
		}
	}
	return nil
}

// ListMemories implements session.MemoryEditor.
func (m *Backend) ListMemories(_ context.Context, app, user string, words []string, page session.Page) ([]*session.ListedMemory, string, error) {
	below, err := page.Below()
	if err != nil {
		return nil, "", err
	}
	m.mu.RLock()
	u := m.users[owner{app, user}]
	ids := map[int64]string{}
	if u != nil {
		for _, rec := range u.sessions {
			ids[rec.order] = rec.key.ID
		}
	}
	m.mu.RUnlock()
	list := []*session.ListedMemory{}
	if u == nil {
		return list, "", nil
	}
	u.memoryMu.Lock()
	defer u.memoryMu.Unlock()
	for _, k := range slices.Backward(u.memories) {
		if k.id >= below || len(k.Content) == 0 || slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(k.Words, w) }) {
			continue
		}
		one := &session.ListedMemory{Remembered: k.Remembered, ID: k.id, Session: ids[k.session]}
		one.Words = nil
		if list = append(list, one); int64(len(list)) == page.Limit() {
			break
		}
	}
	list, next := session.Cut(&page, list, func(l *session.ListedMemory) int64 { return l.ID })
	return list, next, nil
}

// EditMemory implements session.MemoryEditor.
func (m *Backend) EditMemory(_ context.Context, app, user string, id int64, content []byte, words []string) error {
	m.mu.RLock()
	u := m.users[owner{app, user}]
	m.mu.RUnlock()
	if u == nil {
		return session.ErrNotFound
	}
	u.memoryMu.Lock()
	defer u.memoryMu.Unlock()
	for _, k := range u.memories {
		if k.id == id && len(k.Content) > 0 {
			k.Content, k.Words = content, words
			return nil
		}
	}
	return session.ErrNotFound
}

// DeleteMemory implements session.MemoryEditor.
func (m *Backend) DeleteMemory(ctx context.Context, app, user string, id int64) error {
	return m.EditMemory(ctx, app, user, id, nil, nil)
}

var _ session.MemoryEditor = (*Backend)(nil)

// Recall implements session.Memories.
func (m *Backend) Recall(_ context.Context, app, user string, words []string, limit int) ([]*session.Remembered, error) {
	m.mu.RLock()
	u := m.users[owner{app, user}]
	m.mu.RUnlock()
	found := []*session.Remembered{}
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

// Forget implements session.Memories.
func (m *Backend) Forget(_ context.Context, app, user string) error {
	m.mu.RLock()
	u := m.users[owner{app, user}]
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
