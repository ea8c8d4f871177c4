package agentengine

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// mirror is what this process knows of a session at the service. Only the goroutine
// that holds its lock calls the service about the session.
type mirror struct {
	key  session.Key
	lock chan struct{} // holds one
	refs int           // number of goroutines that hold it, or wait for it; guarded by Store.mu

	// The fields below are set if the memory holds the session; name is then not
	// empty.
	name    string
	created time.Time // as the service says, and
	updated time.Time // when it was last read
	// Events get increasing times, so that their order at the service is that of
	// the log. Everything older than since has been read from there; recent are the
	// tokens of known events after that.
	last, since time.Time
	recent      map[string]time.Time
	// loose means that the log may have calls that will not be answered.
	loose bool
	// doubt means that something that this process has sent may be stored at the
	// service without being in the memory.
	doubt atomic.Bool
}

// sessionOverhead is the approximate size of a session without its entries.
const sessionOverhead = 1024

// hold returns the mirror of a session, exclusively until release is called.
func (s *backend) hold(ctx context.Context, key session.Key) (m *mirror, release func(), err error) {
	if err := ctx.Err(); err != nil { // a run would end as failed, since the service could not be asked
		return nil, nil, err
	}
	s.mu.Lock()
	m = s.mirrors[key]
	if m == nil {
		m = &mirror{key: key, lock: make(chan struct{}, 1)}
		s.mirrors[key] = m
	}
	m.refs++
	s.mu.Unlock()
	select {
	case m.lock <- struct{}{}:
		return m, func() { <-m.lock; s.drop(m) }, nil
	case <-ctx.Done():
		s.drop(m)
		return nil, nil, ctx.Err()
	}
}

// drop releases a reference to a mirror. If the memory is full, it evicts the least
// recently used sessions.
func (s *backend) drop(m *mirror) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.refs--; m.refs > 0 {
		return
	}
	if m.name == "" {
		s.forget(m)
		return
	}
	s.loaded.Get(m.key) // it was used now
	s.loaded.Evict(func(_ session.Key, old *mirror) bool {
		if old.refs > 0 || !s.Drop(old.key) {
			return false
		}
		s.forget(old)
		return true
	})
}

// forget removes a mirror that is not loaded, or is about to be evicted. s.mu must
// be held.
func (s *backend) forget(m *mirror) {
	m.clear()
	delete(s.mirrors, m.key)
	s.Vacate(m.key.App, m.key.User)
}

// empty resets a mirror whose session the memory no longer holds. s.mu must be
// held.
func (s *backend) empty(m *mirror) {
	s.loaded.Delete(m.key)
	m.clear()
}

func (m *mirror) clear() {
	m.name = ""
	m.doubt.Store(false)
}

// grown records that a log has grown, or has been loaded.
func (s *backend) grown(m *mirror, entries []*session.Entry) {
	size := int64(0)
	for _, e := range entries {
		size += e.Size()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.name == "" {
		return // it was deleted in the meantime
	}
	if _, ok := s.loaded.Peek(m.key); !ok {
		s.loaded.Put(m.key, m, sessionOverhead)
	}
	s.loaded.Grow(m.key, size)
}

// unload drops a session that was deleted or replaced. The mirror must be held.
func (s *backend) unload(ctx context.Context, m *mirror) error {
	s.mu.Lock()
	s.empty(m)
	s.mu.Unlock()
	return s.Backend.Delete(ctx, m.key)
}

// current reports whether the memory is up to date without asking the service: a
// run of this process is active in the session, and nothing that was sent is
// uncertain.
func (s *backend) current(key session.Key) bool {
	_, busy := s.Holds(key)
	return busy && !s.doubts(key)
}

// doubts reports whether something that this process has sent may be stored at the
// service without being in the memory.
func (s *backend) doubts(key session.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.mirrors[key]
	return m != nil && m.doubt.Load()
}

// sync updates the memory from the service, if necessary. The mirror must be held.
// It fails with session.ErrNotFound if the session does not exist.
func (s *backend) sync(ctx context.Context, m *mirror) error {
	if s.current(m.key) {
		return nil
	}
	var sharedStates sync.WaitGroup
	var keep func() session.State
	var shared error
	sharedStates.Go(func() { keep, shared = s.fetchShared(ctx, m.key) })
	err := s.syncLog(ctx, m)
	sharedStates.Wait()
	if shared == nil {
		keep() // now that the session exists
	}
	return errors.Join(err, shared)
}

func (s *backend) syncLog(ctx context.Context, m *mirror) error {
	now, err := s.find(ctx, m.key)
	if m.name != "" && (errors.Is(err, session.ErrNotFound) || err == nil && !m.created.Equal(now.CreateTime)) { // deleted, or created again
		if gone := s.unload(ctx, m); gone != nil {
			return gone
		}
	}
	if err != nil {
		return err
	}
	if m.name == "" {
		return s.load(ctx, m, now)
	}
	return s.follow(ctx, m, now)
}

// follow reads the new events of a session that the memory holds.
func (s *backend) follow(ctx context.Context, m *mirror, now *remote) error {
	if m.updated.Equal(now.UpdateTime) && !m.doubt.Load() {
		return nil
	}
	events, err := s.client.events(ctx, m.name, m.since)
	if err != nil {
		return missing(err)
	}
	fresh, err := m.learn(events)
	if err != nil {
		return err
	}
	if err := s.Follow(m.key, now.UpdateTime, fresh); err != nil {
		return err
	}
	m.updated, m.loose = now.UpdateTime, m.loose || len(fresh) > 0
	m.doubt.Store(false)
	s.grown(m, fresh)
	return nil
}

// find looks up a session at the service: that of this package, or else one that
// another program has created for the same user.
func (s *backend) find(ctx context.Context, key session.Key) (*remote, error) {
	found, err := s.client.get(ctx, sessionName(key))
	if !is(err, http.StatusNotFound) {
		return found, err
	}
	if foreignName.MatchString(key.ID) {
		found, err = s.client.get(ctx, key.ID)
		if err == nil && found.UserID == key.User && found.mark().Kind == "" {
			return found, nil
		}
		if err == nil {
			return nil, session.ErrNotFound
		}
	}
	return nil, missing(err)
}

// missing converts the error of a missing session.
func missing(err error) error {
	if is(err, http.StatusNotFound) {
		return session.ErrNotFound
	}
	return err
}

// load reads a whole session.
func (s *backend) load(ctx context.Context, m *mirror, now *remote) error {
	m.last, m.since, m.recent = time.Time{}, time.Time{}, map[string]time.Time{}
	events, err := s.client.events(ctx, now.id(), time.Time{})
	if err != nil {
		return missing(err)
	}
	log, err := m.learn(events)
	if err != nil {
		return err
	}
	about := now.mark()
	initial := about.Initial
	if about.Kind == "" {
		initial = initialOf(now.state(), log)
	}
	if err := s.Adopt(session.NewSession{Key: m.key, State: initial, Log: log, TTL: about.TTL, Origin: about.Origin}, now.CreateTime, now.UpdateTime); err != nil {
		return err
	}
	m.name, m.created, m.updated, m.loose = now.id(), now.CreateTime, now.UpdateTime, true
	s.grown(m, log)
	return nil
}

// initialOf returns the part of a state that no event of the log has set, which
// approximates the initial state of a session that another program has created.
func initialOf(state session.State, log []*session.Entry) session.State {
	for _, e := range log {
		if ev, err := e.Decode(); err == nil {
			for key := range ev.Actions.StateDelta {
				delete(state, key)
			}
		}
	}
	return state
}

// learn converts events from the service to entries: those that are not known yet,
// each once.
func (m *mirror) learn(events []*remoteEvent) ([]*session.Entry, error) {
	var fresh []*session.Entry
	for _, ev := range events {
		token, at := ev.token(), ev.time()
		if _, known := m.recent[token]; known {
			continue
		}
		entry, err := ev.entry()
		if err != nil {
			return nil, err
		}
		m.recent[token] = at
		fresh = append(fresh, entry)
		if at.After(m.last) {
			m.last = at
		}
	}
	m.since = m.last
	for token, at := range m.recent {
		if at.Before(m.since) {
			delete(m.recent, token)
		}
	}
	return fresh, nil
}

// send appends entries at the service, in order. The mirror must be held. If it
// fails, some may be stored; the next read shows which.
func (s *backend) send(ctx context.Context, m *mirror, entries []*session.Entry) (err error) {
	var sent []string
	defer func() {
		if err != nil { // the memory will not hold the accepted ones either
			for _, token := range sent {
				delete(m.recent, token)
			}
			m.doubt.Store(true)
		}
	}()
	for _, e := range entries {
		ev, err := e.Decode()
		if err != nil {
			return err
		}
		if err := s.storeShared(ctx, m.key, ev.Actions.StateDelta); err != nil {
			return err
		}
		token, err := s.sendOne(ctx, m, m.name, e, ev)
		if err != nil {
			return err
		}
		sent = append(sent, token)
	}
	return nil
}

// extend appends entries at the service, and then in the memory by calling change.
// The mirror must be held.
func (s *backend) extend(ctx context.Context, m *mirror, entries []*session.Entry, change func() error) error {
	if err := s.send(ctx, m, entries); err != nil {
		return err
	}
	s.grown(m, entries)
	return s.apply(m.key, entries, change)
}

// sendOne returns the token of the event that was sent.
func (s *backend) sendOne(ctx context.Context, m *mirror, name string, e *session.Entry, ev *event.Event) (string, error) {
	at := time.UnixMicro(int64(ev.Timestamp * 1e6))
	if !at.After(m.last) {
		at = m.last.Add(time.Microsecond)
	}
	m.last = at // also after an error: it may be stored
	sent := newRemoteEvent(e, ev, at)
	if err := s.client.append(ctx, name, sent); err != nil {
		return "", missing(err)
	}
	m.recent[sent.token()] = at
	return sent.token(), nil
}
