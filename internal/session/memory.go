package session

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Memory is a Store that lives and dies with the process.
type Memory struct {
	epoch atomic.Int64
	order atomic.Int64

	// mu guards the maps and the users' lists, never a session's content: it
	// is held for look-ups only.
	mu       sync.RWMutex
	sessions map[Key]*record
	users    map[owner]*user
	apps     map[string]*shared
}

var _ Store = (*Memory)(nil)

type owner struct{ app, name string }

type user struct {
	state    shared
	sessions []*record // in the order of creation
}

// shared is state that several sessions write to.
type shared struct {
	mu    sync.RWMutex
	state State
}

func (s *shared) apply(scope Scope, delta State) {
	s.mu.Lock()
	s.state = s.state.Apply(scope, delta)
	s.mu.Unlock()
}

func (s *shared) mergeInto(state State) {
	s.mu.RLock()
	maps.Copy(state, s.state)
	s.mu.RUnlock()
}

type record struct {
	key   Key
	order int64
	user  *user
	app   *shared

	mu      sync.Mutex
	gone    bool
	epoch   int64 // 0 when nobody owns it
	state   State
	entries []*Entry // append-only, so that readers may share it
	created time.Time
	updated time.Time
}

// NewMemory is an empty store.
func NewMemory() *Memory {
	return &Memory{sessions: map[Key]*record{}, users: map[owner]*user{}, apps: map[string]*shared{}}
}

// Create makes a session.
func (m *Memory) Create(_ context.Context, key Key, state State, log []*Entry) (*Session, error) {
	now := time.Now().Round(0) // the wall clock, which is what clients see
	rec := &record{key: key, created: now, updated: now}
	rec.mu.Lock() // nobody may see it half made
	defer rec.mu.Unlock()

	m.mu.Lock()
	if m.sessions[key] != nil {
		m.mu.Unlock()
		return nil, ErrExists
	}
	u := m.users[owner{key.App, key.User}]
	if u == nil {
		u = &user{}
		m.users[owner{key.App, key.User}] = u
	}
	app := m.apps[key.App]
	if app == nil {
		app = &shared{}
		m.apps[key.App] = app
	}
	rec.user, rec.app, rec.order = u, app, m.order.Add(1)
	u.sessions = append(u.sessions, rec)
	m.sessions[key] = rec
	m.mu.Unlock()

	rec.apply(state)
	rec.append(log)
	return rec.snapshot(Read{}), nil
}

func (m *Memory) find(key Key) (*record, error) {
	m.mu.RLock()
	rec := m.sessions[key]
	m.mu.RUnlock()
	if rec == nil {
		return nil, ErrNotFound
	}
	return rec, nil
}

// Get reads a session.
func (m *Memory) Get(_ context.Context, key Key, read Read) (*Session, error) {
	rec, err := m.find(key)
	if err != nil {
		return nil, err
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return rec.snapshot(read), nil
}

// List reads the sessions of a user.
func (m *Memory) List(_ context.Context, app, name string, page Page) ([]*Session, string, error) {
	before := int64(0)
	if page.Token != "" {
		var err error
		if before, err = strconv.ParseInt(page.Token, 10, 64); err != nil || before < 1 {
			return nil, "", ErrBadToken
		}
	}
	var found []*record
	more := false
	m.mu.RLock()
	if u := m.users[owner{app, name}]; u != nil {
		end := len(u.sessions)
		if before > 0 {
			end, _ = u.find(before)
		}
		for i := end - 1; i >= 0; i-- {
			if u.sessions[i].key.Hidden() {
				continue
			}
			if page.Size > 0 && len(found) == page.Size {
				more = true
				break
			}
			found = append(found, u.sessions[i])
		}
	}
	m.mu.RUnlock()

	sessions := make([]*Session, len(found))
	for i, rec := range found {
		rec.mu.Lock()
		sessions[i] = rec.snapshot(Read{NoEvents: true})
		rec.mu.Unlock()
	}
	next := ""
	if more {
		next = strconv.FormatInt(found[len(found)-1].order, 10)
	}
	return sessions, next, nil
}

// find is the place of the session with that order among the user's.
func (u *user) find(order int64) (int, bool) {
	return slices.BinarySearchFunc(u.sessions, order, func(r *record, o int64) int { return cmp.Compare(r.order, o) })
}

// Delete removes a session.
func (m *Memory) Delete(_ context.Context, key Key) error {
	m.mu.Lock()
	rec := m.sessions[key]
	if rec != nil {
		delete(m.sessions, key)
		if i, ok := rec.user.find(rec.order); ok {
			rec.user.sessions = slices.Delete(rec.user.sessions, i, i+1)
		}
	}
	m.mu.Unlock()
	if rec != nil {
		rec.mu.Lock()
		rec.gone = true
		rec.mu.Unlock()
	}
	return nil
}

// Acquire takes the session for a run.
func (m *Memory) Acquire(_ context.Context, key Key) (*Session, int64, error) {
	rec, err := m.find(key)
	if err != nil {
		return nil, 0, err
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.gone {
		return nil, 0, ErrNotFound
	}
	rec.epoch = m.epoch.Add(1)
	return rec.snapshot(Read{}), rec.epoch, nil
}

// Append writes entries under an epoch.
func (m *Memory) Append(_ context.Context, key Key, epoch int64, entries ...*Entry) error {
	rec, err := m.find(key)
	if err != nil {
		return ErrFenced
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.gone || epoch == 0 || rec.epoch != epoch {
		return ErrFenced
	}
	rec.append(entries)
	return nil
}

// Release gives the session back.
func (m *Memory) Release(_ context.Context, key Key, epoch int64) error {
	rec, err := m.find(key)
	if err != nil {
		return nil //nolint:nilerr // a session that is gone has no owner
	}
	rec.mu.Lock()
	if rec.epoch == epoch {
		rec.epoch = 0
	}
	rec.mu.Unlock()
	return nil
}

// Patch appends one entry from outside of any run.
func (m *Memory) Patch(_ context.Context, key Key, entry *Entry) error {
	rec, err := m.find(key)
	if err != nil {
		return err
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.gone {
		return ErrNotFound
	}
	rec.append([]*Entry{entry})
	return nil
}

// append, like all methods of record, wants rec.mu held.
func (r *record) append(entries []*Entry) {
	for _, e := range entries {
		e.Seq = int64(len(r.entries)) + 1
		r.entries = append(r.entries, e)
		if ev, err := e.Decode(); err == nil && len(ev.Actions.StateDelta) > 0 {
			r.apply(ev.Actions.StateDelta)
		}
	}
	if now := time.Now().Round(0); len(entries) > 0 && now.After(r.updated) { // clocks are set back, now and then
		r.updated = now
	}
}

func (r *record) apply(delta State) {
	r.state = r.state.Apply(ScopeSession, delta)
	r.user.state.apply(ScopeUser, delta)
	r.app.apply(ScopeApp, delta)
}

func (r *record) snapshot(read Read) *Session {
	s := &Session{Key: r.key, Seq: int64(len(r.entries)), Created: r.created, Updated: r.updated}
	s.State = make(State, len(r.state))
	maps.Copy(s.State, r.state)
	r.user.state.mergeInto(s.State)
	r.app.mergeInto(s.State)
	if !read.NoEvents {
		from := min(max(read.After, 0), s.Seq)
		s.Entries = r.entries[from:len(r.entries):len(r.entries)]
	}
	return s
}
