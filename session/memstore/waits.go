package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/parley-run/parley/session"
)

// setWaits updates the index of Waits. rec.mu must be held.
func (m *Backend) setWaits(rec *record, waits bool) {
	m.busyMu.Lock()
	defer m.busyMu.Unlock()
	if waits {
		m.waiting[rec] = struct{}{}
	} else {
		delete(m.waiting, rec)
	}
}

// settle changes the waits of ended runs. rec.mu must be held.
func (m *Backend) settle(rec *record, changes []session.Settled) {
	for _, change := range changes {
		for _, r := range rec.runs.past {
			if r.ID == change.Run && (r.Status == session.Waiting || r.ResumedBy != "") {
				r.Status, r.ResumedBy = change.Status, change.By
				if r.Status == session.Waiting {
					m.setWaits(rec, true)
				}
			}
		}
	}
}

// Waits implements session.Upkeep.
func (m *Backend) Waits(_ context.Context, age time.Duration, after *session.Run, limit int) ([]*session.Run, error) {
	m.busyMu.Lock()
	records := slices.Collect(maps.Keys(m.waiting))
	m.busyMu.Unlock()
	var found []*session.Run
	for _, rec := range records {
		rec.mu.Lock()
		waits := rec.runs.waits()
		m.setWaits(rec, len(waits) > 0)
		for _, r := range waits {
			if time.Since(r.Ended) > age && (after == nil || endedAfter(r, after) > 0) {
				found = append(found, copied(r))
			}
		}
		rec.mu.Unlock()
	}
	slices.SortFunc(found, endedAfter)
	return found[:min(len(found), limit)], nil
}

var _ session.Inbox = (*Backend)(nil)

// ListWaiting implements session.Inbox.
func (m *Backend) ListWaiting(_ context.Context, q session.WaitQuery, page session.Page) ([]*session.Run, string, error) {
	ended, number, err := page.AfterWait()
	if err != nil {
		return nil, "", err
	}
	after := &session.Run{Ended: ended, Number: number}
	m.busyMu.Lock()
	records := slices.Collect(maps.Keys(m.waiting))
	m.busyMu.Unlock()
	found := []*session.Run{}
	for _, rec := range records {
		if q.App != "" && q.App != rec.key.App || q.User != "" && q.User != rec.key.User || rec.key.Hidden() {
			continue
		}
		rec.mu.Lock()
		for _, r := range rec.runs.all() {
			if r.Status == session.Waiting && time.Since(r.Ended) >= q.Age && endedAfter(r, after) > 0 {
				found = append(found, copied(r))
			}
		}
		rec.mu.Unlock()
	}
	slices.SortFunc(found, endedAfter)
	found, next := session.CutWaiting(&page, found)
	return found, next, nil
}

// endedAfter orders ended runs.
func endedAfter(r, other *session.Run) int {
	return cmp.Or(r.Ended.Compare(other.Ended), cmp.Compare(r.Number, other.Number))
}

// waits returns the waiting runs, except those that a later one has resumed.
func (l *runList) waits() []*session.Run {
	if l == nil {
		return nil
	}
	resumed := map[string]bool{}
	for _, r := range l.past {
		if r.Status == session.Completed || r.Status == session.Waiting {
			resumed[r.Resumes] = true
		}
	}
	var found []*session.Run
	for _, r := range l.past {
		if r.Status == session.Waiting && !resumed[r.ID] {
			found = append(found, r)
		}
	}
	return found
}

// Expire implements session.Upkeep.
func (m *Backend) Expire(_ context.Context, key session.Key, seq int64, runs []string, failure *session.Failure, entries ...*session.Entry) error {
	rec, err := m.hold(key)
	if err != nil {
		return err
	}
	defer rec.mu.Unlock()
	if rec.runs.active() || int64(len(rec.entries)) != seq {
		return session.ErrFenced
	}
	now := wallClock()
	m.use(rec)
	rec.append(entries, rec.apply, now)
	for _, r := range rec.runs.all() {
		if r.Status == session.Waiting && slices.Contains(runs, r.ID) {
			r.Status, r.Failure, r.Last, r.Ended = failure.Status(), failure, int64(len(rec.entries)), now
			m.addDeliveries(rec, r)
		}
	}
	return nil
}
