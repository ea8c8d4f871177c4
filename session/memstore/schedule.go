package memstore

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-run/parley/session"
)

var _ session.Schedules = (*Backend)(nil)

// schedules holds the schedules of all users.
type schedules struct {
	mu      sync.Mutex
	of      map[scheduleKey]*keptSchedule
	version int64
}

type scheduleKey struct{ app, user, id string }

type keptSchedule struct {
	session.Schedule

	due     time.Time // when it can be claimed: Next, or the end of the lease
	attempt int
	firings []*session.Firing // by time
}

func (k *keptSchedule) shown() *session.Schedule {
	one := k.Schedule
	return &one
}

// add adds a firing, unless there is one for its time.
func (k *keptSchedule) add(f *session.Firing) {
	if f == nil {
		return
	}
	i, found := slices.BinarySearchFunc(k.firings, f, func(a, b *session.Firing) int { return a.Time.Compare(b.Time) })
	if found {
		return
	}
	one := *f
	k.firings = slices.Insert(k.firings, i, &one)
	if n := len(k.firings) - session.MaxFirings; n > 0 {
		k.firings = slices.Clone(k.firings[n:])
	}
}

// Clock implements session.Schedules.
func (m *Backend) Clock(context.Context, string, string) (time.Time, error) { return wallClock(), nil }

// PutSchedule implements session.Schedules.
func (m *Backend) PutSchedule(_ context.Context, s *session.Schedule) error {
	l, key := &m.schedules, scheduleKey{s.App, s.User, s.ID}
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.of[key]
	switch {
	case s.Version == 0 && k != nil:
		return session.ErrExists
	case s.Version != 0 && k == nil:
		return session.ErrNotFound
	case k != nil && k.Version != s.Version:
		return session.ErrChanged
	case k == nil:
		k = &keptSchedule{}
		if l.of == nil {
			l.of = map[scheduleKey]*keptSchedule{}
		}
		l.of[key] = k
		s.Created = wallClock()
	default:
		s.Created = k.Created
	}
	l.version++
	s.Version = l.version
	k.Schedule, k.due, k.attempt = *s, s.Next, 0
	return nil
}

// Schedule implements session.Schedules.
func (m *Backend) Schedule(_ context.Context, app, user, id string) (*session.Schedule, error) {
	l := &m.schedules
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.of[scheduleKey{app, user, id}]
	if k == nil {
		return nil, session.ErrNotFound
	}
	return k.shown(), nil
}

// ListSchedules implements session.Schedules.
func (m *Backend) ListSchedules(_ context.Context, app, user string) ([]*session.Schedule, error) {
	l := &m.schedules
	l.mu.Lock()
	defer l.mu.Unlock()
	list := []*session.Schedule{}
	for key, k := range l.of {
		if key.app == app && key.user == user {
			list = append(list, k.shown())
		}
	}
	slices.SortFunc(list, func(a, b *session.Schedule) int { return strings.Compare(a.ID, b.ID) })
	return list, nil
}

// DeleteSchedule implements session.Schedules.
func (m *Backend) DeleteSchedule(_ context.Context, app, user, id string) error {
	l := &m.schedules
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, scheduleKey{app, user, id})
	return nil
}

// ClaimSchedules implements session.Schedules.
func (m *Backend) ClaimSchedules(_ context.Context, lease time.Duration, limit int) ([]*session.DueSchedule, error) {
	l, now := &m.schedules, wallClock()
	l.mu.Lock()
	defer l.mu.Unlock()
	var due []*keptSchedule
	for _, k := range l.of {
		if !k.Next.IsZero() && !k.due.After(now) {
			due = append(due, k)
		}
	}
	slices.SortFunc(due, func(a, b *keptSchedule) int { return cmp.Or(a.due.Compare(b.due), strings.Compare(a.ID, b.ID)) })
	list := []*session.DueSchedule{}
	for _, k := range due[:min(len(due), max(limit, 0))] {
		k.attempt++
		k.due = now.Add(lease)
		list = append(list, &session.DueSchedule{Schedule: k.Schedule, Now: now, Attempt: k.attempt})
	}
	return list, nil
}

// claimed returns the schedule of a claim that has not ended, or nil. l.mu must be
// held.
func (l *schedules) claimed(d *session.DueSchedule) *keptSchedule {
	k := l.of[scheduleKey{d.App, d.User, d.ID}]
	if k == nil || k.Version != d.Version || k.attempt != d.Attempt || !k.Next.Equal(d.Next) {
		return nil
	}
	return k
}

// Fire implements session.Schedules.
func (m *Backend) Fire(_ context.Context, d *session.DueSchedule, next time.Time, f *session.Firing) error {
	l := &m.schedules
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.claimed(d)
	if k == nil {
		return session.ErrFenced
	}
	k.Next, k.due, k.attempt = next, next, 0
	k.add(f)
	return nil
}

// RetrySchedule implements session.Schedules.
func (m *Backend) RetrySchedule(_ context.Context, d *session.DueSchedule, after time.Duration) error {
	l := &m.schedules
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := l.claimed(d); k != nil {
		k.due = wallClock().Add(after)
	}
	return nil
}

// AddFiring implements session.Schedules.
func (m *Backend) AddFiring(_ context.Context, app, user, id string, f *session.Firing) error {
	l := &m.schedules
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.of[scheduleKey{app, user, id}]
	if k == nil {
		return session.ErrNotFound
	}
	k.add(f)
	return nil
}

// Firings implements session.Schedules.
func (m *Backend) Firings(_ context.Context, app, user, id string) ([]*session.Firing, error) {
	l := &m.schedules
	l.mu.Lock()
	defer l.mu.Unlock()
	list := []*session.Firing{}
	if k := l.of[scheduleKey{app, user, id}]; k != nil {
		for _, f := range slices.Backward(k.firings) {
			one := *f
			list = append(list, &one)
		}
	}
	return list, nil
}
