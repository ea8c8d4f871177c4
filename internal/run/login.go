package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/run/stream"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

// Logins is the part of the credential broker that runs need.
type Logins interface {
	// For returns the credentials for the calls of one run of a session.
	For(key session.Key) Credentials
	// Receive checks a user's answer to a request, stores its secrets, and returns
	// what the log may contain of it.
	Receive(ctx context.Context, key session.Key, requestID string, asked *credential.Config, answer json.RawMessage) (json.RawMessage, error)
	// Complete completes a login with the received answer. It is idempotent.
	Complete(ctx context.Context, key session.Key, requestID string, asked *credential.Config) error
}

// Credentials gives access to the logins and the secrets of one run.
type Credentials interface {
	agentrt.Credentials
	stream.Secrets
	// ScrubFile returns a file without the secrets that the run has received.
	ScrubFile(content io.Reader) io.Reader
}

// loginFailed is the error code of the last event of a run whose login failed.
const loginFailed = "CREDENTIAL_EXCHANGE_FAILED"

var errNoBroker = errors.New("this server takes no logins")

// redeemLogins passes the answers to login requests to the broker, and keeps of
// them what may be stored.
func (a *admission) redeemLogins(ctx context.Context) error {
	e, req := a.engine, a.req
	if !answersLogin(req.Message) {
		return nil
	}
	if e.cfg.Logins == nil {
		return errNoBroker
	}
	log, err := a.log(ctx)
	if err != nil {
		return err
	}
	req.Message = addressed(log, req.Message)
	_, err = answers(log, req.Message)
	// The run that this request repeats has the answer. The store knows whether it
	// exists; if not, the answer is refused with the same error.
	repeated := errors.Is(err, ErrAnswered) && req.IdempotencyKey != ""
	if err != nil && !repeated {
		return err
	}
	message := *req.Message // do not change the caller's value
	message.Parts = nil
	for _, p := range req.Message.Parts {
		r := p.FunctionResponse
		if r == nil || !tool.IsCredentialCall(r.Name) {
			message.Parts = append(message.Parts, p)
			continue
		}
		shown, name := json.RawMessage("{}"), r.Name
		if !repeated {
			call, err := callOf(log, r)
			if err != nil {
				return err
			}
			// Answers are accepted under both names, and stored under that of the
			// call.
			name = call.Name
			req.CredentialCall = cmp.Or(req.CredentialCall, name)
			asked, err := tool.AskedConfig(call)
			if err != nil {
				return err
			}
			answer := r.Response
			if string(answer) == "{}" { // the answer came through the callback
				answer = append(wire.Quote([]byte(`{"credentialKey":`), asked.Key()), '}')
			}
			if shown, err = e.cfg.Logins.Receive(ctx, req.Key, r.ID, asked, answer); err != nil {
				return err
			}
		}
		part, response := *p, *r
		response.Name, response.Response = name, shown
		part.FunctionResponse = &response
		message.Parts = append(message.Parts, &part)
	}
	req.Message = &message
	return nil
}

// addressed returns a message whose answers to logins have the ids of the calls
// that requested them. Some clients send the id of the call that waits for the
// login.
func addressed(l *log, message *event.Content) *event.Content {
	out := message // do not change the caller's value
	for i, p := range message.Parts {
		r := p.FunctionResponse
		if r == nil || !tool.IsCredentialCall(r.Name) {
			continue
		}
		id := askedBy(l, r.ID)
		if id == r.ID {
			continue
		}
		if out == message {
			other := *message
			other.Parts = slices.Clone(message.Parts)
			out = &other
		}
		part, response := *p, *r
		response.ID = id
		part.FunctionResponse = &response
		out.Parts[i] = &part
	}
	return out
}

// askedBy returns the id of the last call that requested a login for the waiting
// call id, or id itself if there is none.
func askedBy(l *log, id string) string {
	for i := l.Len() - 1; i >= 0; i-- {
		for _, call := range l.At(i).FunctionCalls() {
			switch {
			case call.ID == id:
				return id
			case tool.IsCredentialCall(call.Name) && agentrt.WaitingCall(call) == id:
				return call.ID
			}
		}
	}
	return id
}

func answersLogin(m *event.Content) bool {
	for _, r := range m.FunctionResponses() {
		if tool.IsCredentialCall(r.Name) {
			return true
		}
	}
	return false
}

// completeLogins completes the logins that the message of the run has answered. A
// failure becomes an event of the run, and the user may try again.
func (t *turn) completeLogins(ctx context.Context, l *log) error {
	if t.engine.cfg.Logins == nil || !answersLogin(t.req.Message) {
		return nil
	}
	if f := t.failedLogin(l); f != nil {
		return f // it was reported before the run was taken over
	}
	for _, r := range t.req.Message.FunctionResponses() {
		if !tool.IsCredentialCall(r.Name) {
			continue
		}
		asked, author := askedLogin(l, r.ID)
		if asked == nil {
			continue
		}
		if err := t.engine.cfg.Logins.Complete(ctx, t.req.Key, r.ID, asked); err != nil {
			if cause := context.Cause(t.ctx); cause != nil {
				return cause
			}
			t.observeLogin(LoginFailed)
			f := &agentrt.Failure{Code: loginFailed, Message: err.Error()}
			if err := t.emit(&event.Event{Author: author, ErrorCode: f.Code, ErrorMessage: f.Message}); err != nil {
				return err
			}
			return f
		}
		t.observeLogin(LoginCompleted)
	}
	return nil
}

// failedLogin returns the failure that the run has already reported, or nil.
func (t *turn) failedLogin(l *log) error {
	for i := l.Len() - 1; i >= 0; i-- {
		ev := l.At(i)
		if ev.InvocationID != t.id {
			continue
		}
		if ev.ErrorCode == loginFailed {
			return &agentrt.Failure{Code: ev.ErrorCode, Message: ev.ErrorMessage}
		}
		if ev.Author == event.User {
			break
		}
	}
	return nil
}

// askedLogin returns the login of a request in the log, and the agent that made it.
func askedLogin(l *log, id string) (*credential.Config, string) {
	for i := l.Len() - 1; i >= 0; i-- {
		ev := l.At(i)
		for _, call := range ev.FunctionCalls() {
			if call.ID == id {
				asked, err := tool.AskedConfig(call)
				if err != nil {
					return nil, ""
				}
				return asked, ev.Author
			}
		}
	}
	return nil, ""
}
