package agentengine

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/session"
)

// sharedState is a session at the service without a conversation: its state is what
// the sessions of a user, or those of an application, share. The service merges the
// changes of several processes by key.
type sharedState struct {
	refs int // number of current readers and writers; guarded by Store.mu
	mu   sync.Mutex
	// wrote counts the changes of this process, at the service and then in its
	// memory.
	wrote int64
}

// sharedState returns the shared state of a name. The caller must call leave.
func (s *backend) sharedState(name string) (one *sharedState, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one = s.sharedStates[name]
	if one == nil {
		one = &sharedState{}
		s.sharedStates[name] = one
	}
	one.refs++
	return one, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if one.refs--; one.refs == 0 {
			delete(s.sharedStates, name)
		}
	}
}

// storeShared stores the changes of a delta to shared state.
func (s *backend) storeShared(ctx context.Context, key session.Key, delta session.State) error {
	for _, to := range []struct {
		scope session.Scope
		name  string
		mark  mark
		user  string
	}{
		{session.ScopeUser, userName(key), mark{Kind: kindUser, App: key.App, User: key.User}, key.User},
		{session.ScopeApp, appName(key), mark{Kind: kindApp, App: key.App}, "parley"},
	} {
		changes := of(to.scope, delta)
		if len(changes) == 0 {
			continue
		}
		if err := s.put(ctx, to.name, to.user, to.mark, texted(changes)); err != nil {
			return err
		}
	}
	return nil
}

// of returns the changes of a delta in a scope.
func of(scope session.Scope, delta session.State) session.State {
	changes := session.State{}
	for k, v := range delta {
		if session.ScopeOf(k) == scope {
			changes[k] = v
		}
	}
	return changes
}

// put changes a sharedState, and creates it if necessary.
func (s *backend) put(ctx context.Context, name, user string, about mark, changes session.State) error {
	sent := &remoteEvent{
		Author: "parley", InvocationID: "parley", Timestamp: stamp(time.Now()), Actions: &remoteActions{StateDelta: changes},
	}
	err := s.client.append(ctx, name, sent)
	if !is(err, http.StatusNotFound) {
		return err
	}
	about.Token = event.NewID()
	made := &remote{UserID: user, DisplayName: clip("state of " + about.Kind), SessionState: changes}
	made.note(about)
	if _, err = s.client.create(ctx, name, made); errors.Is(err, errTaken) { // another process has just created it
		return s.client.append(ctx, name, sent)
	}
	return err
}

// fetchShared reads shared state. The caller must call keep once, which updates the
// memory and returns the state.
func (s *backend) fetchShared(ctx context.Context, key session.Key) (keep func() session.State, err error) {
	app, leaveApp := s.sharedState(appName(key))
	user, leaveUser := s.sharedState(userName(key))
	leave := func() {
		leaveApp()
		leaveUser()
	}
	knownApp, knownUser := app.count(), user.count()
	var ofApp, ofUser session.State
	var appErr, userErr error
	var wg sync.WaitGroup
	wg.Go(func() { ofApp, appErr = s.fetch(ctx, appName(key)) })
	wg.Go(func() { ofUser, userErr = s.fetch(ctx, userName(key)) })
	wg.Wait()
	if err := errors.Join(appErr, userErr); err != nil {
		leave()
		return nil, err
	}
	return func() session.State {
		defer leave()
		app.mu.Lock()
		defer app.mu.Unlock()
		user.mu.Lock()
		defer user.mu.Unlock()
		// Changes of this process in the meantime are newer than what was read.
		known := s.Shared(key.App, key.User)
		if app.wrote != knownApp {
			ofApp = of(session.ScopeApp, known)
		}
		if user.wrote != knownUser {
			ofUser = of(session.ScopeUser, known)
		}
		s.Share(key.App, key.User, ofApp, ofUser)
		return session.State{}.Apply(session.ScopeUser, ofUser).Apply(session.ScopeApp, ofApp)
	}, nil
}

// fetch reads a sharedState.
func (s *backend) fetch(ctx context.Context, name string) (session.State, error) {
	found, err := s.client.get(ctx, name)
	if err != nil && !is(err, http.StatusNotFound) {
		return nil, err
	}
	return untexted(found.SessionState), nil
}

func (s *sharedState) count() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrote
}

// apply changes the memory after the service. If entries change shared state,
// earlier reads of it are outdated.
func (s *backend) apply(key session.Key, entries []*session.Entry, change func() error) error {
	delta := session.State{}
	for _, e := range entries {
		if ev, err := e.Decode(); err == nil {
			maps.Copy(delta, ev.Actions.StateDelta)
		}
	}
	return s.applyDelta(key, delta, change)
}

func (s *backend) applyDelta(key session.Key, delta session.State, change func() error) error {
	for _, to := range []struct {
		scope session.Scope
		name  string
	}{{session.ScopeApp, appName(key)}, {session.ScopeUser, userName(key)}} {
		if len(of(to.scope, delta)) == 0 {
			continue
		}
		one, leave := s.sharedState(to.name)
		defer leave()
		one.mu.Lock()
		defer one.mu.Unlock()
		one.wrote++
	}
	return change()
}
