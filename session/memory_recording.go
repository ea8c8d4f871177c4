package session

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

var _ Recordings = (*Memory)(nil)

// recordings holds the recordings of all sessions, oldest first.
type recordings struct {
	mu   sync.Mutex
	list []*keptRecording
}

type keptRecording struct {
	Recording

	of *record
}

// PutRecordings implements Recordings.
func (m *Memory) PutRecordings(_ context.Context, list []*Recording) error {
	for _, r := range list {
		rec, err := m.hold(r.Key)
		if err != nil {
			continue // it was deleted
		}
		m.recordings.mu.Lock()
		m.recordings.remove(func(k *keptRecording) bool { return k.of == rec && k.Run == r.Run && k.Attempt == r.Attempt })
		kept := &keptRecording{Recording: *r, of: rec}
		kept.Created = wallClock()
		m.recordings.list = append(m.recordings.list, kept)
		rec.recorded = true
		m.recordings.mu.Unlock()
		rec.mu.Unlock()
	}
	return nil
}

// remove removes recordings. r.mu must be held.
func (r *recordings) remove(which func(*keptRecording) bool) {
	r.list = slices.DeleteFunc(r.list, which)
}

// forget removes the recordings of a session.
func (r *recordings) forget(rec *record) {
	if !rec.recorded {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(func(k *keptRecording) bool { return k.of == rec })
}

// Recordings implements Recordings.
func (m *Memory) Recordings(_ context.Context, key Key, run string) ([]*Recording, error) {
	found := []*Recording{}
	rec, err := m.hold(key)
	if err != nil {
		return found, nil // it has none
	}
	defer rec.mu.Unlock()
	m.recordings.mu.Lock()
	defer m.recordings.mu.Unlock()
	for _, k := range m.recordings.list {
		if k.of == rec && k.Run == run {
			one := k.Recording
			found = append(found, &one)
		}
	}
	slices.SortFunc(found, func(a, b *Recording) int { return cmp.Compare(a.Attempt, b.Attempt) })
	return found, nil
}

// SweepRecordings implements Recordings.
func (m *Memory) SweepRecordings(_ context.Context, age time.Duration) (done bool, err error) {
	m.recordings.mu.Lock()
	defer m.recordings.mu.Unlock()
	before := wallClock().Add(-age)
	n := 0
	for n < len(m.recordings.list) && n < sweepRecordings && m.recordings.list[n].Created.Before(before) {
		n++
	}
	m.recordings.list = slices.Delete(m.recordings.list, 0, n)
	return n < sweepRecordings, nil
}
