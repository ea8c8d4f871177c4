package memstore

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/parley-run/parley/session"
)

var _ session.Recordings = (*Backend)(nil)

// maxRecordings is how many bytes of recordings are kept. The oldest are deleted.
const maxRecordings = 64 << 20

// recordings holds the recordings of all sessions. Each has its own in record.recorded.
type recordings struct {
	mu    sync.Mutex
	order []*keptRecording // oldest first, also deleted ones
	bytes int
}

// recordedRuns are the recordings of a session.
type recordedRuns struct {
	of    *record
	list  []*keptRecording
	parts []*keptPart // few: instructions and declarations change rarely
}

// keptRecording is a Recording without what its session says too.
type keptRecording struct {
	run     string
	attempt int
	json    []byte
	parts   []*session.RecordingPart
	created int64         // in microseconds
	among   *recordedRuns // nil if it is deleted
}

type keptPart struct {
	*session.RecordingPart

	uses int // how many recordings have it
}

// add adds a recording. It replaces an earlier one of the same run and attempt, which
// is deleted with the others of its age.
func (r *recordings) add(rec *record, one *session.Recording, now int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	runs := rec.recorded
	if runs == nil {
		runs = &recordedRuns{of: rec}
		rec.recorded = runs
	}
	kept := &keptRecording{run: one.Run, attempt: one.Attempt, json: one.JSON, parts: one.Parts, created: now, among: runs}
	r.bytes += len(kept.json)
	for i, p := range one.Parts {
		part, bytes := runs.use(p)
		if r.bytes += bytes; part != p {
			kept.parts = slices.Clone(kept.parts)
			kept.parts[i] = part
		}
	}
	runs.list, r.order = append(runs.list, kept), append(r.order, kept)
	if r.bytes > maxRecordings {
		r.shift(func(*keptRecording) bool { return r.bytes > maxRecordings })
	}
}

// use notes that a recording has a part. It returns the one that is kept, and the bytes
// that are new.
func (runs *recordedRuns) use(p *session.RecordingPart) (kept *session.RecordingPart, bytes int) {
	for _, k := range runs.parts {
		if k.RecordingPart == p || k.Digest == p.Digest {
			k.uses++
			return k.RecordingPart, 0
		}
	}
	runs.parts = append(runs.parts, &keptPart{p, 1})
	return p, len(p.JSON)
}

// unuse notes that a recording with a part is deleted. It returns how many bytes are
// free.
func (runs *recordedRuns) unuse(p *session.RecordingPart) int {
	i := slices.IndexFunc(runs.parts, func(k *keptPart) bool { return k.Digest == p.Digest })
	k := runs.parts[i]
	if k.uses--; k.uses > 0 {
		return 0
	}
	runs.parts = slices.Delete(runs.parts, i, i+1)
	return len(k.JSON)
}

// remove removes the oldest recording of a session. r.mu must be held.
func (r *recordings) remove(k *keptRecording) {
	r.bytes -= len(k.json)
	runs := k.among
	for _, p := range k.parts {
		r.bytes -= runs.unuse(p)
	}
	*k = keptRecording{}
	if runs.list = runs.list[1:]; len(runs.list) == 0 {
		runs.of.recorded = nil
	}
}

// shift removes the oldest recordings as long as they are to go. r.mu must be held.
func (r *recordings) shift(goes func(*keptRecording) bool) {
	n := 0
	for ; n < len(r.order); n++ {
		if k := r.order[n]; k.among != nil {
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
	runs := rec.recorded
	if runs == nil {
		return
	}
	for _, k := range runs.list {
		r.bytes -= len(k.json)
		*k = keptRecording{}
	}
	for _, k := range runs.parts {
		r.bytes -= len(k.JSON)
	}
	rec.recorded = nil
}

// PutRecordings implements session.Recordings.
func (m *Backend) PutRecordings(_ context.Context, list []*session.Recording) error {
	now := wallClock().UnixMicro()
	for _, one := range list {
		rec, err := m.hold(one.Key)
		if err != nil {
			continue // it was deleted
		}
		m.recordings.add(rec, one, now)
		rec.mu.Unlock()
	}
	return nil
}

// Recordings implements session.Recordings.
func (m *Backend) Recordings(_ context.Context, key session.Key, run string) ([]*session.Recording, error) {
	found := []*session.Recording{}
	rec, err := m.hold(key)
	if err != nil {
		return found, nil // it has none
	}
	defer rec.mu.Unlock()
	m.recordings.mu.Lock()
	defer m.recordings.mu.Unlock()
	runs := rec.recorded
	if runs == nil {
		return found, nil
	}
	for _, k := range runs.list {
		if k.run == run {
			one := &session.Recording{Key: key, Run: run, Attempt: k.attempt, Created: time.UnixMicro(k.created), JSON: k.json, Parts: k.parts}
			found = slices.DeleteFunc(found, func(earlier *session.Recording) bool { return earlier.Attempt == one.Attempt })
			found = append(found, one)
		}
	}
	slices.SortFunc(found, func(a, b *session.Recording) int { return cmp.Compare(a.Attempt, b.Attempt) })
	return found, nil
}

// SweepRecordings implements session.Recordings.
func (m *Backend) SweepRecordings(_ context.Context, age time.Duration) (done bool, err error) {
	before := wallClock().Add(-age).UnixMicro()
	m.recordings.mu.Lock()
	defer m.recordings.mu.Unlock()
	m.recordings.shift(func(k *keptRecording) bool { return k.created < before })
	return true, nil
}
