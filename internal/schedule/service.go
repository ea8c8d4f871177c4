package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/session"
)

const (
	// MaxPerUser is how many schedules a user of an application may have.
	MaxPerUser = 1000
	// MaxBytes is how much the schedules of a user of an application may take together.
	MaxBytes = 4 << 20
	// maxID bounds the id, which is a part of session ids.
	maxID = 128
	// upcoming is how many of the next times are shown.
	upcoming = 5
)

var (
	// ErrNotFound means that there is no such schedule.
	ErrNotFound = errors.New("schedule not found")
	// ErrExists means that the user has a schedule with this id.
	ErrExists = errors.New("the user has a schedule with this id")
	// ErrTooMany means that the user has too many schedules.
	ErrTooMany = fmt.Errorf("the user has %d schedules, which is the limit: delete one", MaxPerUser)
	// ErrTooLarge means that the schedules of the user take too much.
	ErrTooLarge = fmt.Errorf("the schedules of the user have more than %d bytes, which is the limit: delete one, or shorten its message", MaxBytes)
	// ErrChanged means that others have changed the schedule at the same time.
	ErrChanged = errors.New("the schedule was changed at the same time; try again")
)

// Schedule is a schedule of a user.
type Schedule struct {
	ID      string
	Spec    Spec
	Next    time.Time // zero if it is not due any more
	Created time.Time
}

// Upcoming returns the next times at which it is due.
func (s *Schedule) Upcoming() []time.Time {
	times := []time.Time{}
	for t := s.Next; !t.IsZero() && len(times) < upcoming; t = s.Spec.After(t) {
		times = append(times, t)
	}
	return times
}

// Fired is a firing with its time.
type Fired struct {
	Firing
	Time time.Time
}

// Service manages schedules.
type Service struct {
	Store   session.Schedules
	Starter Starter
}

// shown decodes a stored schedule.
func shown(stored *session.Schedule) (*Schedule, error) {
	s := &Schedule{ID: stored.ID, Next: stored.Next, Created: stored.Created}
	if err := json.Unmarshal(stored.JSON, &s.Spec); err != nil {
		return nil, fmt.Errorf("schedule %s: %w", stored.ID, err)
	}
	return s, nil
}

// put stores a schedule, whose next time follows from its specification.
func (s *Service) put(ctx context.Context, stored *session.Schedule, spec *Spec) (*Schedule, error) {
	if err := spec.Check(); err != nil {
		return nil, err
	}
	now, err := s.Store.Clock(ctx, stored.App, stored.User)
	if err != nil {
		return nil, err
	}
	if spec.Created.IsZero() {
		spec.Created = now
	}
	if stored.Next = spec.First(now); stored.Next.IsZero() && !spec.Paused {
		return nil, wrong(spec.when(), "is never due: all of its times have passed, or there are none")
	}
	if stored.JSON, err = json.Marshal(spec); err != nil {
		return nil, err
	}
	if err := s.bounded(ctx, stored); err != nil {
		return nil, err
	}
	switch err := s.Store.PutSchedule(ctx, stored); {
	case errors.Is(err, session.ErrExists):
		return nil, ErrExists
	case errors.Is(err, session.ErrNotFound):
		return nil, ErrNotFound
	case errors.Is(err, session.ErrChanged):
		return nil, ErrChanged
	case err != nil:
		return nil, err
	}
	return &Schedule{ID: stored.ID, Spec: *spec, Next: stored.Next, Created: stored.Created}, nil
}

// bounded refuses a schedule if its user has too many.
func (s *Service) bounded(ctx context.Context, put *session.Schedule) error {
	list, err := s.Store.ListSchedules(ctx, put.App, put.User)
	if err != nil {
		return err
	}
	if put.Version == 0 && len(list) >= MaxPerUser {
		return ErrTooMany
	}
	bytes := len(put.JSON)
	for _, one := range list {
		if one.ID != put.ID {
			bytes += len(one.JSON)
		}
	}
	if bytes > MaxBytes {
		return ErrTooLarge
	}
	return nil
}

// when names the member that says when the schedule is due.
func (s *Spec) when() string {
	switch {
	case s.Interval > 0:
		return "intervalSeconds"
	case !s.At.IsZero():
		return "at"
	}
	return "cron"
}

// Create stores a new schedule. An empty id means a new one.
func (s *Service) Create(ctx context.Context, app, user, id string, spec *Spec) (*Schedule, error) {
	if id == "" {
		id = ident.Session()
	}
	if err := session.CheckIdentifier("schedule id", id); err != nil {
		return nil, err
	}
	if len(id) > maxID {
		return nil, wrong("id", "must have at most %d bytes", maxID)
	}
	return s.put(ctx, &session.Schedule{App: app, User: user, ID: id}, spec)
}

// Change changes a schedule: it is due at the next time after now.
func (s *Service) Change(ctx context.Context, app, user, id string, change func(*Spec) error) (*Schedule, error) {
	stored, err := s.get(ctx, app, user, id)
	if err != nil {
		return nil, err
	}
	old, err := shown(stored)
	if err != nil {
		return nil, err
	}
	if err := change(&old.Spec); err != nil {
		return nil, err
	}
	return s.put(ctx, stored, &old.Spec)
}

func (s *Service) get(ctx context.Context, app, user, id string) (*session.Schedule, error) {
	stored, err := s.Store.Schedule(ctx, app, user, id)
	if errors.Is(err, session.ErrNotFound) {
		return nil, ErrNotFound
	}
	return stored, err
}

// Get returns a schedule.
func (s *Service) Get(ctx context.Context, app, user, id string) (*Schedule, error) {
	stored, err := s.get(ctx, app, user, id)
	if err != nil {
		return nil, err
	}
	return shown(stored)
}

// List returns the schedules of a user by id.
func (s *Service) List(ctx context.Context, app, user string) ([]*Schedule, error) {
	stored, err := s.Store.ListSchedules(ctx, app, user)
	if err != nil {
		return nil, err
	}
	list := []*Schedule{}
	for _, one := range stored {
		decoded, err := shown(one)
		if err != nil {
			return nil, err
		}
		list = append(list, decoded)
	}
	return list, nil
}

// Delete deletes a schedule. Its runs and sessions stay.
func (s *Service) Delete(ctx context.Context, app, user, id string) error {
	if _, err := s.get(ctx, app, user, id); err != nil {
		return err
	}
	return s.Store.DeleteSchedule(ctx, app, user, id)
}

// RunNow starts what a schedule starts. It does not change when it is due.
func (s *Service) RunNow(ctx context.Context, app, user, id string) (*Fired, error) {
	one, err := s.Get(ctx, app, user, id)
	if err != nil {
		return nil, err
	}
	now, err := s.Store.Clock(ctx, app, user)
	if err != nil {
		return nil, err
	}
	now = now.Truncate(time.Microsecond) // as all stores store it
	start := Start{Key: session.Key{App: app, User: user, ID: SessionOf(id, &one.Spec, now)}, Spec: &one.Spec, Schedule: id, Time: now}
	run, _, err := s.Starter.Start(ctx, start)
	if err != nil {
		return nil, err
	}
	f := Fired{Firing: Firing{Outcome: Started, At: now, Manual: true, Session: start.Key.ID, Run: run}, Time: now}
	if one.Spec.Message == nil {
		f.Outcome = Changed
	}
	doc, err := json.Marshal(f.Firing)
	if err != nil {
		return nil, err
	}
	// The run has started: a history without it is better than an error.
	_ = s.Store.AddFiring(context.WithoutCancel(ctx), app, user, id, &session.Firing{Time: now, JSON: doc})
	return &f, nil
}

// Firings returns what has come of a schedule, the latest first.
func (s *Service) Firings(ctx context.Context, app, user, id string) ([]*Fired, error) {
	if _, err := s.get(ctx, app, user, id); err != nil {
		return nil, err
	}
	stored, err := s.Store.Firings(ctx, app, user, id)
	if err != nil {
		return nil, err
	}
	list := []*Fired{}
	for _, one := range stored {
		f := &Fired{Time: one.Time}
		if err := json.Unmarshal(one.JSON, &f.Firing); err != nil {
			return nil, fmt.Errorf("firing of schedule %s: %w", id, err)
		}
		list = append(list, f)
	}
	return list, nil
}
