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

// ListedMemory is what is remembered of a message, for people.
type ListedMemory struct {
	Remembered

	// ID is unique among the memories of the user.
	ID int64
	// Session is the id of the session; empty if it does not exist any more.
	Session string
}

// MemoryEditor is the part of a Store that shows and changes single memories.
type MemoryEditor interface {
	// ListMemories returns the memories of a user that have all words, those that
	// were added last first. Only the size and the token of the page are used.
	ListMemories(ctx context.Context, app, user string, words []string, page Page) (list []*ListedMemory, next string, err error)

	// EditMemory replaces the content and the words of a memory. It stays so when
	// its session is remembered again. It fails with ErrNotFound if there is no such
	// memory.
	EditMemory(ctx context.Context, app, user string, id int64, content []byte, words []string) error

	// DeleteMemory deletes a memory, for as long as its session exists: the session
	// may be remembered again without it. It fails with ErrNotFound if there is no
	// such memory.
	DeleteMemory(ctx context.Context, app, user string, id int64) error
}

// keptMemory is a memory of the session with that order. One that was deleted has no
// content.
type keptMemory struct {
	Remembered
	session, id int64
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

// ListMemories implements MemoryEditor.
func (m *Memory) ListMemories(_ context.Context, app, name string, words []string, page Page) ([]*ListedMemory, string, error) {
	below, err := page.Below()
	if err != nil {
		return nil, "", err
	}
	m.mu.RLock()
	u := m.users[owner{app, name}]
	ids := map[int64]string{}
	if u != nil {
		for _, rec := range u.sessions {
			ids[rec.order] = rec.key.ID
		}
	}
	m.mu.RUnlock()
	list := []*ListedMemory{}
	if u == nil {
		return list, "", nil
	}
	u.memoryMu.Lock()
	defer u.memoryMu.Unlock()
	for _, k := range slices.Backward(u.memories) {
		if k.id >= below || len(k.Content) == 0 || slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(k.Words, w) }) {
			continue
		}
		one := &ListedMemory{Remembered: k.Remembered, ID: k.id, Session: ids[k.session]}
		one.Words = nil
		if list = append(list, one); int64(len(list)) == page.Limit() {
			break
		}
	}
	list, next := Cut(&page, list, func(l *ListedMemory) int64 { return l.ID })
	return list, next, nil
}

// EditMemory implements MemoryEditor.
func (m *Memory) EditMemory(_ context.Context, app, name string, id int64, content []byte, words []string) error {
	m.mu.RLock()
	u := m.users[owner{app, name}]
	m.mu.RUnlock()
	if u == nil {
		return ErrNotFound
	}
	u.memoryMu.Lock()
	defer u.memoryMu.Unlock()
	for _, k := range u.memories {
		if k.id == id && len(k.Content) > 0 {
			k.Content, k.Words = content, words
			return nil
		}
	}
	return ErrNotFound
}

// DeleteMemory implements MemoryEditor.
func (m *Memory) DeleteMemory(ctx context.Context, app, user string, id int64) error {
	return m.EditMemory(ctx, app, user, id, nil, nil)
}

var _ MemoryEditor = (*Memory)(nil)

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
