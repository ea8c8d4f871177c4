package parley

import (
	"errors"
	"fmt"
	"time"

	"github.com/parley-run/parley/artifact"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/schedule"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// Errors that a caller can act on. An error of a method of Server, Run, Sessions or
// Schedules wraps the one that applies, if any; test for them with errors.Is. If ctx is
// done, the error wraps its cause instead.
var (
	// ErrInvalid means that the request can never be accepted as it is: an
	// identifier, the message, the state or an event in it is not valid, or the
	// message answers a function call that is not pending.
	ErrInvalid = errors.New("invalid request")
	// ErrUnknownApp means that no application has this name.
	ErrUnknownApp = run.ErrUnknownApp
	// ErrBrokenApp means that the application exists but could not be loaded.
	ErrBrokenApp = errors.New("the application could not be loaded")
	// ErrNotFound means that the session, the run, the event or the schedule does not exist.
	ErrNotFound = errors.New("not found")
	// ErrExists means that there is a session, a run or a schedule with this id already.
	ErrExists = errors.New("already exists")
	// ErrBusy means that the session has a run already, and that the request
	// must not wait for it; see Request.OnBusy.
	ErrBusy = errors.New("the session is busy")
	// ErrLimited means that a limit refuses the request now; see RetryAfter.
	ErrLimited = errors.New("limit exceeded")
	// ErrAnswered means that the function call has its final answer already.
	ErrAnswered = run.ErrAnswered
	// ErrExpired means that the answer came too late; see SessionConfig.WaitTTL.
	ErrExpired = run.ErrExpired
	// ErrReused means that the idempotency key belongs to a different request.
	ErrReused = session.ErrReused
	// ErrWaiting means that the run waits for an answer from outside, such as a
	// confirmation or a login, where the caller needs one that has ended.
	ErrWaiting = errors.New("the run waits for an answer from outside")
	// ErrCancelled means that the run was cancelled.
	ErrCancelled = run.ErrCancelled
	// ErrFailed means that the run failed. The error also wraps a
	// *session.Failure, if one is stored, whose Type is an error code.
	ErrFailed = errors.New("the run failed")
	// ErrUnavailable means that the session store cannot be used now. The error
	// also wraps a *session.UnavailableError, which tells whether the request may
	// have been stored all the same: repeat it with the same idempotency key.
	ErrUnavailable = errors.New("the session store is unavailable")
	// ErrClosed means that the server is shutting down. With a shared store,
	// another server continues the run.
	ErrClosed = run.ErrClosing
)

// RetryAfter returns how long to wait before a request that failed with err may be
// repeated. It is 0 if the error does not say.
func RetryAfter(err error) time.Duration {
	if limited, ok := errors.AsType[*run.LimitError](err); ok {
		return limited.After
	}
	if errors.Is(err, session.ErrQueueFull) || errors.Is(err, ErrUnavailable) {
		return time.Second
	}
	return 0
}

// kindError is an error with the exported one that it is an instance of.
type kindError struct{ kind, cause error }

func (e *kindError) Error() string   { return "parley: " + e.cause.Error() }
func (e *kindError) Unwrap() []error { return []error{e.kind, e.cause} }

// public adds to an error of an internal package the exported error that it is
// an instance of.
func public(err error) error {
	if err == nil {
		return nil
	}
	return &kindError{kindOf(err), err}
}

// absentError says what does not exist, in place of the error of a store.
type absentError struct {
	text  string
	cause error
}

func (e *absentError) Error() string { return e.text }
func (e *absentError) Unwrap() error { return e.cause }

// absent names the session or the run that does not exist, if err means one. Any other
// error is returned as it is.
func absent(err error, key session.Key, runID string) error {
	switch {
	case errors.Is(err, session.ErrRunNotFound):
		return &absentError{fmt.Sprintf("there is no run %s in the session %s", runID, key.ID), err}
	case errors.Is(err, session.ErrNotFound):
		return &absentError{fmt.Sprintf("there is no session %s of the user %s with the application %s", key.ID, key.User, key.App), err}
	}
	return err
}

// kindOf is the exported error of an error, or the error itself.
func kindOf(err error) error {
	for _, k := range []struct{ cause, kind error }{
		{session.ErrNotFound, ErrNotFound},
		{session.ErrRunNotFound, ErrNotFound},
		{run.ErrUnknownEvent, ErrNotFound},
		{schedule.ErrNotFound, ErrNotFound},
		{session.ErrExists, ErrExists},
		{schedule.ErrExists, ErrExists},
		{schedule.ErrTooMany, ErrLimited},
		{schedule.ErrTooLarge, ErrLimited},
		{session.ErrRunExists, ErrExists},
		{session.ErrQueueFull, ErrLimited},
		{session.ErrBadToken, ErrInvalid},
		{run.ErrUnknownCall, ErrInvalid},
		{run.ErrSeparate, ErrInvalid},
		{artifact.ErrNotConfigured, ErrInvalid},
	} {
		if errors.Is(err, k.cause) {
			return k.kind
		}
	}
	for _, k := range []struct {
		is   func(error) bool
		kind error
	}{
		{is[*wire.Error], ErrInvalid},
		{is[*session.IdentifierError], ErrInvalid},
		{is[*run.ImportError], ErrInvalid},
		{is[*schedule.SpecError], ErrInvalid},
		{is[*artifact.NameError], ErrInvalid},
		{is[*run.AppError], ErrBrokenApp},
		{is[*session.BusyError], ErrBusy},
		{is[*run.LimitError], ErrLimited},
		{is[*session.UnavailableError], ErrUnavailable},
		{is[*run.PluginError], ErrFailed},
		{is[*session.Failure], ErrFailed},
	} {
		if k.is(err) {
			return k.kind
		}
	}
	if refused, ok := errors.AsType[*broker.AnswerError](err); ok {
		switch refused.Refusal {
		case broker.Conflicting:
			return ErrAnswered
		case broker.Unavailable:
			return ErrUnavailable
		default:
			return ErrInvalid
		}
	}
	return err
}

func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
