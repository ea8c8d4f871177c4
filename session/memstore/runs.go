package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/parley-run/parley/session"
)

// runList holds the runs of one session. The session's lock must be held.
type runList struct {
	epoch   int64 // of the running run, otherwise 0
	running *session.Run
	journal session.Journal
	over    bool // the lease of the running one
	queue   []*session.Run
	past    []*session.Run     // the ended runs, oldest first
	keys    map[string]request // by idempotency key
	spare   []session.Entry    // for the next entries, which saves allocations (BenchmarkRun in package bench)
}

type request struct {
	run         *session.Run
	fingerprint string
}

// keptRuns bounds how many ended runs of a session the memory store keeps.
const keptRuns = 100

func (l *runList) active() bool { return l != nil && (l.running != nil || len(l.queue) > 0) }

// find returns the run with an id, or nil.
func (l *runList) find(id string) *session.Run {
	if l == nil {
		return nil
	}
	if l.running != nil && l.running.ID == id {
		return l.running
	}
	for _, runs := range [...][]*session.Run{l.past, l.queue} {
		for _, r := range runs {
			if r.ID == id {
				return r
			}
		}
	}
	return nil
}

// all returns the runs, oldest first.
func (l *runList) all() []*session.Run {
	if l == nil {
		return nil
	}
	all := slices.Clone(l.past)
	if l.running != nil {
		all = append(all, l.running)
	}
	all = append(all, l.queue...)
	slices.SortFunc(all, func(a, b *session.Run) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// end moves a run to the ended ones.
func (l *runList) end(r *session.Run, status session.Status, now time.Time) {
	r.Status, r.Ended, r.Request = status, now, nil
	l.past = append(l.past, r)
	for len(l.past) > keptRuns {
		gone := l.past[0]
		l.past = l.past[1:]
		l.forget(gone)
	}
}

// forget drops the idempotency key of a run.
func (l *runList) forget(r *session.Run) {
	for key, req := range l.keys {
		if req.run == r {
			delete(l.keys, key)
		}
	}
}

// copied returns a copy of a run for readers.
func copied(r *session.Run) *session.Run {
	c := *r
	return &c
}

// Begin implements session.Runs.
func (m *Backend) Begin(_ context.Context, req session.NewRun) (*session.Begun, error) {
	rec, err := m.hold(req.Key)
	if err != nil {
		return nil, err
	}
	defer rec.mu.Unlock()
	if rec.runs == nil {
		rec.runs = &runList{}
	}
	l := rec.runs
	switch before, err := l.look(&req); {
	case err != nil:
		return nil, err
	case before != nil:
		return &session.Begun{Run: before, Repeat: true}, nil
	}
	r := &session.Run{ID: req.ID, Key: req.Key, Number: m.number.Add(1), Status: session.Queued, Created: wallClock()}
	if l.active() { // Claim gets the request from here
		if r.Request, err = req.Request(); err != nil {
			return nil, err
		}
	}
	if req.IdempotencyKey != "" {
		if l.keys == nil {
			l.keys = map[string]request{}
		}
		l.keys[req.IdempotencyKey] = request{r, req.Fingerprint}
	}
	if l.active() {
		if req.Busy == session.Interrupt || req.Busy == session.Rollback {
			m.interrupt(rec, req.Busy)
		}
		l.queue = append(l.queue, r)
		m.setBusy(rec, true)
		return &session.Begun{Run: copied(r)}, nil
	}
	m.take(rec, r)
	m.addDeliveries(rec, r)
	begun := &struct { // one allocation; see BenchmarkRun in package bench
		session.Begun
		snapshot session.Session
	}{}
	rec.describe(&begun.snapshot, req.Read)
	if req.Message != nil {
		rec.write([]*session.Entry{req.Message}, r.Created)
	}
	begun.Begun = session.Begun{Run: copied(r), Session: &begun.snapshot, Journal: maps.Clone(l.journal)}
	return &begun.Begun, nil
}

// Look implements session.Runs.
func (m *Backend) Look(_ context.Context, req session.NewRun) (*session.Run, error) {
	rec, err := m.hold(req.Key)
	if err != nil {
		return nil, err
	}
	defer rec.mu.Unlock()
	return rec.runs.look(&req)
}

func (l *runList) look(req *session.NewRun) (*session.Run, error) {
	if l == nil {
		return nil, nil
	}
	if before, ok := l.keys[req.IdempotencyKey]; ok && req.IdempotencyKey != "" {
		if before.fingerprint != req.Fingerprint {
			return nil, session.ErrReused
		}
		return copied(before.run), nil
	}
	if l.active() && req.Busy == session.Reject {
		busy := l.running
		if busy == nil {
			busy = l.queue[0]
		}
		return nil, &session.BusyError{Run: busy.ID}
	}
	if req.Busy != session.Interrupt && req.Busy != session.Rollback && l.active() && req.MaxQueue > 0 && len(l.queue) >= req.MaxQueue {
		return nil, session.ErrQueueFull
	}
	if req.ID != "" && l.find(req.ID) != nil {
		return nil, session.ErrRunExists
	}
	return nil, nil
}

// interrupt requests the end of all runs that have not ended.
func (m *Backend) interrupt(rec *record, policy session.Policy) {
	l := rec.runs
	if l.running != nil {
		how := session.StopCancel
		if policy == session.Rollback {
			how = session.StopRollback
		}
		l.running.Stop = l.running.Stop.With(how)
	}
	for _, r := range l.queue {
		l.end(r, session.Cancelled, wallClock())
		m.addDeliveries(rec, r)
	}
	l.queue = nil
}

// take makes r the running run of the session.
func (m *Backend) take(rec *record, r *session.Run) {
	l := rec.runs
	r.Status, r.Epoch = session.Running, m.epoch.Add(1)
	r.Attempt++
	l.running, l.epoch, l.over = r, r.Epoch, false
	rec.unpack()
	m.use(rec)
	m.setBusy(rec, true)
}

// setBusy updates the index of Idle.
func (m *Backend) setBusy(rec *record, busy bool) {
	m.busyMu.Lock()
	defer m.busyMu.Unlock()
	if busy {
		m.busy[rec] = struct{}{}
	} else {
		delete(m.busy, rec)
	}
}

// busyOnes returns the sessions with runs that have not ended.
func (m *Backend) busyOnes() []*record {
	m.busyMu.Lock()
	defer m.busyMu.Unlock()
	return slices.Collect(maps.Keys(m.busy))
}

// hold is like find, and returns with the session's lock held.
func (m *Backend) hold(key session.Key) (*record, error) {
	rec, err := m.find(key)
	if err != nil {
		return nil, err
	}
	rec.mu.Lock()
	if rec.gone {
		rec.mu.Unlock()
		return nil, session.ErrNotFound
	}
	return rec, nil
}

// owned is like hold for the owner of the epoch.
func (m *Backend) owned(key session.Key, epoch int64) (*record, error) {
	rec, err := m.hold(key)
	if err != nil {
		return nil, session.ErrFenced
	}
	if epoch == 0 || rec.runs == nil || rec.runs.epoch != epoch {
		rec.mu.Unlock()
		return nil, session.ErrFenced
	}
	return rec, nil
}

// claimable returns the run that Claim would take, or nil.
func (m *Backend) claimable(l *runList) *session.Run {
	switch {
	case l == nil:
		return nil
	case l.running != nil:
		if m.lease < 0 || l.over {
			return l.running
		}
		return nil
	case len(l.queue) > 0:
		return l.queue[0]
	}
	return nil
}

// Claim implements session.Leases.
func (m *Backend) Claim(_ context.Context, key session.Key, read session.Read) (*session.Begun, error) {
	rec, err := m.hold(key)
	if err != nil {
		return nil, err
	}
	defer rec.mu.Unlock()
	r := m.claimable(rec.runs)
	if r == nil {
		return nil, session.ErrIdle
	}
	queued := r.Status == session.Queued
	if queued {
		rec.runs.queue = rec.runs.queue[1:]
	}
	m.take(rec, r)
	if queued {
		m.addDeliveries(rec, r)
	}
	return &session.Begun{Run: copied(r), Session: rec.snapshot(read), Journal: maps.Clone(rec.runs.journal)}, nil
}

// Idle implements session.Leases.
func (m *Backend) Idle(_ context.Context, limit int) ([]session.Key, error) {
	var found []session.Key
	for _, rec := range m.busyOnes() {
		rec.mu.Lock()
		if !rec.gone && len(found) < limit && m.claimable(rec.runs) != nil {
			found = append(found, rec.key)
		}
		rec.mu.Unlock()
	}
	return found, nil
}

// CountQueued implements session.Runs.
func (m *Backend) CountQueued(context.Context) (int64, error) {
	count := 0
	for _, rec := range m.busyOnes() {
		rec.mu.Lock()
		if !rec.gone && rec.runs != nil {
			count += len(rec.runs.queue)
		}
		rec.mu.Unlock()
	}
	return int64(count), nil
}

// Append implements session.Leases.
func (m *Backend) Append(_ context.Context, key session.Key, epoch int64, notes session.Journal, entries ...*session.Entry) error {
	rec, err := m.owned(key, epoch)
	if err != nil {
		return err
	}
	defer rec.mu.Unlock()
	l := rec.runs
	for name, note := range notes {
		if note == nil {
			delete(l.journal, name)
			continue
		}
		if l.journal == nil {
			l.journal = session.Journal{}
		}
		l.journal[name] = note
	}
	rec.write(entries, wallClock())
	return nil
}

// write appends entries of the running run.
func (r *record) write(entries []*session.Entry, now time.Time) {
	r.append(entries, r.apply, now)
	if run := r.runs.running; run.First == 0 && len(entries) > 0 {
		run.First = entries[0].Seq
	}
}

// End implements session.Leases.
func (m *Backend) End(_ context.Context, key session.Key, epoch int64, end session.End) (queued bool, err error) {
	rec, err := m.owned(key, epoch)
	if err != nil {
		return false, err
	}
	defer rec.mu.Unlock()
	l := rec.runs
	r, now := l.running, wallClock()
	if !end.Discard {
		rec.write(end.Entries, now)
	}
	l.running, l.epoch, l.journal = nil, 0, nil
	if end.Discard {
		l.forget(r)
	} else {
		r.Failure, r.Usage, r.Models, r.Last = end.Failure, end.Usage, end.Models, int64(len(rec.entries))
		r.Resumes = end.Resumes
		l.end(r, end.Status, now)
		m.addTracedDeliveries(rec, r, end.Trace)
		if end.Status == session.Waiting {
			m.setWaits(rec, true)
		}
		m.settle(rec, end.Settled)
		m.used.Add(key, &end, now)
	}
	m.use(rec)
	m.setBusy(rec, len(l.queue) > 0)
	return len(l.queue) > 0, nil
}

// HandOver implements session.Leases.
func (m *Backend) HandOver(_ context.Context, key session.Key, epoch int64) error {
	rec, err := m.owned(key, epoch)
	if err != nil {
		return nil //nolint:nilerr // it has another owner already
	}
	rec.runs.over, rec.runs.epoch = true, 0
	rec.mu.Unlock()
	return nil
}

// Renew implements session.Leases.
func (m *Backend) Renew(context.Context) ([]session.Held, error) {
	var held []session.Held
	for _, rec := range m.busyOnes() {
		rec.mu.Lock()
		if l := rec.runs; l != nil && l.running != nil && !l.over {
			held = append(held, session.Held{Key: rec.key, Run: l.running.ID, Epoch: l.epoch, Stop: l.running.Stop})
		}
		rec.mu.Unlock()
	}
	return held, nil
}

// StopRun implements session.Runs.
func (m *Backend) StopRun(_ context.Context, key session.Key, id string, how session.Stop) (*session.Run, error) {
	rec, err := m.hold(key)
	if err != nil {
		return nil, err
	}
	defer rec.mu.Unlock()
	l := rec.runs
	r := l.find(id)
	switch {
	case r == nil:
		return nil, session.ErrRunNotFound
	case r.Status == session.Queued:
		l.queue = slices.DeleteFunc(l.queue, func(one *session.Run) bool { return one == r })
		l.end(r, session.Cancelled, wallClock())
		m.addDeliveries(rec, r)
		m.setBusy(rec, l.active())
	case r.Status == session.Running:
		r.Stop = r.Stop.With(how)
	}
	return copied(r), nil
}

// Run implements session.Runs.
func (m *Backend) Run(_ context.Context, key session.Key, id string) (*session.Run, error) {
	rec, err := m.hold(key)
	if err != nil {
		return nil, err
	}
	defer rec.mu.Unlock()
	r := rec.runs.find(id)
	if r == nil {
		return nil, session.ErrRunNotFound
	}
	return copied(r), nil
}

// Watch only waits: no other process can change a memory store.
func (m *Backend) Watch(ctx context.Context, _ func(uint64)) { <-ctx.Done() }

// ListRuns implements session.Runs.
func (m *Backend) ListRuns(_ context.Context, key session.Key, page session.Page) ([]*session.Run, string, error) {
	below, err := page.Below()
	if err != nil {
		return nil, "", err
	}
	rec, err := m.hold(key)
	if err != nil {
		return nil, "", err
	}
	defer rec.mu.Unlock()
	found := []*session.Run{}
	for _, r := range slices.Backward(rec.runs.all()) {
		if r.Number < below && int64(len(found)) < page.Limit() {
			found = append(found, copied(r))
		}
	}
	found, next := session.Cut(&page, found, func(r *session.Run) int64 { return r.Number })
	return found, next, nil
}

// RecentRuns implements session.Runs.
func (m *Backend) RecentRuns(_ context.Context, app, user string, sessions, each int) ([]*session.Run, error) {
	var records []*record
	m.mu.RLock()
	if u := m.users[owner{app, user}]; u != nil {
		for _, rec := range slices.Backward(u.sessions) {
			if !rec.key.Hidden() {
				records = append(records, rec)
			}
		}
	}
	m.mu.RUnlock()
	found := []*session.Run{}
	for _, rec := range records {
		if sessions <= 0 {
			break
		}
		rec.mu.Lock()
		all := rec.runs.all()
		if len(all) > 0 {
			sessions--
		}
		for _, r := range all[max(len(all)-each, 0):] {
			found = append(found, copied(r))
		}
		rec.mu.Unlock()
	}
	slices.SortFunc(found, func(a, b *session.Run) int { return cmp.Compare(b.Number, a.Number) })
	return found, nil
}

// Spend implements session.Spender.
func (m *Backend) Spend(_ context.Context, key session.Key, models ...session.ModelUsage) error {
	m.used.Spend(key, models, time.Now())
	return nil
}

// Usage implements session.Ledger.
func (m *Backend) Usage(ctx context.Context, query session.UsageQuery, page session.Page) ([]session.Usage, string, error) {
	return m.used.Usage(ctx, query, page)
}
