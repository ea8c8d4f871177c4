package agentengine

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// Create implements session.Sessions.
func (s *backend) Create(ctx context.Context, made session.NewSession) (*session.Session, error) {
	m, release, err := s.hold(ctx, made.Key)
	if err != nil {
		return nil, err
	}
	defer release()
	name := sessionName(made.Key)
	now, err := s.client.create(ctx, name, newRemote(&made, event.NewID()))
	if errors.Is(err, errTaken) {
		return nil, session.ErrExists
	}
	if err != nil {
		return nil, err
	}
	if m.name != "" { // another process has deleted the cached one
		if err := s.unload(ctx, m); err != nil {
			return nil, err
		}
	}
	m.loose = false
	m.last, m.since, m.recent = time.Time{}, time.Time{}, map[string]time.Time{}
	now, keep, err := s.fill(ctx, m, now, &made)
	if err != nil { // no reader should see it incomplete
		return nil, errors.Join(err, s.client.delete(context.WithoutCancel(ctx), name))
	}
	err = s.Adopt(made, now.CreateTime, now.UpdateTime)
	keep()
	if err != nil {
		return nil, err
	}
	m.name, m.created, m.updated = name, now.CreateTime, now.UpdateTime
	s.grown(m, made.Log)
	// The result of the read may lack it, if another process has written in the
	// meantime.
	if err := s.applyDelta(made.Key, made.State, func() error { return s.Put(made.Key, made.State) }); err != nil {
		return nil, err
	}
	return s.Backend.Get(ctx, made.Key, session.Read{})
}

// fill adds the log to a new session, and its shared state to others. It returns
// the resulting session, and the result of fetchShared.
func (s *backend) fill(ctx context.Context, m *mirror, now *remote, made *session.NewSession) (_ *remote, keep func() session.State, err error) {
	for _, e := range made.Log {
		ev, err := e.Decode()
		if err != nil {
			return nil, nil, err
		}
		if _, err := s.sendOne(ctx, m, now.id(), e, ev); err != nil {
			return nil, nil, err
		}
	}
	if len(made.Log) > 0 {
		if now, err = s.client.get(ctx, now.id()); err != nil {
			return nil, nil, missing(err)
		}
	}
	if err := s.storeShared(ctx, made.Key, made.State); err != nil {
		return nil, nil, err
	}
	keep, err = s.fetchShared(ctx, made.Key)
	return now, keep, err
}

// Get implements session.Sessions.
func (s *backend) Get(ctx context.Context, key session.Key, read session.Read) (*session.Session, error) {
	if !s.current(key) {
		m, release, err := s.hold(ctx, key)
		if err != nil {
			return nil, err
		}
		defer release() // after the read: until then the session must not be dropped
		if err := s.sync(ctx, m); err != nil {
			return nil, err
		}
	}
	return s.Backend.Get(ctx, key, read)
}

// Delete implements session.Sessions.
func (s *backend) Delete(ctx context.Context, key session.Key) error {
	m, release, err := s.hold(ctx, key)
	if err != nil {
		return err
	}
	defer release()
	found, err := s.find(ctx, key)
	switch {
	case err == nil:
		if err := s.client.delete(ctx, found.id()); err != nil {
			return err
		}
	case !errors.Is(err, session.ErrNotFound):
		return err
	}
	return s.unload(ctx, m)
}

// Patch implements session.Sessions.
func (s *backend) Patch(ctx context.Context, key session.Key, entry *session.Entry) error {
	m, release, err := s.hold(ctx, key)
	if err != nil {
		return err
	}
	defer release()
	if err := s.sync(ctx, m); err != nil {
		return err
	}
	entries := []*session.Entry{entry}
	return s.extend(ctx, m, entries, func() error { return s.Backend.Patch(ctx, key, entry) })
}

// keyOf returns the key of a listed session in an application: a session that
// another program has created belongs to every application. ok is false if it is
// not a session.
func keyOf(r *remote, app string) (key session.Key, ok bool) {
	switch about := r.mark(); about.Kind {
	case kindSession:
		return session.Key{App: about.App, User: about.User, ID: about.ID}, app == "" || about.App == app
	case "":
		return session.Key{App: app, User: r.UserID, ID: r.id()}, app != ""
	}
	return key, false
}

// List implements session.Sessions.
func (s *backend) List(ctx context.Context, app, user string, page session.Page) ([]*session.Session, string, error) {
	before, err := placeIn(page.Token)
	if err != nil {
		return nil, "", err
	}
	all, err := s.all(ctx, user)
	if err != nil {
		return nil, "", err
	}
	keep, err := s.fetchShared(ctx, session.Key{App: app, User: user})
	if err != nil {
		return nil, "", err
	}
	shared := keep()
	found, last := []*session.Session{}, ""
	for _, r := range slices.Backward(all) {
		key, ok := keyOf(r, app)
		if !ok || key.User != user || key.Hidden() || before != "" && placeOf(r) >= before {
			continue
		}
		one, err := s.seen(ctx, key, r, shared)
		if errors.Is(err, session.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		if !page.Matches(session.MetadataOf(one.State), one) {
			continue
		}
		if page.Size > 0 && len(found) == page.Size {
			return found, token(last), nil
		}
		found, last = append(found, one), placeOf(r)
	}
	return found, "", nil
}

// placeOf returns the position of a session in the order of creation.
func placeOf(r *remote) string {
	return r.CreateTime.UTC().Format("2006-01-02T15:04:05.000000000Z") + " " + r.id()
}

// token stands for the last session of a page.
func token(place string) string { return base64.RawURLEncoding.EncodeToString([]byte(place)) }

// placeIn decodes a token.
func placeIn(token string) (string, error) {
	place, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || token != "" && !strings.Contains(string(place), "Z ") {
		return "", session.ErrBadToken
	}
	return string(place), nil
}

// seen returns a listed session without its events: from the memory, if it holds
// the session, which is exact; otherwise from the service, whose numbers have fewer
// digits, and which does not count events.
func (s *backend) seen(ctx context.Context, key session.Key, r *remote, shared session.State) (*session.Session, error) {
	if there, _ := s.Holds(key); there {
		if err := s.reach(ctx, key, r); err != nil {
			return nil, err
		}
		one, err := s.Backend.Get(ctx, key, session.Read{NoEvents: true})
		if !errors.Is(err, session.ErrNotFound) { // because the memory was full
			return one, err
		}
	}
	state := r.state().Apply(session.ScopeUser, shared).Apply(session.ScopeApp, shared)
	return &session.Session{Key: key, State: state, Origin: r.mark().Origin, Created: r.CreateTime, Updated: r.UpdateTime}, nil
}

// reach updates the memory to a listed session. It needs no call if the session has
// not changed.
func (s *backend) reach(ctx context.Context, key session.Key, r *remote) error {
	if s.current(key) {
		return nil
	}
	m, release, err := s.hold(ctx, key)
	if err != nil {
		return err
	}
	defer release()
	switch {
	case m.name == "":
		return nil
	case !m.created.Equal(r.CreateTime): // one of the two belongs to a deleted session
		return s.sync(ctx, m)
	case r.UpdateTime.Before(m.updated) && !m.doubt.Load(): // it was read again since
		return nil
	}
	return s.follow(ctx, m, r)
}

// Walk implements session.Upkeep. It omits sessions of other programs, whose
// application is unknown.
func (s *backend) Walk(ctx context.Context, page session.Page) ([]session.Key, string, error) {
	after, err := placeIn(page.Token)
	if err != nil {
		return nil, "", err
	}
	all, err := s.all(ctx, "")
	if err != nil {
		return nil, "", err
	}
	keys, last := []session.Key{}, ""
	for _, r := range all {
		key, ok := keyOf(r, "")
		if !ok || placeOf(r) <= after {
			continue
		}
		if page.Size > 0 && len(keys) == page.Size {
			return keys, token(last), nil
		}
		keys, last = append(keys, key), placeOf(r)
	}
	return keys, "", nil
}

// all returns the sessions at the service, of one user or of all, oldest first. The
// service supports fewer orders and filters.
func (s *backend) all(ctx context.Context, user string) ([]*remote, error) {
	var all []*remote
	for token := ""; ; {
		some, next, err := s.client.list(ctx, user, token)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if token = next; token == "" {
			break
		}
	}
	slices.SortFunc(all, func(a, b *remote) int { return strings.Compare(placeOf(a), placeOf(b)) })
	return slices.CompactFunc(all, func(a, b *remote) bool { return a.Name == b.Name }), nil // pages may overlap
}

// sweepBatch is how many sessions one Sweep deletes.
const sweepBatch = 100

// Sweep implements session.Upkeep. It does not delete sessions of other programs.
func (s *backend) Sweep(ctx context.Context, ttl time.Duration) (deleted []session.Key, done bool, err error) {
	all, err := s.all(ctx, "")
	if err != nil {
		return nil, false, err
	}
	for _, r := range all {
		key, ok := keyOf(r, "")
		if _, busy := s.Holds(key); !ok || busy {
			continue
		}
		if keep := cmp.Or(r.mark().TTL, ttl); keep <= 0 || time.Since(r.UpdateTime) <= keep {
			continue
		}
		if len(deleted) == sweepBatch {
			return deleted, false, nil
		}
		gone, err := s.expire(ctx, key, r)
		if err != nil {
			return deleted, false, err
		}
		if gone {
			deleted = append(deleted, key)
		}
	}
	return deleted, true, nil
}

// deleteOld deletes a session, if it has not changed since it was listed.
func (s *backend) expire(ctx context.Context, key session.Key, r *remote) (bool, error) {
	m, release, err := s.hold(ctx, key)
	if err != nil {
		return false, err
	}
	defer release()
	now, err := s.client.get(ctx, r.id())
	if err != nil || !now.UpdateTime.Equal(r.UpdateTime) || !s.Drop(key) {
		return false, missingIsFine(err)
	}
	s.mu.Lock()
	s.empty(m) // and its memories stay
	s.mu.Unlock()
	return true, s.client.delete(ctx, r.id())
}

func missingIsFine(err error) error {
	if errors.Is(missing(err), session.ErrNotFound) {
		return nil
	}
	return err
}

// Rebuild implements session.Upkeep. The memory has derived the state from the log.
func (s *backend) Rebuild(ctx context.Context, key session.Key) (bool, error) {
	if err := s.need(ctx, key); err != nil {
		return false, err
	}
	return s.Backend.Rebuild(ctx, key)
}

// need loads a session into the memory.
func (s *backend) need(ctx context.Context, key session.Key) error {
	if there, _ := s.Holds(key); there {
		return nil
	}
	return s.refresh(ctx, key)
}

// refresh updates the memory from the service.
func (s *backend) refresh(ctx context.Context, key session.Key) error {
	m, release, err := s.hold(ctx, key)
	if err != nil {
		return err
	}
	defer release()
	return s.sync(ctx, m)
}

// Remember implements session.Memories. The session must be loaded.
func (s *backend) Remember(ctx context.Context, key session.Key, all []*session.Remembered) error {
	if err := s.need(ctx, key); err != nil {
		return err
	}
	return s.Backend.Remember(ctx, key, all)
}

// PutSecret implements session.Secrets. The session of a secret must be loaded.
func (s *backend) PutSecret(ctx context.Context, secret *session.Secret) (int64, error) {
	if secret.Session != "" {
		if err := s.need(ctx, secret.Key()); err != nil {
			return 0, err
		}
	}
	return s.Backend.PutSecret(ctx, secret)
}

// PutSubscription implements session.Outbox. The session must be loaded.
func (s *backend) PutSubscription(ctx context.Context, sub *session.Subscription, run string) error {
	if sub.Key.ID != "" {
		if err := s.need(ctx, sub.Key); err != nil {
			return err
		}
	}
	return s.Backend.PutSubscription(ctx, sub, run)
}

// Publish implements session.Outbox. The session must be loaded.
func (s *backend) Publish(ctx context.Context, n *session.Notice) error {
	if n.Key.ID != "" {
		if err := s.need(ctx, n.Key); err != nil {
			return err
		}
	}
	return s.Backend.Publish(ctx, n)
}
