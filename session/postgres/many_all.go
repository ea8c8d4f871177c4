package postgres

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/parley-run/parley/session"
)

// What concerns all users. The work of a server goes on without a database that cannot
// be used: it is done there when it can be used again. Lists for people fail instead of
// being incomplete.

// available returns the values of the databases that have answered, and an error if
// none has.
func available[T any](answers []answer[T]) ([]T, error) {
	var values []T
	var err error
	for _, one := range answers {
		if one.err == nil {
			values = append(values, one.value)
		} else {
			err = one.err
		}
	}
	if len(values) > 0 {
		err = nil
	}
	return values, err
}

// Idle implements session.Leases.
func (m *many) Idle(ctx context.Context, limit int) ([]session.Key, error) {
	lists, err := available(ask(ctx, m, m.wait, func(ctx context.Context, s *backend) ([]session.Key, error) { return s.Idle(ctx, limit) }))
	keys := []session.Key{}
	for i := 0; len(keys) < limit; i++ { // those that have waited longest first, of each
		more := false
		for _, list := range lists {
			if i < len(list) && len(keys) < limit {
				keys = append(keys, list[i])
				more = true
			}
		}
		if !more {
			break
		}
	}
	return keys, err
}

// Renew implements session.Leases. It asks twice: a run that moves while the first
// answers are given may be in none of them.
func (m *many) Renew(ctx context.Context) (held []session.Held, err error) {
	seen := map[string]bool{}
	for range 2 {
		answers := ask(ctx, m, m.wait, m.renew)
		for _, one := range answers {
			if one.err != nil {
				err = one.err
			}
			for _, h := range one.value {
				if id := h.Key.ID + "\x00" + h.Run; !seen[id] {
					seen[id] = true
					held = append(held, h)
				}
			}
		}
	}
	return held, err
}

// renew renews the leases in one database. A call that takes long does not delay those
// after it.
func (m *many) renew(ctx context.Context, s *backend) ([]session.Held, error) {
	m.mu.Lock()
	busy := m.renewing[s]
	if busy == nil {
		busy = make(chan struct{}, 1)
		m.renewing[s] = busy
	}
	m.mu.Unlock()
	select {
	case busy <- struct{}{}:
		defer func() { <-busy }()
	default:
		return nil, unavailable("renewing leases", errSlowMember, false)
	}
	held, err := s.Renew(ctx)
	if err != nil {
		return nil, err
	}
	moving, err := s.movingRuns(ctx)
	return append(held, moving...), err
}

// Watch implements session.Leases.
func (m *many) Watch(ctx context.Context, changed func(hint uint64)) {
	var all sync.WaitGroup
	for _, s := range m.members {
		all.Go(func() { s.Watch(ctx, changed) })
	}
	all.Wait()
}

// Timeline implements session.Timeline.
func (m *many) Timeline() (sum int64) {
	for _, s := range m.members {
		sum += s.Timeline()
	}
	return sum
}

// CountQueued implements session.Runs. It counts those of the databases that can be
// used: the others cannot begin.
func (m *many) CountQueued(ctx context.Context) (sum int64, err error) {
	counts, err := available(ask(ctx, m, m.wait, func(ctx context.Context, s *backend) (int64, error) { return s.CountQueued(ctx) }))
	for _, n := range counts {
		sum += n
	}
	return sum, err
}

// Waits implements session.Upkeep.
func (m *many) Waits(ctx context.Context, age time.Duration, after *session.Run, limit int) ([]*session.Run, error) {
	lists, err := every(ctx, m, func(ctx context.Context, s *backend) ([]*session.Run, error) { return s.Waits(ctx, age, after, limit) })
	if err != nil {
		return nil, err
	}
	runs := []*session.Run{}
	for _, one := range lists {
		runs = append(runs, one.value...)
	}
	slices.SortFunc(runs, func(a, b *session.Run) int { return cmp.Or(a.Ended.Compare(b.Ended), cmp.Compare(a.Number, b.Number)) })
	return runs[:min(len(runs), limit)], nil
}

// ListWaiting implements session.Inbox.
func (m *many) ListWaiting(ctx context.Context, q session.WaitQuery, page session.Page) ([]*session.Run, string, error) {
	if q.User != "" {
		return paged(ctx, m, session.Key{App: q.App, User: q.User}, emptyPage[*session.Run], func(ctx context.Context, s *backend) ([]*session.Run, string, error) {
			return s.ListWaiting(ctx, q, page)
		})
	}
	after, number, err := page.AfterWait()
	if err != nil {
		return nil, "", err
	}
	lists, err := every(ctx, m, func(ctx context.Context, s *backend) ([]*session.Run, error) {
		return s.listWaiting(ctx, q, after, number, page.Limit())
	})
	if err != nil {
		return nil, "", err
	}
	runs := []*session.Run{}
	for _, one := range lists {
		runs = append(runs, one.value...)
	}
	slices.SortFunc(runs, func(a, b *session.Run) int { return cmp.Or(a.Ended.Compare(b.Ended), cmp.Compare(a.Number, b.Number)) })
	runs, next := session.CutWaiting(&page, runs)
	return runs, next, nil
}

// Sweep implements session.Upkeep.
func (m *many) Sweep(ctx context.Context, ttl time.Duration) (deleted []session.Key, done bool, err error) {
	type swept struct {
		deleted []session.Key
		done    bool
	}
	done = true
	for _, one := range ask(ctx, m, 0, func(ctx context.Context, s *backend) (w swept, err error) {
		w.deleted, w.done, err = s.Sweep(ctx, ttl)
		return w, err
	}) {
		deleted = append(deleted, one.value.deleted...)
		if one.err != nil {
			err = one.err
		} else if !one.value.done {
			done = false
		}
	}
	if !done {
		err = nil // the others go on first
	}
	return deleted, done && err == nil, err
}

// Walk implements session.Upkeep. Ordinals are unique, and sessions keep them.
func (m *many) Walk(ctx context.Context, p session.Page) ([]session.Key, string, error) {
	after, err := p.After()
	if err != nil {
		return nil, "", err
	}
	lists, err := every(ctx, m, func(ctx context.Context, s *backend) ([]walked, error) { return s.walk(ctx, after, p.Limit()) })
	if err != nil {
		return nil, "", err
	}
	var all []walked
	for _, one := range lists {
		all = append(all, one.value...)
	}
	slices.SortFunc(all, func(a, b walked) int { return cmp.Compare(a.ordinal, b.ordinal) })
	all, next := session.Cut(&p, all, func(w walked) int64 { return w.ordinal })
	keys := make([]session.Key, len(all))
	for i, w := range all {
		keys[i] = w.key
	}
	return keys, next, nil
}

// WalkSecrets implements session.Secrets. Versions are unique.
func (m *many) WalkSecrets(ctx context.Context, after int64, limit int) ([]*session.Secret, error) {
	lists, err := every(ctx, m, func(ctx context.Context, s *backend) ([]*session.Secret, error) {
		return s.WalkSecrets(ctx, after, limit)
	})
	if err != nil {
		return nil, err
	}
	all := []*session.Secret{}
	for _, one := range lists {
		all = append(all, one.value...)
	}
	slices.SortFunc(all, func(a, b *session.Secret) int { return cmp.Compare(a.Version, b.Version) })
	return all[:min(len(all), limit)], nil
}

// Spend implements session.Spender.
func (m *many) Spend(ctx context.Context, key session.Key, models ...session.ModelUsage) error {
	return do(ctx, m, key, failure(session.ErrNotFound), func(ctx context.Context, s *backend) error { return s.Spend(ctx, key, models...) })
}

// Usage implements session.Ledger. That of one user is in the database of the user.
func (m *many) Usage(ctx context.Context, q session.UsageQuery, p session.Page) ([]session.Usage, string, error) {
	if q.App != "" && q.User != "" {
		return paged(ctx, m, session.Key{App: q.App, User: q.User}, emptyPage[session.Usage], func(ctx context.Context, s *backend) ([]session.Usage, string, error) {
			return s.Usage(ctx, q, p)
		})
	}
	ask := p
	if p.Size > 0 {
		ask.Size++ // one more shows whether there is another page
	}
	lists, err := every(ctx, m, func(ctx context.Context, s *backend) ([]session.Usage, error) {
		list, _, err := s.Usage(ctx, q, ask)
		return list, err
	})
	if err != nil {
		return nil, "", err
	}
	all := map[session.UsageKey]session.Usage{}
	for _, one := range lists {
		for _, u := range one.value {
			sum := all[u.UsageKey]
			sum.UsageKey = u.UsageKey
			sum.Add(&u)
			all[u.UsageKey] = sum
		}
	}
	list := make([]session.Usage, 0, len(all))
	for _, u := range all {
		list = append(list, u)
	}
	slices.SortFunc(list, func(a, b session.Usage) int {
		return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.App, b.App), cmp.Compare(a.User, b.User))
	})
	list, next := session.UsagePage(list, p)
	return list, next, nil
}

// SweepRecordings implements session.Recordings.
func (m *many) SweepRecordings(ctx context.Context, age time.Duration) (bool, error) {
	dones, err := available(ask(ctx, m, 0, func(ctx context.Context, s *backend) (bool, error) { return s.SweepRecordings(ctx, age) }))
	return !slices.Contains(dones, false), err
}

// PutAPIKey implements session.APIKeys.
func (m *many) PutAPIKey(ctx context.Context, key *session.APIKey) error {
	return m.members[0].PutAPIKey(ctx, key)
}

// APIKey implements session.APIKeys.
func (m *many) APIKey(ctx context.Context, id string) (*session.APIKey, error) {
	return m.members[0].APIKey(ctx, id)
}

// ListAPIKeys implements session.APIKeys.
func (m *many) ListAPIKeys(ctx context.Context) ([]*session.APIKey, error) {
	return m.members[0].ListAPIKeys(ctx)
}

// DeleteAPIKey implements session.APIKeys.
func (m *many) DeleteAPIKey(ctx context.Context, id string) error {
	return m.members[0].DeleteAPIKey(ctx, id)
}

// UseAPIKey implements session.APIKeys.
func (m *many) UseAPIKey(ctx context.Context, id string, at time.Time) error {
	return m.members[0].UseAPIKey(ctx, id, at)
}
