package session

import (
	"context"
	"time"
)

// Schedule starts runs of an application as a user, at certain times. A store does
// not interpret what it starts and when: it only knows when it is due next.
type Schedule struct {
	App, User string
	ID        string // unique among those of the user
	JSON      []byte
	// Next is when it is due. Zero means never.
	Next time.Time
	// Version is assigned by PutSchedule.
	Version int64
	Created time.Time // by the clock of the store
}

// Key returns a key with the application and the user.
func (s *Schedule) Key() Key { return Key{App: s.App, User: s.User} }

// DueSchedule is a schedule that is due, and that was claimed.
type DueSchedule struct {
	Schedule

	// Now is the time of the claim, by the clock of the store.
	Now time.Time
	// Attempt counts the claims since the schedule became due: 1 for the first.
	Attempt int
}

// Firing is what has happened when a schedule was due. A store does not interpret its
// JSON.
type Firing struct {
	Time time.Time // when the schedule was due
	JSON []byte
}

// MaxFirings is how many firings of a schedule are kept: the latest ones.
const MaxFirings = 100

// Schedules is the part of a Store that keeps schedules.
//
// One that is due is claimed by one process at a time, on a lease by the clock of the
// store. The process does what is to be done, and calls Fire, which stores when the
// schedule is due next. If the lease expires before that, any process may claim it
// again: what is done must be idempotent by the time that the schedule was due.
type Schedules interface {
	// Clock returns the time by which the schedules of a user are due.
	Clock(ctx context.Context, app, user string) (time.Time, error)

	// PutSchedule stores a schedule, and sets its Version and Created. If its Version is
	// 0, it creates the schedule, and fails with ErrExists if there is one; otherwise
	// it replaces the one with this version, and fails with ErrChanged if there is
	// another one, or with ErrNotFound if there is none. Claims of the replaced one end.
	PutSchedule(ctx context.Context, s *Schedule) error

	// Schedule returns a schedule, or ErrNotFound.
	Schedule(ctx context.Context, app, user, id string) (*Schedule, error)

	// ListSchedules returns the schedules of a user by id.
	ListSchedules(ctx context.Context, app, user string) ([]*Schedule, error)

	// DeleteSchedule deletes a schedule and its firings. Deleting one that does not
	// exist is not an error.
	DeleteSchedule(ctx context.Context, app, user, id string) error

	// ClaimSchedules returns at most limit schedules that are due, those that have been
	// due the longest first. No others can claim them until the lease expires.
	ClaimSchedules(ctx context.Context, lease time.Duration, limit int) ([]*DueSchedule, error)

	// Fire ends a claim: it adds a firing unless it is nil, and stores when the schedule
	// is due next. It fails with ErrFenced if the schedule was changed, deleted or claimed
	// again.
	Fire(ctx context.Context, d *DueSchedule, next time.Time, f *Firing) error

	// RetrySchedule ends a claim so that the schedule can be claimed again after some
	// time. It has no effect in the cases in which Fire fails with ErrFenced.
	RetrySchedule(ctx context.Context, d *DueSchedule, after time.Duration) error

	// AddFiring adds a firing outside of a claim. It fails with ErrNotFound if there is no
	// schedule.
	AddFiring(ctx context.Context, app, user, id string, f *Firing) error

	// Firings returns the firings of a schedule, the latest first; none if there is no
	// schedule. There is at most one for a time.
	Firings(ctx context.Context, app, user, id string) ([]*Firing, error)
}
