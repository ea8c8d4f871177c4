package memstore

import (
	"maps"
	"time"

	"github.com/parley-run/parley/session"
)

// Adopt adds a session that is stored elsewhere, with its times there. Its ordinal
// is derived from the first of them, so that it is the same every time. Its state
// has no shared keys; see Share.
func (m *Backend) Adopt(s session.NewSession, created, updated time.Time) error {
	rec, err := m.insert(&record{key: s.Key, order: created.UnixMicro(), created: created, updated: updated, ttl: s.TTL, origin: s.Origin})
	if err != nil {
		return err
	}
	defer rec.mu.Unlock()
	rec.applyOwn(s.State)
	rec.initial = rec.lend()
	rec.append(s.Log, rec.applyOwn, updated)
	rec.updated = updated
	m.use(rec)
	return nil
}

// Follow appends entries that were read from where an adopted session is stored:
// entries of another process, or those of the running run whose confirmation was
// lost.
func (m *Backend) Follow(key session.Key, updated time.Time, entries []*session.Entry) error {
	rec, err := m.hold(key)
	if err != nil {
		return err
	}
	defer rec.mu.Unlock()
	m.use(rec)
	rec.append(entries, rec.applyOwn, updated)
	rec.updated = updated
	if rec.runs != nil && rec.runs.running != nil {
		begins(rec.runs.running, entries)
	}
	return nil
}

// begins records where a run begins, if that is among entries.
func begins(r *session.Run, entries []*session.Entry) {
	for _, e := range entries {
		if ev, err := e.Decode(); r.First == 0 && err == nil && ev.InvocationID == r.ID {
			r.First = e.Seq
		}
	}
}

// Share sets the state that the sessions of an application, and those of a user,
// share. It has no effect for an application or a user that is not in memory.
func (m *Backend) Share(app, user string, ofApp, ofUser session.State) {
	a, u := m.sharers(app, user)
	if a != nil {
		a.replace(ofApp)
	}
	if u != nil {
		u.state.replace(ofUser)
	}
}

// sharers returns the shared states of an application and a user; nil if they are
// not in memory.
func (m *Backend) sharers(app, user string) (*shared, *user) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.apps[app], m.users[owner{app, user}]
}

// Put changes the state that a session shares with others.
func (m *Backend) Put(key session.Key, delta session.State) error {
	rec, err := m.hold(key)
	if err != nil {
		return err
	}
	defer rec.mu.Unlock()
	rec.user.state.apply(session.ScopeUser, delta)
	rec.app.apply(session.ScopeApp, delta)
	return nil
}

func (s *shared) replace(state session.State) {
	s.mu.Lock()
	s.state = maps.Clone(state)
	s.mu.Unlock()
}

// Holds reports whether a session is in memory, and whether it has runs that have
// not ended.
func (m *Backend) Holds(key session.Key) (there, busy bool) {
	rec, err := m.hold(key)
	if err != nil {
		return false, false
	}
	defer rec.mu.Unlock()
	return true, rec.runs.active()
}

// Begins reports whether Begin would begin a run now, rather than queue it, refuse
// it, or return an earlier one.
func (m *Backend) Begins(req *session.NewRun) bool {
	rec, err := m.hold(req.Key)
	if err != nil {
		return false
	}
	defer rec.mu.Unlock()
	if rec.runs == nil {
		return true
	}
	before, err := rec.runs.look(req)
	return !rec.runs.active() && before == nil && err == nil
}

// Drop removes a session from memory, but not its memories. It keeps a session with
// runs that have not ended.
func (m *Backend) Drop(key session.Key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	rec := m.sessions[key]
	if rec == nil {
		return true
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.runs.active() {
		return false
	}
	m.unlink(rec)
	m.leave(rec)
	return true
}

// Shared returns the state that a user's sessions of an application share.
func (m *Backend) Shared(app, user string) session.State {
	state := session.State{}
	a, u := m.sharers(app, user)
	if a != nil {
		a.mergeInto(state)
	}
	if u != nil {
		u.state.mergeInto(state)
	}
	return state
}

// Vacate drops a user who has no sessions, memories and secrets here. The shared
// state remains where the sessions are stored; see Share.
func (m *Backend) Vacate(app, user string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.vacate(owner{app, user})
}

// vacate is like Vacate. m.mu must be held.
func (m *Backend) vacate(who owner) {
	u := m.users[who]
	if u == nil || len(u.sessions) > 0 {
		return
	}
	u.memoryMu.Lock()
	defer u.memoryMu.Unlock()
	u.safe.mu.Lock()
	defer u.safe.mu.Unlock()
	if len(u.memories) == 0 && len(u.safe.secrets) == 0 {
		delete(m.users, who)
	}
}
