package parley

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/internal/redact"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/sessionrt"
	"github.com/parley-run/parley/session"
)

// Sessions gives programs access to the sessions of a server, in process. Its methods
// are safe for concurrent use. The sessions that they return are snapshots without the
// keys of the state that are secrets of tools.
type Sessions struct{ s *Server }

// Sessions gives access to the sessions of the server.
func (s *Server) Sessions() *Sessions { return &Sessions{s} }

// NewSession is a session to be created.
type NewSession struct {
	// Key names the session. An empty ID means a new one.
	Key session.Key
	// State is what it begins with, including the keys of the user (user:) and
	// of the application (app:).
	State session.State
	// Events are a history that was written elsewhere. They must be complete:
	// every function call has its response.
	Events []*event.Event
	// TTL is how long the session is kept after its last change; 0 means as
	// Config says.
	TTL time.Duration
}

// Create creates a session. ErrExists if there is one with this key.
func (a *Sessions) Create(ctx context.Context, n NewSession) (*session.Session, error) {
	n.Key.ID = cmp.Or(n.Key.ID, ident.Session())
	if err := n.Key.Check(); err != nil {
		return nil, public(err)
	}
	if n.TTL < 0 {
		return nil, public(invalid("TTL", "must not be negative"))
	}
	for name, value := range n.State {
		if sessionrt.IsNull(value) {
			return nil, public(invalid("State", fmt.Sprintf("has no value for the key %q: null deletes a key, and a new session has none", name)))
		}
	}
	events := make([]*event.Event, len(n.Events))
	for i, ev := range n.Events { // the engine completes them
		if ev == nil {
			return nil, public(invalid("Events", "has an event that is nil"))
		}
		copied := *ev
		events[i] = &copied
	}
	return shown(a.s.engine.Create(ctx, session.NewSession{Key: n.Key, State: n.State, TTL: n.TTL}, events))
}

// Get reads a session with its events; see session.Session.Events.
func (a *Sessions) Get(ctx context.Context, key session.Key) (*session.Session, error) {
	got, err := a.s.store.Get(ctx, key, session.Read{})
	return shown(got, absent(err, key, ""))
}

// List lists the sessions of a user without their events, the newest first. An
// empty page means all of them. next is the token of the page that follows, and
// empty at the end.
func (a *Sessions) List(ctx context.Context, app, user string, page session.Page) (list []*session.Session, next string, err error) {
	if err := (session.Key{App: app, User: user}).CheckOwner(); err != nil {
		return nil, "", public(err)
	}
	list, next, err = a.s.store.List(ctx, app, user, page)
	if err != nil {
		return nil, "", public(err)
	}
	if len(list) == 0 { // those of an application that is not served any more can be listed
		if err := a.served(app); err != nil {
			return nil, "", public(err)
		}
	}
	out := make([]*session.Session, len(list))
	for i, s := range list {
		out[i] = withoutSecrets(s)
	}
	return out, next, nil
}

// Patch changes the state of a session; null deletes a key. It returns the session
// as it is afterwards.
func (a *Sessions) Patch(ctx context.Context, key session.Key, delta map[string]json.RawMessage) (*session.Session, error) {
	return shown(a.s.engine.Patch(ctx, key, delta))
}

// Delete cancels the runs of a session and deletes it, with its files. Deleting
// a session that does not exist is not an error.
func (a *Sessions) Delete(ctx context.Context, key session.Key) error {
	if err := key.Check(); err != nil {
		return public(err)
	}
	return public(a.s.engine.Delete(ctx, key))
}

// Fork is a part of the history of a session: up to and including an event, or
// before an invocation, or, with neither, all of it.
type Fork struct {
	AtEvent, BeforeInvocation string
	// ID is the id of the new session. Empty means a new one.
	ID string
}

// Fork creates a session of the same user that begins with the history, the state
// and the files of another one. ErrNotFound if that has no such event.
func (a *Sessions) Fork(ctx context.Context, from session.Key, f Fork) (*session.Session, error) {
	if f.AtEvent != "" && f.BeforeInvocation != "" {
		return nil, public(invalid("Fork", "must not have both AtEvent and BeforeInvocation"))
	}
	made := session.Key{App: from.App, User: from.User, ID: cmp.Or(f.ID, ident.Session())}
	if err := errors.Join(from.Check(), made.Check()); err != nil {
		return nil, public(err)
	}
	return shown(a.s.engine.Fork(ctx, from, run.Cut{AtEvent: f.AtEvent, BeforeInvocation: f.BeforeInvocation}, made.ID))
}

// Rewind takes a session back to before an invocation: its history and its state
// are as they were then. ErrBusy while a run of the session is in progress, and
// ErrNotFound if the session has no such invocation.
func (a *Sessions) Rewind(ctx context.Context, key session.Key, invocation string) (*session.Session, error) {
	return shown(a.s.engine.Rewind(ctx, key, invocation))
}

// Runs lists the runs of a session, the newest first, as List does.
func (a *Sessions) Runs(ctx context.Context, key session.Key, page session.Page) (list []*session.Run, next string, err error) {
	list, next, err = a.s.engine.Runs(ctx, key, page)
	return list, next, public(err)
}

// served refuses an application that the server does not have.
func (a *Sessions) served(app string) error {
	if !slices.Contains(a.s.apps.Names(), app) {
		return ErrUnknownApp
	}
	return nil
}

func invalid(what, why string) error { return &session.IdentifierError{What: what, Why: why} }

// shown is a session, or an error, for a caller.
func shown(s *session.Session, err error) (*session.Session, error) {
	if err != nil {
		return nil, public(err)
	}
	return withoutSecrets(s), nil
}

// withoutSecrets is a session without the secrets of tools, which are sealed and
// mean nothing to others. The session itself is shared and stays as it is.
func withoutSecrets(s *session.Session) *session.Session {
	out := *s
	out.State = maps.Clone(redact.State(s.State))
	return &out
}
