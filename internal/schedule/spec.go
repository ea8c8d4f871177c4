// Package schedule starts runs at times that users have chosen. When a schedule is due
// next is stored with it, by the clock of the store: of any number of servers one
// claims it, starts the run under an idempotency key with the time that it was due, and
// stores the next time.
package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // images without it are common

	"github.com/netresearch/go-cron"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// Spec says when a schedule is due, and what it starts. It is stored as JSON.
type Spec struct {
	Description string `json:"description,omitempty"`

	// One of these says when.
	Cron     string        `json:"cron,omitempty"`
	Interval time.Duration `json:"interval,omitempty"`
	At       time.Time     `json:"at,omitzero"`

	// TimeZone is that of Cron; empty means UTC.
	TimeZone string `json:"timeZone,omitempty"`
	// It is not due before Start, or after End, if they are set. Start is also the
	// first time of an interval.
	Start time.Time `json:"start,omitzero"`
	End   time.Time `json:"end,omitzero"`
	// Created is when an interval without a Start begins.
	Created time.Time `json:"created"`

	Message    *event.Content             `json:"message,omitempty"`
	StateDelta map[string]json.RawMessage `json:"stateDelta,omitempty"`
	// Session is where the runs are; empty means a new session for each.
	Session string         `json:"session,omitempty"`
	Busy    session.Policy `json:"busy,omitempty"`

	Missed Missed `json:"missed,omitempty"`
	// Grace is how late a run may start without counting as missed.
	Grace  time.Duration `json:"grace,omitempty"`
	Paused bool          `json:"paused,omitempty"`
}

// Missed is what becomes of the times that pass while no server can start a run.
type Missed string

// The policies for missed times.
const (
	Skip Missed = "skip" // nothing is started for them
	Once Missed = "once" // one run is started for all of them
	All  Missed = "all"  // a run is started for each, at most for the last 100 of the last day
)

const (
	// DefaultGrace is the Grace of a schedule that does not say.
	DefaultGrace = 10 * time.Minute
	minGrace     = time.Minute
	// allWithin and maxAll bound the policy All.
	allWithin = 24 * time.Hour
	maxAll    = 100
	// minInterval is also that of cron expressions.
	minInterval = time.Minute

	maxText = 1 << 10
)

// SpecError says what is wrong with a Spec. Field is the name of a member in the API.
type SpecError struct{ Field, Message string }

func (e *SpecError) Error() string { return e.Field + ": " + e.Message }

func wrong(field, format string, args ...any) error {
	return &SpecError{field, fmt.Sprintf(format, args...)}
}

// Answers reports whether the message answers a call, which Check refuses: who may answer
// depends on the caller, and there is none when a schedule is due.
func (s *Spec) Answers() bool { return s.Message != nil && len(s.Message.FunctionResponses()) > 0 }

// parser reads the five fields of POSIX, and names such as @daily. A day matches if it
// matches one of the two fields for days, when both are given, as in crontab.
var parser = cron.MustNewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor | cron.DowOrDom)

// Check reports what is wrong with a schedule.
func (s *Spec) Check() error {
	kinds := 0
	for _, given := range []bool{s.Cron != "", s.Interval != 0, !s.At.IsZero()} {
		if given {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return wrong("cron", "a schedule has one of cron, intervalSeconds and at")
	case len(s.Cron) > maxText:
		return wrong("cron", "must have at most %d characters", maxText)
	case len(s.Description) > maxText:
		return wrong("description", "must have at most %d bytes", maxText)
	case s.Interval != 0 && s.Interval < minInterval:
		return wrong("intervalSeconds", "must be at least %d", int(minInterval.Seconds()))
	case s.Interval%time.Second != 0:
		return wrong("intervalSeconds", "must be a whole number of seconds")
	case s.TimeZone != "" && s.Cron == "":
		return wrong("timeZone", "is for cron only: other times have their own")
	case !s.End.IsZero() && !s.Start.IsZero() && s.End.Before(s.Start):
		return wrong("endAt", "must not be before startAt")
	case s.Grace != 0 && s.Grace < minGrace:
		return wrong("missedAfterSeconds", "must be at least %d", int(minGrace.Seconds()))
	case s.Message == nil && len(s.StateDelta) == 0:
		return wrong("newMessage", "a schedule has a newMessage, a stateDelta, or both")
	case s.Message != nil && s.Message.Role != "" && s.Message.Role != event.RoleUser:
		return wrong("newMessage", `must have the role "user"`)
	case s.Message != nil && len(s.Message.Parts) == 0:
		return wrong("newMessage", "must have parts")
	case s.Message != nil && len(s.Message.FunctionCalls()) > 0:
		return wrong("newMessage", "must not have function calls, which are of agents")
	case s.Answers():
		return wrong("newMessage", "must not answer what a run waits for: a schedule sends messages, and the inbox has what waits")
	case s.Message == nil && s.Session == "":
		return wrong("sessionId", "a schedule without a newMessage changes the state of the session that it names")
	}
	switch s.Missed {
	case "", Skip, Once, All:
	default:
		return wrong("missed", "must be one of skip, once, all")
	}
	switch s.Busy {
	case "", session.Enqueue, session.Reject, session.Interrupt, session.Rollback:
	default:
		return wrong("concurrency", "must be one of enqueue, reject, interrupt, rollback")
	}
	if s.Session != "" {
		if err := session.CheckIdentifier("session id", s.Session); err != nil {
			return wrong("sessionId", "%s", strings.TrimPrefix(err.Error(), "session id "))
		}
	}
	if s.Cron == "" {
		return nil
	}
	if _, err := s.zone(); err != nil {
		return err
	}
	_, err := s.expression()
	return err
}

var errZone = errors.New("must be the name of a time zone, such as Europe/Berlin")

// zone returns the time zone of the expression.
func (s *Spec) zone() (*time.Location, error) {
	if s.TimeZone == "" {
		return time.UTC, nil
	}
	if s.TimeZone == "Local" { // of the machine, which differs among servers
		return nil, &SpecError{"timeZone", errZone.Error()}
	}
	zone, err := time.LoadLocation(s.TimeZone)
	if err != nil {
		return nil, &SpecError{"timeZone", errZone.Error()}
	}
	return zone, nil
}

func (s *Spec) expression() (cron.Schedule, error) {
	if strings.Contains(s.Cron, "=") || strings.HasPrefix(s.Cron, "@every") {
		return nil, wrong("cron", "has five fields, such as 0 9 * * MON-FRI: timeZone names the time zone, and intervalSeconds is for intervals")
	}
	parsed, err := parser.Parse(s.Cron)
	if err != nil {
		return nil, wrong("cron", "cannot be read: %v", err)
	}
	return parsed, nil
}

// After returns the first time after t at which the schedule is due, or the zero time.
// The schedule must be valid. Times have whole seconds.
func (s *Spec) After(t time.Time) time.Time {
	if before := s.Start.Add(-time.Nanosecond); !s.Start.IsZero() && t.Before(before) {
		t = before
	}
	next := s.after(t)
	if !s.End.IsZero() && next.After(s.End) {
		return time.Time{}
	}
	return next
}

func (s *Spec) after(t time.Time) time.Time {
	switch {
	case !s.At.IsZero():
		if at := s.At.Truncate(time.Second); at.After(t) {
			return at.UTC()
		}
		return time.Time{}
	case s.Interval > 0:
		first := s.Start
		if first.IsZero() {
			first = s.Created.Add(s.Interval)
		}
		first = first.Truncate(time.Second)
		if t.Before(first) {
			return first.UTC()
		}
		return t.Add(s.Interval - t.Sub(first)%s.Interval).UTC()
	}
	zone, err := s.zone()
	if err != nil {
		return time.Time{}
	}
	parsed, err := s.expression()
	if err != nil {
		return time.Time{}
	}
	found := next(s.Cron, parsed, zone, t)
	if found.IsZero() {
		return found
	}
	return found.UTC()
}

// First returns when a new or changed schedule is due, or the zero time.
func (s *Spec) First(now time.Time) time.Time {
	if s.Paused {
		return time.Time{}
	}
	return s.After(now)
}

// decision is what is done about a schedule that is due.
type decision struct {
	missed bool // nothing is started
	late   bool // the time is missed, whatever is started for it
	next   time.Time
}

// decide returns what is done about a schedule that was due at a time.
func (s *Spec) decide(due, now time.Time) decision {
	grace := s.Grace
	if grace == 0 {
		grace = DefaultGrace
	}
	if now.Sub(due) <= grace {
		return decision{next: s.After(due)}
	}
	switch s.Missed {
	case Once:
		return decision{late: true, next: s.After(now)}
	case All:
		first := due
		if now.Sub(due) > allWithin {
			first = s.After(now.Add(-allWithin))
		}
		if first = s.latest(first, now); first.Equal(due) {
			return decision{late: true, next: s.After(due)}
		}
		return decision{missed: true, late: true, next: first}
	default: // Skip
		return decision{missed: true, late: true, next: s.After(now.Add(-grace))}
	}
}

// latest returns the first of the last maxAll times from one at which the schedule is due
// until now, or that one if there are fewer.
func (s *Spec) latest(from, now time.Time) time.Time {
	var times []time.Time
	for t := from; !t.IsZero() && !t.After(now); t = s.After(t) {
		if times = append(times, t); len(times) == 2*maxAll {
			times = slices.Delete(times, 0, maxAll)
		}
	}
	if len(times) == 0 {
		return from
	}
	return times[max(0, len(times)-maxAll)]
}
