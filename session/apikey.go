package session

import (
	"context"
	"errors"
	"time"
)

// ErrNoAPIKey means that there is no API key with that id.
var ErrNoAPIKey = errors.New("there is no such API key")

// APIKey is a stored key with which callers authenticate, without the key itself.
type APIKey struct {
	ID     string // the part of the key that is not secret
	Hash   []byte // of the whole key
	Name   string // a description of its purpose
	User   string // the user that it acts as; empty for none
	Scopes []string
	// Created, Expires and Used are times. A zero Expires means never, a zero Used
	// not yet.
	Created, Expires, Used time.Time
}

// APIKeys is the part of a Store that stores API keys.
type APIKeys interface {
	// PutAPIKey adds a key. It fails with ErrExists if the id is taken.
	PutAPIKey(ctx context.Context, key *APIKey) error

	// APIKey returns a key. It fails with ErrNoAPIKey if there is none.
	APIKey(ctx context.Context, id string) (*APIKey, error)

	// ListAPIKeys returns all keys, oldest first.
	ListAPIKeys(ctx context.Context) ([]*APIKey, error)

	// DeleteAPIKey deletes a key. It fails with ErrNoAPIKey if there is none.
	DeleteAPIKey(ctx context.Context, id string) error

	// UseAPIKey records when a key was last used. It has no effect if a later time
	// is recorded, or the key does not exist.
	UseAPIKey(ctx context.Context, id string, at time.Time) error
}
