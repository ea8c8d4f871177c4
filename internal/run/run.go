// Package run is the life of a turn.
//
// A run is an object of its own, kept in the store beside its session. It is
// started by a message, owns its session's log while it works, and ends
// visibly, whether or not it is read:
//
//	queued ──▶ running ──▶ completed | failed | cancelled
//	                  └──▶ waiting   (for an answer from outside; the answer
//	                                  starts a new run that resumes it, at whose
//	                                  end it is completed, and without one it
//	                                  fails after some days)
//
// At most one run of a session is running. Later messages are queued, in
// the order in which they came. While a run is worked on its worker holds the
// session's epoch, and every append carries it, so that no other process can
// write. The epoch is leased: when a process dies, another one that shares the
// store claims its runs and continues where the log ends.
//
// Everything that leaves a run is read from the log: the events in the order in
// which they were stored. Where the run is worked on there is more to see, the
// pieces of each event on the way to it. Readers come and go, early or late,
// fast or slow, on this or on another process, and the run never waits for one.
//
// Whatever ends a run, the log stays valid: calls that were open get a response
// that says what happened to them, and the session is free for the next run.
package run

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// Refusals of a request, before anything is stored.
var (
	// ErrUnknownApp means that no application has that name.
	ErrUnknownApp = errors.New("application not found")
	// ErrUnknownCall means that a function response answers no call.
	ErrUnknownCall = errors.New("no function call is waiting for this answer")
	// ErrAnswered means that the call has its final answer already.
	ErrAnswered = errors.New("the function call has been answered already")
	// ErrExpired means that the answer comes too late.
	ErrExpired = errors.New("the time to answer this function call is over")
	// ErrSeparate means that a message has answers for which no one agent can go
	// on.
	ErrSeparate = errors.New("these answers belong to different agents: send them one by one")
	// ErrClosing means that the server takes no new runs, or that it cannot
	// follow one to its end any more. Runs of a shared store go on elsewhere.
	ErrClosing = errors.New("the server is shutting down")
	// ErrCancelled means that the run was cancelled, queued or running.
	ErrCancelled = errors.New("the run was cancelled")
	// ErrUnknownEvent means that there is no event with that id to go on from.
	ErrUnknownEvent = errors.New("no such event")
	// ErrRunExists means that there is a run with the id of the request.
	ErrRunExists = errors.New("a run with this id already exists")
)

// AppError means that an application is there but does not work.
type AppError struct{ Cause error }

func (e *AppError) Error() string { return "the application does not work: " + e.Cause.Error() }
func (e *AppError) Unwrap() error { return e.Cause }

// Causes of the end of a turn that are not failures.
var (
	errShutdown = errors.New("the server was shut down")
	errOver     = errors.New("the run is over")
	errLost     = errors.New("the run has been taken over")
	errHandOver = errors.New("the run is handed over")
	errUndone   = fmt.Errorf("%w and undone", ErrCancelled)
	errCrashed  = fmt.Errorf("the run was given up: %d times, the server that worked on it ended without warning (it crashed, ran out of memory, or was killed); the message or one of the tools may be the cause", MaxDeaths)
	errAttempts = fmt.Errorf("the run was worked on %d times, and never came to an end that could be stored", MaxAttempts)
)

// Request starts a run.
type Request struct {
	// ID is the id of the run, unique among all runs; empty for a new one.
	ID      string
	Key     session.Key
	Message *event.Content
	// Stream asks for pieces of what the model says.
	Stream bool
	// SaveFiles keeps the files in the message as artifacts, and leaves only
	// their names in it.
	SaveFiles bool
	// StateDelta is applied with the message.
	StateDelta map[string]json.RawMessage
	// ArtifactDelta tells what has been saved so.
	ArtifactDelta map[string]int64
	// CustomMetadata is put on every event of the run.
	CustomMetadata map[string]json.RawMessage

	// CredentialCall is the name of the call with which the user is asked to log
	// in; empty for that of the call that the message answers, of the application,
	// or of the engine.
	CredentialCall string
	// Caller is who asks, for the limits; empty for no limits.
	Caller string
	// Busy is what happens when the session has a run already; empty means
	// session.Enqueue.
	Busy session.Policy
	// IdempotencyKey makes a repeated request the same run. Fingerprint tells
	// whether it is a repetition.
	IdempotencyKey string
	Fingerprint    string

	// Mark is for the Observer of the process that works on the run.
	Mark string
}

// storedRequest is what another process needs to do a run.
type storedRequest struct {
	Message        json.RawMessage            `json:"message"`
	Stream         bool                       `json:"stream,omitempty"`
	StateDelta     map[string]json.RawMessage `json:"stateDelta,omitempty"`
	CustomMetadata map[string]json.RawMessage `json:"customMetadata,omitempty"`
	ArtifactDelta  map[string]int64           `json:"artifactDelta,omitempty"`
	Caller         string                     `json:"caller,omitempty"`
	Mark           string                     `json:"mark,omitempty"`
	CredentialCall string                     `json:"credentialCall,omitempty"`
}

func (r *Request) encode() ([]byte, error) {
	message, err := r.Message.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return json.Marshal(storedRequest{message, r.Stream, r.StateDelta, r.CustomMetadata, r.ArtifactDelta, r.Caller, r.Mark, r.CredentialCall})
}

// decodeRequest reads what encode has written. With an error, the request is one
// that says nothing.
func decodeRequest(key session.Key, b []byte) (Request, error) {
	r := Request{Key: key, Message: &event.Content{}}
	var s storedRequest
	if err := json.Unmarshal(b, &s); err != nil {
		return r, fmt.Errorf("read the request of a run: %w", err)
	}
	r.Stream, r.StateDelta, r.CustomMetadata, r.ArtifactDelta, r.Caller, r.Mark, r.CredentialCall = s.Stream, s.StateDelta, s.CustomMetadata, s.ArtifactDelta, s.Caller, s.Mark, s.CredentialCall
	if err := r.Message.UnmarshalJSON(s.Message); err != nil {
		return r, fmt.Errorf("read the message of a run: %w", err)
	}
	return r, nil
}

// Failures by which a queued run is refused when it begins. The
// types are stored; a reader on any process makes the same error of them.
var refusals = map[string]error{
	"unknown_app":  ErrUnknownApp,
	"unknown_call": ErrUnknownCall,
	"answered":     ErrAnswered,
	WaitExpired:    ErrExpired,
	"separate":     ErrSeparate,
}

// refused is the failure of a run that was refused with err, nil if err is not a
// refusal.
func refused(err error) *session.Failure {
	if broken, ok := errors.AsType[*AppError](err); ok {
		return &session.Failure{Type: "app", Message: broken.Cause.Error()}
	}
	for kind, sentinel := range refusals {
		if errors.Is(err, sentinel) {
			return &session.Failure{Type: kind, Message: err.Error()}
		}
	}
	return nil
}

// Refusal is why the message of a run that has ended was not accepted, nil if it
// was.
func Refusal(r *session.Run) error {
	switch {
	case r.First != 0:
		return nil
	case r.Status == session.Cancelled:
		return ErrCancelled
	case r.Failure == nil:
		return nil
	case r.Failure.Type == "app":
		return &AppError{Cause: r.Failure}
	}
	if sentinel := refusals[r.Failure.Type]; sentinel != nil {
		return &laterError{sentinel, r.Failure.Message}
	}
	return nil
}

// laterError is a refusal that was stored.
type laterError struct {
	sentinel error
	message  string
}

func (e *laterError) Error() string { return e.message }
func (e *laterError) Unwrap() error { return e.sentinel }
