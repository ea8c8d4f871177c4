// Package memstore stores sessions and runs in the memory of one process. A server uses it
// if parley.Config.Sessions.URL is empty, and tests use it.
package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-run/parley/internal/gctune"
	"github.com/parley-run/parley/session"
)

// Backend is the session.Backend of a store in the memory of one process, which owns it.
//
// The methods that are not of Backend are for a store whose sessions are kept
// elsewhere, such as that of package agentengine: Adopt, Follow, Put and Share copy
// to memory what is stored there, Drop and Vacate remove it from memory, and Begins,
// Holds and Shared report what is in memory.
type Backend struct {
	epoch  atomic.Int64
	order  atomic.Int64
	number atomic.Int64 // of runs
	lease  time.Duration

	// mu guards the maps and the lists of users, never the content of a session: it
	// is held for lookups only.
	mu       sync.RWMutex
	sessions map[session.Key]*record
	users    map[owner]*user
	apps     map[string]*shared
	round    []*record // the sessions that Sweep has not visited yet

	used tally
	idle idle

	outbox     outbox
	recordings recordings
	schedules  schedules

	busyMu  sync.Mutex           // the last assigned one
	busy    map[*record]struct{} // sessions with runs that have not ended
	waiting map[*record]struct{} // sessions with runs that may wait for an answer
}

var _ session.Backend = (*Backend)(nil)

type owner struct{ app, name string }

type user struct {
	name     owner
	state    shared
	safe     safe
	sessions []*record // in order of creation

	memoryMu sync.Mutex
	memories []*keptMemory
	// lastMemory is the id of the last one.
	lastMemory int64
}

// shared is state that several sessions write to.
type shared struct {
	mu    sync.RWMutex
	state session.State
}

func (s *shared) apply(scope session.Scope, delta session.State) {
	s.mu.Lock()
	s.state = s.state.Apply(scope, delta)
	s.mu.Unlock()
}

func (s *shared) empty() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.state) == 0
}

func (s *shared) mergeInto(state session.State) {
	s.mu.RLock()
	maps.Copy(state, s.state)
	s.mu.RUnlock()
}

type record struct {
	key   session.Key
	order int64
	user  *user
	app   *shared

	mu         sync.Mutex
	gone       bool
	subscribed bool             // whether it has subscriptions
	lent       bool             // readers share the state: it must be copied before a change
	listed     bool             // idle has it
	unused     uint8            // how often idle has found it unused
	entries    []*session.Entry // append-only, so that readers may share it
	calls      *session.CallIndex
	rewound    int64
	created    time.Time
	updated    time.Time
	state      session.State
	initial    session.State
	packed     string // of both states; empty if they are not packed, see idle
	ttl        time.Duration
	origin     *session.Origin // immutable
	runs       *runList        // nil before the first run
	safe       safe

	recorded *recordedRuns // nil for none; recordings.mu must be held
}

// New returns an empty store in memory, without API keys. Its leases do not
// expire, because no other process can take a run over. A negative lease expires
// immediately, which is for tests.
func New(lease time.Duration) session.Store { return session.NewStore(NewBackend(lease)) }

// NewBackend returns the Backend of New, for a store that keeps a part
// of it elsewhere.
func NewBackend(lease time.Duration) *Backend {
	m := &Backend{
		lease: lease, sessions: map[session.Key]*record{}, users: map[owner]*user{}, apps: map[string]*shared{},
		busy: map[*record]struct{}{}, waiting: map[*record]struct{}{}, outbox: outbox{added: make(chan struct{}, 1), to: map[*record][]*session.Subscription{}},
	}
	gctune.OnShortage(m, func(m *Backend) { m.packIdle(true) })
	return m
}

// wallClock returns the time that clients see.
func wallClock() time.Time { return time.Now().Round(0) }

// Close does nothing.
func (m *Backend) Close() error { return nil }

// Create implements session.Sessions.
func (m *Backend) Create(_ context.Context, s session.NewSession) (*session.Session, error) {
	now := wallClock()
	rec, err := m.insert(&record{key: s.Key, created: now, updated: now, ttl: s.TTL, origin: s.Origin})
	if err != nil {
		return nil, err
	}
	defer rec.mu.Unlock()
	rec.apply(s.State)
	rec.initial = rec.lend()
	rec.append(s.Log, rec.applyOwn, now)
	if len(s.Log) > 0 {
		m.use(rec)
		return rec.snapshot(session.Read{}), nil
	}
	made := rec.snapshot(session.Read{NoEvents: true})
	rec.pack() // it may be long before it is used
	return made, nil
}

// insert adds a new session to the maps. It returns with its lock held, because no
// reader may see an incomplete session.
func (m *Backend) insert(rec *record) (*record, error) {
	rec.mu.Lock()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sessions[rec.key] != nil {
		return nil, session.ErrExists
	}
	rec.user, rec.app = m.userOf(rec.key.App, rec.key.User), m.appOf(rec.key.App)
	// The names of a request may be parts of a longer text, which they would keep.
	rec.key = session.Key{App: rec.user.name.app, User: rec.user.name.name, ID: strings.Clone(rec.key.ID)}
	if rec.order == 0 {
		rec.order = m.order.Add(1)
	}
	place, _ := rec.user.find(rec.order + 1)
	rec.user.sessions = slices.Insert(rec.user.sessions, place, rec)
	m.sessions[rec.key] = rec
	return rec, nil
}

// appOf returns the shared state of an application, and creates it if necessary.
// m.mu must be held.
func (m *Backend) appOf(name string) *shared {
	app := m.apps[name]
	if app == nil {
		app = &shared{}
		m.apps[name] = app
	}
	return app
}

// userOf returns a user, and creates it if necessary. m.mu must be held.
func (m *Backend) userOf(app, name string) *user {
	u := m.users[owner{app, name}]
	if u == nil {
		u = &user{name: owner{strings.Clone(app), strings.Clone(name)}}
		m.users[u.name] = u
	}
	return u
}

func (m *Backend) find(key session.Key) (*record, error) {
	m.mu.RLock()
	rec := m.sessions[key]
	m.mu.RUnlock()
	if rec == nil {
		return nil, session.ErrNotFound
	}
	return rec, nil
}

// Get implements session.Sessions.
func (m *Backend) Get(_ context.Context, key session.Key, read session.Read) (*session.Session, error) {
	rec, err := m.find(key)
	if err != nil {
		return nil, err
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.gone {
		return nil, session.ErrNotFound
	}
	if !read.NoEvents || read.Initial {
		m.use(rec)
	}
	return rec.snapshot(read), nil
}

// List implements session.Sessions.
func (m *Backend) List(_ context.Context, app, user string, page session.Page) ([]*session.Session, string, error) {
	below, err := page.Below()
	if err != nil {
		return nil, "", err
	}
	var found []*record
	m.mu.RLock()
	if u := m.users[owner{app, user}]; u != nil {
		end, _ := u.find(below)
		for i := end - 1; i >= 0 && int64(len(found)) < page.Limit(); i-- {
			if u.sessions[i].key.Hidden() {
				continue
			}
			if !page.Empty() && !u.sessions[i].matches(&page.Filter) {
				continue
			}
			found = append(found, u.sessions[i])
		}
	}
	m.mu.RUnlock()

	found, next := session.Cut(&page, found, func(r *record) int64 { return r.order })
	sessions := make([]*session.Session, len(found))
	for i, rec := range found {
		rec.mu.Lock()
		sessions[i] = rec.snapshot(session.Read{NoEvents: true})
		if sessions[i].Entries = ends(rec.entries, page.Ends); len(sessions[i].Entries) > 0 {
			m.use(rec) // they are decoded
		}
		rec.mu.Unlock()
	}
	return sessions, next, nil
}

// matches must be called with no lock except that of the store, which is acquired
// before that of a session.
func (r *record) matches(f *session.Filter) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return f.Matches(session.MetadataOf(r.own()), &session.Session{Key: r.key, Origin: r.origin, Updated: r.updated})
}

// find returns the index of the session with that order among the user's.
func (u *user) find(order int64) (int, bool) {
	return slices.BinarySearchFunc(u.sessions, order, func(r *record, o int64) int { return cmp.Compare(r.order, o) })
}

// Delete implements session.Sessions.
func (m *Backend) Delete(_ context.Context, key session.Key) error {
	m.mu.Lock()
	rec := m.sessions[key]
	if rec != nil {
		m.unlink(rec)
	}
	m.mu.Unlock()
	if rec != nil {
		rec.mu.Lock()
		m.leave(rec)
		rec.mu.Unlock()
		rec.user.forget(func(k *keptMemory) bool { return k.session == rec.order })
		m.mu.Lock()
		m.removeUser(owner{key.App, key.User})
		m.mu.Unlock()
	}
	return nil
}

// unlink removes a session from the maps. m.mu must be held.
func (m *Backend) unlink(rec *record) {
	delete(m.sessions, rec.key)
	i, _ := rec.user.find(rec.order)
	for rec.user.sessions[i] != rec { // adopted sessions may have the same
		i++
	}
	rec.user.sessions = slices.Delete(rec.user.sessions, i, i+1)
}

// leave marks a session as deleted, for callers that still have its record. rec.mu
// must be held.
func (m *Backend) leave(rec *record) {
	rec.gone, rec.runs = true, nil
	rec.entries, rec.calls = nil, nil // idle may have it for a while
	m.outbox.leave(rec)
	m.recordings.forget(rec)
	m.setBusy(rec, false)
	m.setWaits(rec, false)
}

// removeUser deletes a user without data. m.mu must be held.
func (m *Backend) removeUser(who owner) {
	u := m.users[who]
	if u == nil {
		return
	}
	u.state.mu.RLock()
	bare := len(u.state.state) == 0
	u.state.mu.RUnlock()
	if bare {
		m.vacate(who)
	}
}

// Patch implements session.Sessions.
func (m *Backend) Patch(_ context.Context, key session.Key, entry *session.Entry) error {
	rec, err := m.find(key)
	if err != nil {
		return err
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	if rec.gone {
		return session.ErrNotFound
	}
	m.use(rec)
	rec.append([]*session.Entry{entry}, rec.apply, wallClock())
	return nil
}

// usualEvents is how many events most runs have: the message, a call, its response,
// and the answer.
const usualEvents = 4

// append, like all methods of record below, requires rec.mu.
func (r *record) append(entries []*session.Entry, apply func(session.State), now time.Time) {
	// The entries of the caller have their events for as long as the caller has them.
	var spare []session.Entry
	least := 0
	if r.runs != nil {
		spare, least = r.runs.spare, usualEvents
	}
	for i, e := range entries {
		e.Seq = int64(len(r.entries)) + 1
		if len(spare) == 0 {
			spare = make([]session.Entry, max(least, len(entries)-i))
		}
		kept := &spare[0]
		spare = spare[1:]
		ev, err := e.Decode()
		e.CopyTo(kept)
		r.entries = append(r.entries, kept)
		if err != nil {
			continue
		}
		if len(ev.Actions.StateDelta) > 0 {
			apply(ev.Actions.StateDelta)
		}
		if ev.Actions.RewindBeforeInvocationID != "" {
			r.rewound = e.Seq
		}
	}
	if r.runs != nil {
		r.runs.spare = spare
	}
	if len(entries) > 0 && now.After(r.updated) { // clocks may go back
		r.updated = now
	}
}

func (r *record) applyOwn(delta session.State) {
	r.unpack()
	if r.lent {
		r.state, r.lent = maps.Clone(r.state), false
	}
	r.state = r.state.Apply(session.ScopeSession, delta)
}

// lend returns the session's own state, which must not be changed from then on.
func (r *record) lend() session.State {
	r.lent = true
	return r.state
}

// merged returns the state, including the parts that the session shares with
// others.
func (r *record) merged() session.State {
	if r.state != nil && r.user.state.empty() && r.app.empty() { // the common case
		return r.lend()
	}
	own := r.own()
	all := make(session.State, len(own))
	maps.Copy(all, own)
	r.user.state.mergeInto(all)
	r.app.mergeInto(all)
	return all
}

func (r *record) apply(delta session.State) {
	r.applyOwn(delta)
	r.user.state.apply(session.ScopeUser, delta)
	r.app.apply(session.ScopeApp, delta)
}

// ends returns the first n entries of a log and the last n; see Page.Ends.
func ends(log []*session.Entry, n int) []*session.Entry {
	var found []*session.Entry
	for i, e := range log {
		if (i < n || i >= len(log)-n) && len(e.JSON) <= session.MaxEnd {
			found = append(found, e)
		}
	}
	return found
}

func (r *record) snapshot(read session.Read) *session.Session {
	s := &session.Session{}
	r.describe(s, read)
	return s
}

// describe sets s to what snapshot returns.
func (r *record) describe(s *session.Session, read session.Read) {
	*s = session.Session{
		Key: r.key, Ordinal: r.order, Seq: int64(len(r.entries)), Rewound: r.rewound,
		Created: r.created, Updated: r.updated, Origin: r.origin, State: r.merged(),
	}
	if !read.NoEvents {
		from := min(max(read.After, 0), s.Seq)
		if read.Of != 0 && read.Of != r.order {
			from = 0
		}
		s.Entries = r.entries[from:len(r.entries):len(r.entries)]
		if r.calls == nil {
			r.calls = &session.CallIndex{}
		}
		s.Calls = r.calls
	}
	if read.Initial {
		r.unpack()
		s.Initial = r.initial
	}
}
