package session

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

var _ Schedules = (*Memory)(nil)

// schedules holds the schedules of all users.
type schedules struct {
	mu      sync.Mutex
	of      map[scheduleKey]*keptSchedule
	version int64
}

type scheduleKey struct{ app, user, id string }

type keptSchedule struct {
	Schedule

	due     time.Time // when it can be claimed: Next, or the end of the lease
	attempt int
	firings []*Firing // by time
}

func (k *keptSchedule) shown() *Schedule {
	one := k.Schedule
	return &one
}

// add adds a firing, unless there is one for its time.
func (k *keptSchedule) add(f *Firing) {
	if f == nil {
		return
	}
	i, found := slices.BinarySearchFunc(k.firings, f, func(a, b *Firing) int { return a.Time.Compare(b.Time) })
	if found {
		return
	}
	one := *f
	k.firings = slices.Insert(k.firings, i, &one)
	if n := len(k.firings) - MaxFirings; n > 0 {
		k.firings = slices.Clone(k.firings[n:])
	}
}

// Clock implements Schedules.
func (m *Memory) Clock(context.Context, string, string) (time.Time, error) { return wallClock(), nil }

// PutSchedule implements Schedules.
func (m *Memory) PutSchedule(_ context.Context, s *Schedule) error {
	l, key := &m.schedules, scheduleKey{s.App, s.User, s.ID}
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.of[key]
	switch {
	case s.Version == 0 && k != nil:
		return ErrExists
	case s.Version != 0 && k == nil:
		return ErrNotFound
	case k != nil && k.Version != s.Version:
		return ErrChanged
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

// Schedule implements Schedules.
func (m *Memory) Schedule(_ context.Context, app, user, id string) (*Schedule, error) {
	l := &m.schedules
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.of[scheduleKey{app, user, id}]
	if k == nil {
		return nil, ErrNotFound
	}
	return k.shown(), nil
}

// ListSchedules implements Schedules.
func (m *Memory) ListSchedules(_ context.Context, app, user string) ([]*Schedule, error) {
	l := &m.schedules
	l.mu.Lock()
	defer l.mu.Unlock()
	list := []*Schedule{}
	for key, k := range l.of {
		if key.app == app && key.user == user {
			list = append(list, k.shown())
		}
	}
	slices.SortFunc(list, func(a, b *Schedule) int { return strings.Compare(a.ID, b.ID) })
	return list, nil
}

// DeleteSchedule implements Schedules.
func (m *Memory) DeleteSchedule(_ context.Context, app, user, id string) error {
	l := &m.schedules
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, scheduleKey{app, user, id})
	return nil
}

// ClaimSchedules implements Schedules.
func (m *Memory) ClaimSchedules(_ context.Context, lease time.Duration, limit int) ([]*DueSchedule, error) {
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
	list := []*DueSchedule{}
	for _, k := range due[:min(len(due), max(limit, 0))] {
		k.attempt++
		k.due = now.Add(lease)
		list = append(list, &DueSchedule{Schedule: k.Schedule, Now: now, Attempt: k.attempt})
	}
	return list, nil
}

// claimed returns the schedule of a claim that has not ended, or nil. l.mu must be
// held.
func (l *schedules) claimed(d *DueSchedule) *keptSchedule {
	k := l.of[scheduleKey{d.App, d.User, d.ID}]
	if k == nil || k.Version != d.Version || k.attempt != d.Attempt || !k.Next.Equal(d.Next) {
		return nil
	}
	return k
}

// Fire implements Schedules.
func (m *Memory) Fire(_ context.Context, d *DueSchedule, next time.Time, f *Firing) error {
	l := &m.schedules
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.claimed(d)
	if k == nil {
		return ErrFenced
	}
	k.Next, k.due, k.attempt = next, next, 0
	k.add(f)
	return nil
}

// RetrySchedule implements Schedules.
func (m *Memory) RetrySchedule(_ context.Context, d *DueSchedule, after time.Duration) error {
	l := &m.schedules
	l.mu.Lock()
	defer l.mu.Unlock()
	if k := l.claimed(d); k != nil {
		k.due = wallClock().Add(after)
	}
	return nil
}

// AddFiring implements Schedules.
func (m *Memory) AddFiring(_ context.Context, app, user, id string, f *Firing) error {
	l := &m.schedules
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.of[scheduleKey{app, user, id}]
	if k == nil {
		return ErrNotFound
	}
	k.add(f)
	return nil
}

// Firings implements Schedules.
func (m *Memory) Firings(_ context.Context, app, user, id string) ([]*Firing, error) {
	l := &m.schedules
	l.mu.Lock()
	defer l.mu.Unlock()
	list := []*Firing{}
	if k := l.of[scheduleKey{app, user, id}]; k != nil {
		for _, f := range slices.Backward(k.firings) {
			one := *f
			list = append(list, &one)
		}
	}
	return list, nil
}
