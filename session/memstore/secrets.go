package memstore

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/parley-run/parley/session"
)

// safe holds the secrets of a session or of a user, by name.
type safe struct {
	mu      sync.Mutex
	secrets map[string]*keptSecret
}

type keptSecret struct {
	session.Secret
	stored time.Time
}

func (k *keptSecret) shown() *session.Secret {
	s := k.Secret
	s.Age = time.Since(k.stored)
	return &s
}

// safeOf returns the safe for a secret; nil if there is no such user.
func (m *Backend) safeOf(id session.SecretID) (*safe, error) {
	if id.Session != "" {
		rec, err := m.find(id.Key())
		if err != nil {
			return nil, err
		}
		return &rec.safe, nil
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if u := m.users[owner{id.App, id.User}]; u != nil {
		return &u.safe, nil
	}
	return nil, session.ErrNoSecret
}

// Secret implements session.Secrets.
func (m *Backend) Secret(_ context.Context, id session.SecretID) (*session.Secret, error) {
	s, err := m.safeOf(id)
	if err != nil {
		return nil, session.ErrNoSecret
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.secrets[id.Name]
	if k == nil {
		return nil, session.ErrNoSecret
	}
	return k.shown(), nil
}

// openSafe returns the safe for a secret, with its lock held. It creates the user
// if necessary, who cannot be dropped in between.
func (m *Backend) openSafe(id session.SecretID) (*safe, error) {
	if id.Session != "" {
		s, err := m.safeOf(id)
		if err == nil {
			s.mu.Lock()
		}
		return s, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.userOf(id.App, id.User).safe
	s.mu.Lock()
	return s, nil
}

// PutSecret implements session.Secrets.
func (m *Backend) PutSecret(_ context.Context, secret *session.Secret) (int64, error) {
	s, err := m.openSafe(secret.SecretID)
	if err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	before := int64(0)
	if k := s.secrets[secret.Name]; k != nil {
		before = k.Version
	}
	if before != secret.Version {
		return 0, session.ErrChanged
	}
	kept := &keptSecret{Secret: *secret, stored: time.Now()}
	kept.Sealed, kept.About = slices.Clone(secret.Sealed), slices.Clone(secret.About)
	kept.Version = m.number.Add(1)
	if s.secrets == nil {
		s.secrets = map[string]*keptSecret{}
	}
	s.secrets[secret.Name] = kept
	return kept.Version, nil
}

// DeleteSecret implements session.Secrets.
func (m *Backend) DeleteSecret(_ context.Context, id session.SecretID) error {
	s, err := m.safeOf(id)
	if err != nil {
		return nil // it does not exist
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.secrets, id.Name)
	return nil
}

// ListSecrets implements session.Secrets.
func (m *Backend) ListSecrets(_ context.Context, app, user string) ([]*session.Secret, error) {
	var safes []*safe
	m.mu.RLock()
	if u := m.users[owner{app, user}]; u != nil {
		safes = append(safes, &u.safe)
		for _, rec := range u.sessions {
			safes = append(safes, &rec.safe)
		}
	}
	m.mu.RUnlock()
	found := shown(safes, 0)
	slices.SortFunc(found, func(a, b *session.Secret) int {
		return cmp.Or(cmp.Compare(a.Session, b.Session), cmp.Compare(a.Name, b.Name))
	})
	return found, nil
}

// WalkSecrets implements session.Secrets.
func (m *Backend) WalkSecrets(_ context.Context, after int64, limit int) ([]*session.Secret, error) {
	var safes []*safe
	m.mu.RLock()
	for _, u := range m.users {
		safes = append(safes, &u.safe)
		for _, rec := range u.sessions {
			safes = append(safes, &rec.safe)
		}
	}
	m.mu.RUnlock()
	found := shown(safes, after)
	slices.SortFunc(found, func(a, b *session.Secret) int { return cmp.Compare(a.Version, b.Version) })
	return found[:min(limit, len(found))], nil
}

// shown returns the secrets in safes with a version greater than after, in any order.
func shown(safes []*safe, after int64) []*session.Secret {
	found := []*session.Secret{}
	for _, s := range safes {
		s.mu.Lock()
		for _, k := range s.secrets {
			if k.Version > after {
				found = append(found, k.shown())
			}
		}
		s.mu.Unlock()
	}
	return found
}
