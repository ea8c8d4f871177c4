package session

import (
	"context"
	"errors"
	"time"
)

// ErrNoAPIKey means that there is no API key with that id.
var ErrNoAPIKey = errors.New("there is no such API key")

// APIKey is a key with which callers authenticate, as it is stored: without the key
// itself.
type APIKey struct {
	ID     string // the part of the key that is not secret
	Hash   []byte // of the whole key
	Name   string // what it is for, in words
	User   string // the user that it acts for; empty for none
	Scopes []string
	// Created, Expires and Used are moments; a zero Expires is never, a zero
	// Used is not yet.
	Created, Expires, Used time.Time
}

// APIKeys is the part of a Store that keeps API keys.
type APIKeys interface {
	// PutAPIKey adds a key. ErrExists when its id is taken.
	PutAPIKey(ctx context.Context, key *APIKey) error

	// APIKey finds a key. ErrNoAPIKey when there is none.
	APIKey(ctx context.Context, id string) (*APIKey, error)

	// ListAPIKeys lists all keys, the oldest first.
	ListAPIKeys(ctx context.Context) ([]*APIKey, error)

	// DeleteAPIKey removes a key. ErrNoAPIKey when there is none.
	DeleteAPIKey(ctx context.Context, id string) error

	// UseAPIKey notes when a key was used last. It does nothing when a later
	// time is known, or the key is gone.
	UseAPIKey(ctx context.Context, id string, at time.Time) error
}
