package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/parley-run/parley/session"
)

// Clock implements session.Schedules.
func (m *many) Clock(ctx context.Context, app, user string) (time.Time, error) {
	return route(ctx, m, session.Key{App: app, User: user}, failed[time.Time](), func(ctx context.Context, s *backend) (time.Time, error) {
		return s.Clock(ctx, app, user)
	})
}

// PutSchedule implements session.Schedules.
func (m *many) PutSchedule(ctx context.Context, put *session.Schedule) error {
	return do(ctx, m, put.Key(), failure(session.ErrNotFound), func(ctx context.Context, s *backend) error { return s.PutSchedule(ctx, put) })
}

// Schedule implements session.Schedules.
func (m *many) Schedule(ctx context.Context, app, user, id string) (*session.Schedule, error) {
	return route(ctx, m, session.Key{App: app, User: user}, failed[*session.Schedule](session.ErrNotFound), func(ctx context.Context, s *backend) (*session.Schedule, error) {
		return s.Schedule(ctx, app, user, id)
	})
}

// ListSchedules implements session.Schedules.
func (m *many) ListSchedules(ctx context.Context, app, user string) ([]*session.Schedule, error) {
	return route(ctx, m, session.Key{App: app, User: user}, empty[*session.Schedule], func(ctx context.Context, s *backend) ([]*session.Schedule, error) {
		return s.ListSchedules(ctx, app, user)
	})
}

// DeleteSchedule implements session.Schedules.
func (m *many) DeleteSchedule(ctx context.Context, app, user, id string) error {
	return do(ctx, m, session.Key{App: app, User: user}, always, func(ctx context.Context, s *backend) error { return s.DeleteSchedule(ctx, app, user, id) })
}

// ClaimSchedules implements session.Schedules, like ClaimDeliveries.
func (m *many) ClaimSchedules(ctx context.Context, lease time.Duration, limit int) ([]*session.DueSchedule, error) {
	each := (limit + len(m.members) - 1) / len(m.members)
	lists, err := available(ask(ctx, m, m.wait, func(ctx context.Context, s *backend) ([]*session.DueSchedule, error) {
		return s.ClaimSchedules(ctx, lease, each)
	}))
	return slices.Concat(lists...), err
}

// Fire implements session.Schedules.
func (m *many) Fire(ctx context.Context, d *session.DueSchedule, next time.Time, f *session.Firing) error {
	return do(ctx, m, d.Key(), failure(session.ErrFenced), func(ctx context.Context, s *backend) error { return s.Fire(ctx, d, next, f) })
}

// RetrySchedule implements session.Schedules.
func (m *many) RetrySchedule(ctx context.Context, d *session.DueSchedule, after time.Duration) error {
	return do(ctx, m, d.Key(), always, func(ctx context.Context, s *backend) error { return s.RetrySchedule(ctx, d, after) })
}

// AddFiring implements session.Schedules.
func (m *many) AddFiring(ctx context.Context, app, user, id string, f *session.Firing) error {
	return do(ctx, m, session.Key{App: app, User: user}, failure(session.ErrNotFound), func(ctx context.Context, s *backend) error {
		return s.AddFiring(ctx, app, user, id, f)
	})
}

// Firings implements session.Schedules.
func (m *many) Firings(ctx context.Context, app, user, id string) ([]*session.Firing, error) {
	return route(ctx, m, session.Key{App: app, User: user}, empty[*session.Firing], func(ctx context.Context, s *backend) ([]*session.Firing, error) {
		return s.Firings(ctx, app, user, id)
	})
}
