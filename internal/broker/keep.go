package broker

import (
	"context"
	"encoding/json"

	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/session"
)

// sealed is a value that the server keeps for a user.
type sealed struct {
	Value json.RawMessage `json:"value"`
}

func (*sealed) about() about { return about{} }

// Keep seals a JSON value, and stores it in place of the one before, with the logins: it is sealed again with them when
// the key changes, and is deleted with its session. The name must not be that of a login.
func (b *Broker) Keep(ctx context.Context, id session.SecretID, value []byte) error {
	return b.replace(ctx, id, &sealed{value})
}

// Kept returns the value that Keep has stored. It returns session.ErrNoSecret if there is none, and vault.ErrSealed if it
// cannot be opened.
func (b *Broker) Kept(ctx context.Context, id session.SecretID) ([]byte, error) {
	s, at, err := load[sealed](ctx, b, id)
	switch {
	case err != nil:
		return nil, err
	case s == nil && at.version != 0:
		return nil, vault.ErrSealed
	case s == nil:
		return nil, session.ErrNoSecret
	}
	return s.Value, nil
}

// Drop deletes the value that Keep has stored.
func (b *Broker) Drop(ctx context.Context, id session.SecretID) error { return b.remove(ctx, id) }
