package session

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

var _ Recordings = (*Memory)(nil)

// maxRecordings is how many bytes of recordings are kept. The oldest are deleted.
const maxRecordings = 64 << 20

// recordings holds the recordings of all sessions.
type recordings struct {
	mu    sync.Mutex
	of    map[*record][]*keptRecording
	order []*keptRecording // oldest first, also deleted ones
	bytes int
}

type keptRecording struct {
	Recording

	of   *record
	gone bool
}

// add adds a recording. It replaces an earlier one of the same run and attempt, which
// is deleted with the others of its age.
func (r *recordings) add(rec *record, one *Recording) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := &keptRecording{Recording: *one, of: rec}
	kept.Created = wallClock()
	if r.of == nil {
		r.of = map[*record][]*keptRecording{}
	}
	r.of[rec], r.order = append(r.of[rec], kept), append(r.order, kept)
	r.bytes += len(kept.JSON)
	r.shift(func(*keptRecording) bool { return r.bytes > maxRecordings })
}

// remove removes a recording. r.mu must be held.
func (r *recordings) remove(k *keptRecording) {
	r.bytes -= len(k.JSON)
	k.gone, k.JSON = true, nil
	left := slices.DeleteFunc(r.of[k.of], func(other *keptRecording) bool { return other == k })
	if r.of[k.of] = left; len(left) == 0 {
		delete(r.of, k.of)
	}
}

// shift removes the oldest recordings as long as they are to go. r.mu must be held.
func (r *recordings) shift(goes func(*keptRecording) bool) {
	n := 0
	for ; n < len(r.order); n++ {
		if k := r.order[n]; !k.gone {
			if !goes(k) {
				break
			}
			r.remove(k)
		}
	}
	r.order = r.order[n:]
}

// forget removes the recordings of a session.
func (r *recordings) forget(rec *record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range slices.Clone(r.of[rec]) {
		r.remove(k)
	}
}

// PutRecordings implements Recordings.
func (m *Memory) PutRecordings(_ context.Context, list []*Recording) error {
	for _, one := range list {
		rec, err := m.hold(one.Key)
		if err != nil {
			continue // it was deleted
		}
		m.recordings.add(rec, one)
		rec.mu.Unlock()
	}
	return nil
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
	for _, k := range m.recordings.of[rec] {
		if k.Run == run {
			one := k.Recording
			found = slices.DeleteFunc(found, func(earlier *Recording) bool { return earlier.Attempt == one.Attempt })
			found = append(found, &one)
		}
	}
	slices.SortFunc(found, func(a, b *Recording) int { return cmp.Compare(a.Attempt, b.Attempt) })
	return found, nil
}

// SweepRecordings implements Recordings.
func (m *Memory) SweepRecordings(_ context.Context, age time.Duration) (done bool, err error) {
	before := wallClock().Add(-age)
	m.recordings.mu.Lock()
	defer m.recordings.mu.Unlock()
	m.recordings.shift(func(k *keptRecording) bool { return k.Created.Before(before) })
	return true, nil
}
