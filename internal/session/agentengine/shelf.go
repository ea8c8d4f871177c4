package agentengine

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/session"
)

// shelf is a session at the service that has no conversation: its state is what
// the sessions of a user, or those of an application, share. The service merges
// what several processes put there, key by key.
type shelf struct {
	mu sync.Mutex
	// wrote counts what this process has put there, and then into its memory.
	wrote int64
}

func (s *Store) shelfOf(name string) *shelf {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.shelves[name]
	if one == nil {
		one = &shelf{}
		s.shelves[name] = one
	}
	return one
}

// shelve puts what a delta changes for others where they find it.
func (s *Store) shelve(ctx context.Context, key session.Key, delta session.State) error {
	for _, to := range []struct {
		scope session.Scope
		name  string
		mark  mark
		user  string
	}{
		{session.ScopeUser, userName(key), mark{Kind: kindUser, App: key.App, User: key.User}, key.User},
		{session.ScopeApp, appName(key), mark{Kind: kindApp, App: key.App}, "parley"},
	} {
		changes := session.State{}
		for k, v := range delta {
			if session.ScopeOf(k) == to.scope {
				changes[k] = v
			}
		}
		if len(changes) == 0 {
			continue
		}
		if err := s.put(ctx, to.name, to.user, to.mark, texted(changes)); err != nil {
			return err
		}
	}
	return nil
}

// put adds to a shelf, which is made if need be.
func (s *Store) put(ctx context.Context, name, user string, about mark, changes session.State) error {
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
	if _, err = s.client.create(ctx, name, made); errors.Is(err, errTaken) { // by another process, just now
		return s.client.append(ctx, name, sent)
	}
	return err
}

// fetchShared brings what sessions share up to date in the memory.
func (s *Store) fetchShared(ctx context.Context, key session.Key) error {
	app, user := s.shelfOf(appName(key)), s.shelfOf(userName(key))
	knownApp, knownUser := app.count(), user.count()
	var ofApp, ofUser session.State
	var appErr, userErr error
	var wg sync.WaitGroup
	wg.Go(func() { ofApp, appErr = s.fetch(ctx, appName(key)) })
	wg.Go(func() { ofUser, userErr = s.fetch(ctx, userName(key)) })
	wg.Wait()
	if err := errors.Join(appErr, userErr); err != nil {
		return err
	}
	// What this process has written meanwhile is newer than what was read.
	app.mu.Lock()
	defer app.mu.Unlock()
	user.mu.Lock()
	defer user.mu.Unlock()
	if app.wrote != knownApp {
		ofApp = nil
	}
	if user.wrote != knownUser {
		ofUser = nil
	}
	s.Share(key.App, key.User, ofApp, ofUser)
	return nil
}

// fetch reads a shelf.
func (s *Store) fetch(ctx context.Context, name string) (session.State, error) {
	found, err := s.client.get(ctx, name)
	if err != nil && !is(err, http.StatusNotFound) {
		return nil, err
	}
	return untexted(found.SessionState), nil
}

func (s *shelf) count() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrote
}

// apply changes the memory after the service, with which it may change what
// sessions share.
func (s *Store) apply(key session.Key, change func() error) error {
	app, user := s.shelfOf(appName(key)), s.shelfOf(userName(key))
	app.mu.Lock()
	defer app.mu.Unlock()
	user.mu.Lock()
	defer user.mu.Unlock()
	app.wrote++
	user.wrote++
	return change()
}
