package session

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// setWaits updates the index of Waits. rec.mu must be held.
func (m *Memory) setWaits(rec *record, waits bool) {
	m.busyMu.Lock()
	defer m.busyMu.Unlock()
	if waits {
		m.waiting[rec] = struct{}{}
	} else {
		delete(m.waiting, rec)
	}
}

// settle changes the waits of ended runs. rec.mu must be held.
func (m *Memory) settle(rec *record, changes []Settled) {
	for _, change := range changes {
		for _, r := range rec.runs.past {
			if r.ID == change.Run && (r.Status == Waiting || r.ResumedBy != "") {
				r.Status, r.ResumedBy = change.Status, change.By
				if r.Status == Waiting {
					m.setWaits(rec, true)
				}
			}
		}
	}
}

// Waits implements Upkeep.
func (m *Memory) Waits(_ context.Context, age time.Duration, after *Run, limit int) ([]*Run, error) {
	m.busyMu.Lock()
	records := slices.Collect(maps.Keys(m.waiting))
	m.busyMu.Unlock()
	var found []*Run
	for _, rec := range records {
		rec.mu.Lock()
		waits := rec.runs.waits()
		m.setWaits(rec, len(waits) > 0)
		for _, r := range waits {
			if time.Since(r.Ended) > age && (after == nil || r.endedAfter(after) > 0) {
				found = append(found, copied(r))
			}
		}
		rec.mu.Unlock()
	}
	slices.SortFunc(found, (*Run).endedAfter)
	return found[:min(len(found), limit)], nil
}

var _ Inbox = (*Memory)(nil)

// ListWaiting implements Inbox.
func (m *Memory) ListWaiting(_ context.Context, q WaitQuery, page Page) ([]*Run, string, error) {
	ended, number, err := page.AfterWait()
	if err != nil {
		return nil, "", err
	}
	after := &Run{Ended: ended, Number: number}
	m.busyMu.Lock()
	records := slices.Collect(maps.Keys(m.waiting))
	m.busyMu.Unlock()
	found := []*Run{}
	for _, rec := range records {
		if q.App != "" && q.App != rec.key.App || q.User != "" && q.User != rec.key.User || rec.key.Hidden() {
			continue
		}
		rec.mu.Lock()
		for _, r := range rec.runs.all() {
			if r.Status == Waiting && time.Since(r.Ended) >= q.Age && r.endedAfter(after) > 0 {
				found = append(found, copied(r))
			}
		}
		rec.mu.Unlock()
	}
	slices.SortFunc(found, (*Run).endedAfter)
	found, next := CutWaiting(&page, found)
	return found, next, nil
}

// endedAfter orders ended runs.
func (r *Run) endedAfter(other *Run) int {
	return cmp.Or(r.Ended.Compare(other.Ended), cmp.Compare(r.Number, other.Number))
}

// waits returns the waiting runs, except those that a later one has resumed.
func (l *runList) waits() []*Run {
	if l == nil {
		return nil
	}
	resumed := map[string]bool{}
	for _, r := range l.past {
		if r.Status == Completed || r.Status == Waiting {
			resumed[r.Resumes] = true
		}
	}
	var found []*Run
	for _, r := range l.past {
		if r.Status == Waiting && !resumed[r.ID] {
			found = append(found, r)
		}
	}
	return found
}

// Expire implements Upkeep.
func (m *Memory) Expire(_ context.Context, key Key, seq int64, runs []string, failure *Failure, entries ...*Entry) error {
	rec, err := m.hold(key)
	if err != nil {
		return err
	}
	defer rec.mu.Unlock()
	if rec.runs.active() || int64(len(rec.entries)) != seq {
		return ErrFenced
	}
	now := wallClock()
	m.use(rec)
	rec.append(entries, rec.apply, now)
	for _, r := range rec.runs.all() {
		if r.Status == Waiting && slices.Contains(runs, r.ID) {
			r.Status, r.Failure, r.Last, r.Ended = failure.Status(), failure, int64(len(rec.entries)), now
			m.tell(rec, r)
		}
	}
	return nil
}
