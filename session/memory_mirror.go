package session

import (
	"maps"
	"time"
)

// The methods below are for a store that keeps its sessions in a service without
// runs: a Memory in front of the service holds a copy of the sessions in use, and
// everything that the service cannot store.

// Adopt adds a session that is stored elsewhere, with its times there. Its ordinal
// is derived from the first of them, so that it is the same every time. Its state
// has no shared keys; see Share.
func (m *Memory) Adopt(s NewSession, created, updated time.Time) error {
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
func (m *Memory) Follow(key Key, updated time.Time, entries []*Entry) error {
	rec, err := m.hold(key)
	if err != nil {
		return err
	}
	defer rec.mu.Unlock()
	m.use(rec)
	rec.append(entries, rec.applyOwn, updated)
	rec.updated = updated
	if rec.runs != nil && rec.runs.running != nil {
		rec.runs.running.begins(entries)
	}
	return nil
}

// begins records where a run begins, if that is among entries.
func (r *Run) begins(entries []*Entry) {
	for _, e := range entries {
		if ev, err := e.Decode(); r.First == 0 && err == nil && ev.InvocationID == r.ID {
			r.First = e.Seq
		}
	}
}

// Share sets the state that the sessions of an application, and those of a user,
// share. It has no effect for an application or a user that is not in memory.
func (m *Memory) Share(app, name string, ofApp, ofUser State) {
	a, u := m.sharers(app, name)
	if a != nil {
		a.replace(ofApp)
	}
	if u != nil {
		u.state.replace(ofUser)
	}
}

// sharers returns the shared states of an application and a user; nil if they are
// not in memory.
func (m *Memory) sharers(app, name string) (*shared, *user) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.apps[app], m.users[owner{app, name}]
}

// Put changes the state that a session shares with others.
func (m *Memory) Put(key Key, delta State) error {
	rec, err := m.hold(key)
	if err != nil {
		return err
	}
	defer rec.mu.Unlock()
	rec.user.state.apply(ScopeUser, delta)
	rec.app.apply(ScopeApp, delta)
	return nil
}

func (s *shared) replace(state State) {
	s.mu.Lock()
	s.state = maps.Clone(state)
	s.mu.Unlock()
}

// Holds reports whether a session is in memory, and whether it has runs that have
// not ended.
func (m *Memory) Holds(key Key) (there, busy bool) {
	rec, err := m.hold(key)
	if err != nil {
		return false, false
	}
	defer rec.mu.Unlock()
	return true, rec.runs.active()
}

// Begins reports whether Begin would begin a run now, rather than queue it, refuse
// it, or return an earlier one.
func (m *Memory) Begins(req *NewRun) bool {
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
func (m *Memory) Drop(key Key) bool {
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
func (m *Memory) Shared(app, name string) State {
	state := State{}
	a, u := m.sharers(app, name)
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
func (m *Memory) Vacate(app, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.vacate(owner{app, name})
}

// vacate is like Vacate. m.mu must be held.
func (m *Memory) vacate(who owner) {
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
