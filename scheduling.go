package parley

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/schedule"
	"github.com/parley-run/parley/session"
)

// Schedules gives programs access to the schedules of a server, in process. Its methods
// are safe for concurrent use.
type Schedules struct{ s *Server }

// Schedules gives access to the schedules of the server.
func (s *Server) Schedules() *Schedules { return &Schedules{s} }

// Schedule sends a message as a user of an application whenever it is due. Each time
// starts one run, on any number of servers that share the store.
type Schedule struct {
	App, User string
	// ID is unique among the schedules of the user. Empty means a new one.
	ID          string
	Description string

	// One of these says when it is due. Cron has five fields, or is a name such as
	// @daily; its times are those of TimeZone, or of UTC if that is empty. An Interval
	// begins at Start or, if that is zero, when the schedule is created.
	Cron, TimeZone string
	Interval       time.Duration
	At             time.Time
	// It is not due before Start, or after End, if they are set.
	Start, End time.Time
	// Paused keeps the schedule, which is not due.
	Paused bool

	// Message and StateDelta are those of a Request. With a StateDelta alone it changes
	// the state of Session, and starts no run.
	Message    *event.Content
	StateDelta map[string]json.RawMessage
	// Session is where the runs are; empty means a new session for each.
	Session string
	// OnBusy is what happens if the session has a run already; empty means as Config
	// says.
	OnBusy session.Policy

	// Missed says what the server does about times that have passed by more than
	// MissedAfter before it could start a run. Empty means MissedSkip, and 0 means ten minutes.
	Missed      Missed
	MissedAfter time.Duration

	// Created and Next, when it is due next, are set by the server. Next is zero if it
	// is not due any more.
	Created, Next time.Time
}

// Missed says what a server does about missed times of a schedule.
type Missed string

// The policies for missed times.
const (
	MissedSkip Missed = Missed(schedule.Skip) // nothing is started for them
	MissedOnce Missed = Missed(schedule.Once) // one run is started for all of them
	MissedAll  Missed = Missed(schedule.All)  // a run is started for each, at most for the last 100 of the last day
)

// Firing records what happened when a schedule was due.
type Firing struct {
	Time time.Time // when it was due
	// Fired is when a server has done it, by the clock of the store.
	Fired   time.Time
	Outcome Outcome
	// Manual means that it was started by Run, or by a request.
	Manual bool
	// Session and Run name the run that was started, if one was.
	Session, Run string
	// Error tells why it failed.
	Error string
}

// Outcome is the result of a firing.
type Outcome string

// The outcomes of firings.
const (
	OutcomeStarted Outcome = schedule.Started // a run was started
	OutcomeChanged Outcome = schedule.Changed // the state was changed
	OutcomeMissed  Outcome = schedule.Passed  // the time has passed before a server could start a run
	OutcomeFailed  Outcome = schedule.Failed  // the run could not be started
)

// Create creates a schedule. ErrExists if the user has one with this id, ErrInvalid if
// it is never due or cannot be understood, and ErrLimited if the user has too many.
func (a *Schedules) Create(ctx context.Context, n Schedule) (*Schedule, error) {
	service, err := a.service(n.App, n.User)
	if err != nil {
		return nil, public(err)
	}
	if _, err := a.s.apps.Agent(n.App); err != nil {
		return nil, public(err)
	}
	return n.result(service.Create(ctx, n.App, n.User, n.ID, n.spec()))
}

// Get returns a schedule.
func (a *Schedules) Get(ctx context.Context, app, user, id string) (*Schedule, error) {
	service, err := a.service(app, user)
	if err != nil {
		return nil, public(err)
	}
	return (&Schedule{App: app, User: user}).result(service.Get(ctx, app, user, id))
}

// List returns the schedules of a user by id.
func (a *Schedules) List(ctx context.Context, app, user string) ([]*Schedule, error) {
	service, err := a.service(app, user)
	if err != nil {
		return nil, public(err)
	}
	list, err := service.List(ctx, app, user)
	if err != nil {
		return nil, public(err)
	}
	out := make([]*Schedule, len(list))
	for i, one := range list {
		out[i] = scheduleOf(app, user, one)
	}
	return out, nil
}

// Change calls change with a schedule and stores the result, which is due at its next
// time after now. The application, the user and the id stay as they are.
func (a *Schedules) Change(ctx context.Context, app, user, id string, change func(*Schedule)) (*Schedule, error) {
	service, err := a.service(app, user)
	if err != nil {
		return nil, public(err)
	}
	return (&Schedule{App: app, User: user}).result(service.Change(ctx, app, user, id, func(spec *schedule.Spec) error {
		one := scheduleOf(app, user, &schedule.Schedule{ID: id, Spec: *spec})
		change(one)
		created := spec.Created
		*spec = *one.spec()
		spec.Created = created
		return nil
	}))
}

// Delete deletes a schedule. Its runs and sessions stay. ErrNotFound if there is none.
func (a *Schedules) Delete(ctx context.Context, app, user, id string) error {
	service, err := a.service(app, user)
	if err == nil {
		err = service.Delete(ctx, app, user, id)
	}
	return public(err)
}

// Run starts now what a schedule starts. It does not change when the schedule is due.
func (a *Schedules) Run(ctx context.Context, app, user, id string) (*Firing, error) {
	service, err := a.service(app, user)
	if err != nil {
		return nil, public(err)
	}
	fired, err := service.RunNow(ctx, app, user, id)
	if err != nil {
		return nil, public(err)
	}
	return firingOf(fired), nil
}

// Firings returns the last 100 firings of a schedule, the latest first.
func (a *Schedules) Firings(ctx context.Context, app, user, id string) ([]*Firing, error) {
	service, err := a.service(app, user)
	if err != nil {
		return nil, public(err)
	}
	list, err := service.Firings(ctx, app, user, id)
	if err != nil {
		return nil, public(err)
	}
	out := make([]*Firing, len(list))
	for i, f := range list {
		out[i] = firingOf(f)
	}
	return out, nil
}

var errNoSchedules = errors.New("the session store does not keep schedules")

// service checks whose schedules are asked for.
func (a *Schedules) service(app, user string) (*schedule.Service, error) {
	if a.s.schedules == nil {
		return nil, errNoSchedules
	}
	return a.s.schedules, session.Key{App: app, User: user}.CheckOwner()
}

// spec is the schedule as it is stored.
func (n *Schedule) spec() *schedule.Spec {
	return &schedule.Spec{
		Description: n.Description, Cron: n.Cron, TimeZone: n.TimeZone, Interval: n.Interval, At: n.At, Start: n.Start, End: n.End, Paused: n.Paused,
		Message: n.Message, StateDelta: n.StateDelta, Session: n.Session, Busy: n.OnBusy, Missed: schedule.Missed(n.Missed), Grace: n.MissedAfter,
	}
}

// result is a schedule of the same user, or an error, for a caller.
func (n *Schedule) result(one *schedule.Schedule, err error) (*Schedule, error) {
	if err != nil {
		return nil, public(err)
	}
	return scheduleOf(n.App, n.User, one), nil
}

func scheduleOf(app, user string, one *schedule.Schedule) *Schedule {
	s := &one.Spec
	return &Schedule{
		App: app, User: user, ID: one.ID, Description: s.Description,
		Cron: s.Cron, TimeZone: s.TimeZone, Interval: s.Interval, At: s.At, Start: s.Start, End: s.End, Paused: s.Paused,
		Message: s.Message, StateDelta: s.StateDelta, Session: s.Session, OnBusy: s.Busy, Missed: Missed(s.Missed), MissedAfter: s.Grace,
		Created: one.Created, Next: one.Next,
	}
}

func firingOf(f *schedule.Fired) *Firing {
	return &Firing{Time: f.Time, Fired: f.At, Outcome: Outcome(f.Outcome), Manual: f.Manual, Session: f.Session, Run: f.Run, Error: f.Error}
}
