package memstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/parley-run/parley/session"
)

// sweepBatch is the number of sessions that one Sweep visits.
const sweepBatch = 1000

// Sweep implements session.Upkeep.
func (m *Backend) Sweep(_ context.Context, ttl time.Duration) (deleted []session.Key, done bool, err error) {
	m.mu.Lock()
	if len(m.round) == 0 {
		m.round = slices.Collect(maps.Values(m.sessions))
	}
	n := min(len(m.round), sweepBatch)
	batch := m.round[:n]
	m.round = m.round[n:]
	if done = len(m.round) == 0; done {
		m.round = nil
	}
	m.mu.Unlock()
	for _, rec := range batch {
		if m.deleteOld(rec, ttl) {
			deleted = append(deleted, rec.key)
		}
	}
	return deleted, done, nil
}

// deleteOld deletes a session if it has expired. The check and the deletion are one
// step, so that the session cannot be used or replaced in between. Most sessions
// stay, and checking those does not lock the store.
func (m *Backend) deleteOld(rec *record, ttl time.Duration) bool {
	rec.mu.Lock()
	over := rec.over(ttl)
	rec.mu.Unlock()
	if !over {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if m.sessions[rec.key] != rec || !rec.over(ttl) {
		return false
	}
	m.unlink(rec)
	m.leave(rec)
	m.removeUser(owner{rec.key.App, rec.key.User})
	return true
}

// over reports whether a session has expired. rec.mu must be held.
func (r *record) over(ttl time.Duration) bool {
	keep := cmp.Or(r.ttl, ttl)
	return !r.gone && keep > 0 && time.Since(r.updated) > keep && !r.runs.active()
}

// Walk implements session.Upkeep.
func (m *Backend) Walk(_ context.Context, page session.Page) ([]session.Key, string, error) {
	after, err := page.After()
	if err != nil {
		return nil, "", err
	}
	m.mu.RLock()
	records := slices.SortedFunc(maps.Values(m.sessions), func(a, b *record) int { return cmp.Compare(a.order, b.order) })
	m.mu.RUnlock()
	keys := []session.Key{}
	for _, rec := range records {
		if rec.order <= after {
			continue
		}
		if page.Size > 0 && len(keys) == page.Size {
			return keys, strconv.FormatInt(after, 10), nil
		}
		keys, after = append(keys, rec.key), rec.order
	}
	return keys, "", nil
}

// Rebuild implements session.Upkeep.
func (m *Backend) Rebuild(_ context.Context, key session.Key) (bool, error) {
	rec, err := m.hold(key)
	if err != nil {
		return false, err
	}
	defer rec.mu.Unlock()
	if rec.runs != nil && rec.runs.running != nil {
		return false, session.ErrFenced
	}
	m.use(rec)
	rec.unpack()
	state := session.StateOf(rec.initial, rec.entries)
	changed := !maps.EqualFunc(state, rec.state, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
	rec.state, rec.lent = state, false
	return changed, nil
}

// Ready always returns nil.
func (m *Backend) Ready(context.Context) error { return nil }
