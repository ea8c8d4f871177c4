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

// The lock of a login is a secret, too: the process that puts it holds the lock. Release does not delete it, since that
// might delete the lock of another process; it replaces the value by lockFree, which fails in that case.
var (
	lockHeld = []byte("held")
	lockFree = []byte("free")
)

// lockPrefix begins the names of locks.
const lockPrefix = "lock/"

// Pauses between attempts to take a lock.
const (
	firstPause   = 10 * time.Millisecond
	longestPause = 250 * time.Millisecond
)

// lock waits until no other goroutine or process holds the lock, and takes it. It returns a context for the work, which
// ends before the lock expires and does not end with that of the caller: tokens that a provider has issued must be
// stored.
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
			b.log.WarnContext(last, "failed to release the lock of a login; it expires", "app", id.App, "err", err)
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

// turns serializes goroutines by name.
type turns struct {
	mu sync.Mutex
	of map[string]*turn
}

type turn struct {
	token chan struct{} // held by the goroutine that has sent a value
	users int           // goroutines that hold it or wait for it
}

// wait waits for the turn. The caller must call leave when it is done.
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
