package broker

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

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
	value, _, err := b.KeptVersion(ctx, id)
	return value, err
}

// Drop deletes the value that Keep has stored.
func (b *Broker) Drop(ctx context.Context, id session.SecretID) error { return b.remove(ctx, id) }

// KeptVersion is like Kept, and returns the version for KeepVersion.
func (b *Broker) KeptVersion(ctx context.Context, id session.SecretID) (value []byte, version int64, err error) {
	s, at, err := load[sealed](ctx, b, id)
	switch {
	case err != nil:
		return nil, 0, err
	case s == nil && at.version != 0:
		return nil, 0, vault.ErrSealed
	case s == nil:
		return nil, 0, session.ErrNoSecret
	}
	return s.Value, at.version, nil
}

// KeepVersion is like Keep, but fails with session.ErrChanged if the stored value has
// another version; 0 means that there is none.
func (b *Broker) KeepVersion(ctx context.Context, id session.SecretID, version int64, value []byte) error {
	return b.save(ctx, id, mark{version: version}, &sealed{value})
}

// KeptNames returns the names of the values of a user without a session that begin with prefix.
func (b *Broker) KeptNames(ctx context.Context, app, user, prefix string) ([]string, error) {
	list, err := b.secrets.ListSecrets(ctx, app, user)
	if err != nil {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	var names []string
	for _, s := range list {
		if s.Session == "" && strings.HasPrefix(s.Name, prefix) {
			names = append(names, s.Name)
		}
	}
	return names, nil
}
