package session

import (
	"context"
	"errors"
	"time"
)

// Failures that callers of Secrets act on.
var (
	ErrNoSecret = errors.New("there is no such secret")
	// ErrChanged refuses to replace a secret that the caller has not seen.
	ErrChanged = errors.New("the secret has been changed by another caller")
)

// SecretID names a secret of a user. It belongs to one session, and goes with
// it, or, with an empty Session, to all sessions of the user.
type SecretID struct {
	App, User, Session string
	Name               string
}

// Key is the session that the secret belongs to, if it does to one.
func (id SecretID) Key() Key { return Key{App: id.App, User: id.User, ID: id.Session} }

// Secret is something that is kept for a user and never shown. It is not part of
// a session that is read, listed, forked or exported.
type Secret struct {
	SecretID
	// Version counts how often the secret was stored, 0 for one that is not.
	Version int64
	// Sealed is encrypted. A store does not look at it.
	Sealed []byte
	// About is JSON that may be shown to the user.
	About []byte
	// Age is how long ago it was stored, by the clock of the store.
	Age time.Duration
}

// Secrets is the part of a Store that keeps secrets.
type Secrets interface {
	// Secret finds a secret. ErrNoSecret when there is none.
	Secret(ctx context.Context, id SecretID) (*Secret, error)

	// PutSecret stores a secret, if the one that is there has the version of s
	// (0: if there is none), and returns the version that it has then. A
	// version is never given out twice for one id. ErrChanged otherwise;
	// ErrNotFound for one of a session that is not there.
	PutSecret(ctx context.Context, s *Secret) (version int64, err error)

	// DeleteSecret removes a secret. Removing one that does not exist is not an
	// error.
	DeleteSecret(ctx context.Context, id SecretID) error

	// ListSecrets lists the secrets of a user, those of sessions included,
	// ordered by session and name.
	ListSecrets(ctx context.Context, app, user string) ([]*Secret, error)

	// WalkSecrets lists all secrets, in the order of their versions: at most limit
	// of those after a version. App and User of a secret without a Session are
	// known as long as the user has a session, and empty otherwise.
	WalkSecrets(ctx context.Context, after int64, limit int) ([]*Secret, error)
}
