package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/parley-run/parley/internal/retry"
	"github.com/parley-run/parley/session"
)

// The lock of a login is a secret, too: whoever puts it has it. It is not
// deleted when it is released, since a delete might hit the lock of somebody
// else; it is put over with the word that it is free, which fails in that case.
var (
	lockHeld = []byte("held")
	lockFree = []byte("free")
)

// lockPrefix is what the names of locks begin with.
const lockPrefix = "lock/"

// How long to wait before a lock is looked at again.
const (
	firstPause   = 10 * time.Millisecond
	longestPause = 250 * time.Millisecond
)

// lock waits until nobody else, here or in another process, has the lock, and
// takes it. It returns a context for the work, which ends before the lock does
// and does not end when the caller gives up: what a provider has handed out has
// to be stored.
func (b *Broker) lock(ctx context.Context, id session.SecretID) (work context.Context, release func(), err error) {
	leave, err := b.turns.wait(ctx, string(bind(id)))
	if err != nil {
		return nil, nil, err
	}
	version, err := b.take(ctx, id)
	if err != nil {
		leave()
		return nil, nil, err
	}
	detached := context.WithoutCancel(ctx)
	work, cancel := context.WithTimeout(detached, b.lockLife*3/4)
	return work, func() {
		cancel()
		last, cancel := context.WithTimeout(detached, b.lockLife/4)
		defer cancel()
		_, err := b.secrets.PutSecret(last, &session.Secret{SecretID: id, Version: version, Sealed: lockFree, About: []byte("{}")})
		if err != nil && !errors.Is(err, session.ErrChanged) && !errors.Is(err, session.ErrNotFound) {
			b.log.WarnContext(last, "The lock of a login was not released; it ends by itself", "app", id.App, "err", err)
		}
		leave()
	}, nil
}

// take takes the lock in the store.
func (b *Broker) take(ctx context.Context, id session.SecretID) (version int64, err error) {
	for backoff := (retry.Backoff{Wait: firstPause, Max: longestPause}); ; {
		s, err := b.secrets.Secret(ctx, id)
		switch {
		case errors.Is(err, session.ErrNoSecret):
			s = &session.Secret{Sealed: lockFree}
		case err != nil:
			return 0, fmt.Errorf("lock login: %w", err)
		}
		if string(s.Sealed) == string(lockFree) || s.Age > b.lockLife {
			version, err := b.secrets.PutSecret(ctx, &session.Secret{SecretID: id, Version: s.Version, Sealed: lockHeld, About: []byte("{}")})
			if err == nil {
				return version, nil
			}
			if !errors.Is(err, session.ErrChanged) {
				return 0, fmt.Errorf("lock login: %w", err)
			}
		}
		if err := retry.Sleep(ctx, backoff.Next()); err != nil {
			return 0, err
		}
	}
}

// turns lets goroutines that want the same thing have it one after the other.
type turns struct {
	mu sync.Mutex
	of map[string]*turn
}

type turn struct {
	token chan struct{} // whoever has put something in has the turn
	users int           // who have it or wait for it
}

// wait waits for the turn. The caller leaves when it is done.
func (t *turns) wait(ctx context.Context, name string) (leave func(), err error) {
	t.mu.Lock()
	mine := t.of[name]
	if mine == nil {
		if t.of == nil {
			t.of = map[string]*turn{}
		}
		mine = &turn{token: make(chan struct{}, 1)}
		t.of[name] = mine
	}
	mine.users++
	t.mu.Unlock()
	gone := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if mine.users--; mine.users == 0 {
			delete(t.of, name)
		}
	}
	select {
	case mine.token <- struct{}{}:
		return func() { <-mine.token; gone() }, nil
	case <-ctx.Done():
		gone()
		return nil, ctx.Err()
	}
}
