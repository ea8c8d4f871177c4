// Package run executes runs, from the request to the last event.
//
// A run is an object of its own, stored next to its session. A message starts it.
// It owns the session's log while it is active, and its end is stored, whether or
// not a client reads it:
//
//	queued ──▶ running ──▶ completed | failed | cancelled
//	                  └──▶ waiting   (for an answer from outside; the answer
//	                                  starts a new run that resumes it, at whose
//	                                  end it is completed, and without one it
//	                                  fails after some days)
//
// At most one run of a session is running. Later messages are queued in order of
// arrival. The server that works on a run holds the session's epoch, and every
// append carries it, so that no other process can write. The epoch is leased: when
// a process dies, another one that shares the store claims its runs and continues
// where the log ends.
//
// All output of a run is read from the log: the events in the order in which they
// were stored. The server that works on the run also has the partial events that
// precede each of them. Readers may start and stop at any time, at any speed, on
// any server, and the run never waits for one.
//
// However a run ends, the log stays valid: open calls get a response that says
// what happened to them, and the session is free for the next run.
package run

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// Errors of a request that is refused before anything is stored.
var (
	// ErrUnknownApp means that no application has that name.
	ErrUnknownApp = errors.New("application not found")
	// ErrUnknownCall means that no call waits for a function response.
	ErrUnknownCall = errors.New("no function call is waiting for this answer")
	// ErrAnswered means that the call already has its final answer.
	ErrAnswered = errors.New("the function call has been answered already")
	// ErrExpired means that the answer is too late.
	ErrExpired = errors.New("the time to answer this function call is over")
	// ErrSeparate means that no single agent can continue with all answers of a
	// message.
	ErrSeparate = errors.New("these answers belong to different agents: send them one by one")
	// ErrClosing means that the server does not accept new runs, or can no longer
	// follow one to its end. Runs in a shared store continue on another server.
	ErrClosing = errors.New("the server is shutting down")
	// ErrCancelled means that the run was cancelled, queued or running.
	ErrCancelled = errors.New("the run was cancelled")
	// ErrUnknownEvent means that there is no event with the given id to continue
	// from.
	ErrUnknownEvent = errors.New("no such event")
)

// AppError means that an application exists but does not work.
type AppError struct{ Cause error }

func (e *AppError) Error() string { return "the application does not work: " + e.Cause.Error() }
func (e *AppError) Unwrap() error { return e.Cause }

// Causes of the end of a turn that are not failures.
const (
	errLost     = agentrt.Moved("the run has been taken over")
	errHandOver = agentrt.Moved("the run is handed over")
)

var (
	errShutdown = errors.New("the server was shut down")
	errOver     = errors.New("the run is over")
	errUndone   = fmt.Errorf("%w and undone", ErrCancelled)
	errCrashed  = fmt.Errorf("the run was given up: %d times, the server that worked on it ended without warning (it crashed, ran out of memory, or was killed); the message or one of the tools may be the cause", MaxDeaths)
	errAttempts = fmt.Errorf("the run was worked on %d times, and never came to an end that could be stored", MaxAttempts)
)

// Request starts a run.
type Request struct {
	// ID is the id of the run, unique among all runs; empty means a new one.
	ID      string
	Key     session.Key
	Message *event.Content
	// Stream requests partial events.
	Stream bool
	// SaveFiles stores the files in the message as artifacts, and replaces them by
	// their names.
	SaveFiles bool
	// StateDelta is applied with the message.
	StateDelta map[string]json.RawMessage
	// ArtifactDelta lists the artifacts that were saved this way.
	ArtifactDelta map[string]int64
	// CustomMetadata is added to every event of the run.
	CustomMetadata map[string]json.RawMessage
	// MessageID is the id of the event with the message; empty means a new one. The
	// caller makes sure that no event of the session has it.
	MessageID string
	// MessageMetadata is added to the event with the message.
	MessageMetadata map[string]json.RawMessage
	// Tools are offered to the models of the run in addition to those of the agents.
	// The client makes the calls: they wait like those of long-running tools.
	Tools []tool.Declaration
	// Call is made in place of an answer to the message; nil if models answer. The
	// message says for people what it is.
	Call *agentrt.ToolCall

	// CredentialCall is the name of the call that asks the user to log in; empty
	// means that of the answered call, of the application, or of the engine.
	CredentialCall string
	// Caller identifies the caller for limits; empty means no limits.
	Caller string
	// Busy is the policy for a session that already has a run; empty means
	// session.Enqueue.
	Busy session.Policy
	// IdempotencyKey makes a repeated request return the same run. Fingerprint
	// detects a different request with the same key.
	IdempotencyKey string
	Fingerprint    string

	// Mark is for the Observer of the process that executes the run.
	Mark string
}

// storedRequest is what another process needs to execute a run.
type storedRequest struct {
	Message         json.RawMessage            `json:"message"`
	Stream          bool                       `json:"stream,omitempty"`
	StateDelta      map[string]json.RawMessage `json:"stateDelta,omitempty"`
	CustomMetadata  map[string]json.RawMessage `json:"customMetadata,omitempty"`
	ArtifactDelta   map[string]int64           `json:"artifactDelta,omitempty"`
	Caller          string                     `json:"caller,omitempty"`
	Mark            string                     `json:"mark,omitempty"`
	CredentialCall  string                     `json:"credentialCall,omitempty"`
	MessageID       string                     `json:"messageId,omitempty"`
	MessageMetadata map[string]json.RawMessage `json:"messageMetadata,omitempty"`
	Tools           []storedTool               `json:"tools,omitempty"`
	Call            *storedCall                `json:"call,omitempty"`
}

// storedCall is a call that the client makes of a tool of an agent.
type storedCall struct {
	Agent string          `json:"agent"`
	Tool  string          `json:"tool"`
	Args  json.RawMessage `json:"args"`
}

// storedTool is a tool of the client.
type storedTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

func (r *Request) encode() ([]byte, error) {
	message, err := r.Message.MarshalJSON()
	if err != nil {
		return nil, err
	}
	s := storedRequest{
		Message: message, Stream: r.Stream, StateDelta: r.StateDelta, CustomMetadata: r.CustomMetadata, ArtifactDelta: r.ArtifactDelta,
		Caller: r.Caller, Mark: r.Mark, CredentialCall: r.CredentialCall, MessageID: r.MessageID, MessageMetadata: r.MessageMetadata,
	}
	for _, t := range r.Tools {
		s.Tools = append(s.Tools, storedTool{t.Name, t.Description, t.Parameters})
	}
	if r.Call != nil {
		s.Call = (*storedCall)(r.Call)
	}
	return json.Marshal(s)
}

// decodeRequest decodes the result of encode. If it fails, it returns an empty
// request.
func decodeRequest(key session.Key, b []byte) (Request, error) {
	r := Request{Key: key, Message: &event.Content{}}
	var s storedRequest
	if err := json.Unmarshal(b, &s); err != nil {
		return r, fmt.Errorf("read the request of a run: %w", err)
	}
	r.Stream, r.StateDelta, r.CustomMetadata, r.ArtifactDelta = s.Stream, s.StateDelta, s.CustomMetadata, s.ArtifactDelta
	r.Caller, r.Mark, r.CredentialCall, r.MessageID, r.MessageMetadata = s.Caller, s.Mark, s.CredentialCall, s.MessageID, s.MessageMetadata
	for _, t := range s.Tools {
		r.Tools = append(r.Tools, tool.Declaration{Name: t.Name, Description: t.Description, Parameters: t.Parameters})
	}
	r.Call = (*agentrt.ToolCall)(s.Call)
	if err := r.Message.UnmarshalJSON(s.Message); err != nil {
		return r, fmt.Errorf("read the message of a run: %w", err)
	}
	return r, nil
}

// Failures with which a queued run is refused when it begins. The types are stored;
// a reader on any process converts them back to errors.
var refusals = map[string]error{
	"unknown_app":  ErrUnknownApp,
	"unknown_call": ErrUnknownCall,
	"answered":     ErrAnswered,
	WaitExpired:    ErrExpired,
	"separate":     ErrSeparate,
}

// refused returns the failure of a run that was refused with err, or nil if err is
// not a refusal.
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

// Refusal returns the reason why the message of an ended run was not accepted, or
// nil if it was.
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
