package session

import (
	"context"
	"errors"
	"time"
)

// Errors of Secrets that callers act on.
var (
	ErrNoSecret = errors.New("there is no such secret")
	// ErrChanged means that the secret to replace has another version.
	ErrChanged = errors.New("the secret has been changed by another caller")
)

// SecretID identifies a secret of a user. It belongs to one session, and is deleted
// with it, or, if Session is empty, to all sessions of the user.
type SecretID struct {
	App, User, Session string
	Name               string
}

// Key returns the session that the secret belongs to, if any.
func (id SecretID) Key() Key { return Key{App: id.App, User: id.User, ID: id.Session} }

// Secret is a value that is stored for a user and never shown. It is not part of a
// session that is read, listed, forked or exported.
type Secret struct {
	SecretID
	// Version counts how often the secret was stored; 0 if it is not stored.
	Version int64
	// Sealed is encrypted. A store does not interpret it.
	Sealed []byte
	// About is JSON that may be shown to the user.
	About []byte
	// Age is the time since it was stored, by the clock of the store.
	Age time.Duration
}

// Secrets is the part of a Store that stores secrets.
type Secrets interface {
	// Secret returns a secret. It fails with ErrNoSecret if there is none.
	Secret(ctx context.Context, id SecretID) (*Secret, error)

	// PutSecret stores a secret if the stored one has the version of s (0: if there
	// is none), and returns the new version. A version is never assigned twice for
	// one id. It fails with ErrChanged if the version differs, and with ErrNotFound
	// if the session of the secret does not exist.
	PutSecret(ctx context.Context, s *Secret) (version int64, err error)

	// DeleteSecret deletes a secret. Deleting one that does not exist is not an
	// error.
	DeleteSecret(ctx context.Context, id SecretID) error

	// ListSecrets returns the secrets of a user, including those of sessions,
	// ordered by session and name.
	ListSecrets(ctx context.Context, app, user string) ([]*Secret, error)

	// WalkSecrets returns all secrets in the order of their versions: at most limit
	// of those after a version. App and User of a secret without a Session are set
	// as long as the user has a session, and empty otherwise.
	WalkSecrets(ctx context.Context, after int64, limit int) ([]*Secret, error)
}
