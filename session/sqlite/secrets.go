package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/parley-run/parley/session"
)

// place is where a secret is stored: with a session, or with a user.
func (c *conn) place(id session.SecretID) (where string, args []any, ordinal any, err error) {
	if id.Session == "" {
		owner := id.Key().OwnerDigest()
		return "session IS NULL AND owner = ? AND name = ?", []any{owner[:], []byte(id.Name)}, nil, nil
	}
	r, err := c.find(id.Key())
	if err != nil {
		return "", nil, nil, err
	}
	return "session = ? AND name = ?", []any{r.ordinal, []byte(id.Name)}, r.ordinal, nil
}

// Secret implements session.Secrets.
func (s *backend) Secret(ctx context.Context, id session.SecretID) (*session.Secret, error) {
	secret := &session.Secret{SecretID: id}
	var stored int64
	err := s.read(ctx, func(c *conn) error {
		where, args, _, err := c.place(id)
		if err != nil {
			return err
		}
		return c.one("SELECT version, sealed, about, stored FROM secrets WHERE "+where, args,
			&secret.Version, &secret.Sealed, &secret.About, &stored)
	})
	if errors.Is(err, sql.ErrNoRows) || errors.Is(err, session.ErrNotFound) {
		return nil, session.ErrNoSecret
	}
	if err != nil {
		return nil, fmt.Errorf("read secret: %w", err)
	}
	secret.Age = age(stored)
	return secret, nil
}

// age returns the time since something was stored; clocks may go back.
func age(stored int64) time.Duration { return max(0, time.Duration(now()-stored)) }

// PutSecret implements session.Secrets.
func (s *backend) PutSecret(ctx context.Context, secret *session.Secret) (int64, error) {
	var version int64
	err := s.write(ctx, func(c *conn) error {
		where, args, ordinal, err := c.place(secret.SecretID)
		if err != nil {
			return err
		}
		var before int64
		err = c.one("SELECT version FROM secrets WHERE "+where, args, &before)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if before != secret.Version {
			return session.ErrChanged
		}
		if before != 0 {
			if err := c.exec("DELETE FROM secrets WHERE version = ?", before); err != nil {
				return err
			}
		}
		owner := secret.Key().OwnerDigest()
		return c.one("INSERT INTO secrets (owner, session, name, sealed, about, stored) VALUES (?, ?, ?, ?, ?, ?) RETURNING version",
			[]any{owner[:], ordinal, []byte(secret.Name), bytesOf(secret.Sealed), secret.About, now()}, &version)
	})
	if err != nil {
		return 0, fmt.Errorf("store secret: %w", err)
	}
	return version, nil
}

// bytesOf returns b, never NULL.
func bytesOf(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// DeleteSecret implements session.Secrets.
func (s *backend) DeleteSecret(ctx context.Context, id session.SecretID) error {
	err := s.write(ctx, func(c *conn) error {
		where, args, _, err := c.place(id)
		if errors.Is(err, session.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return c.exec("DELETE FROM secrets WHERE "+where, args...)
	})
	if err != nil {
		return fmt.Errorf("delete secret: %w", err)
	}
	return nil
}

// ListSecrets implements session.Secrets.
func (s *backend) ListSecrets(ctx context.Context, app, user string) ([]*session.Secret, error) {
	var list []*session.Secret
	err := s.read(ctx, func(c *conn) error {
		list = []*session.Secret{}
		owner := session.Key{App: app, User: user}.OwnerDigest()
		return c.each(`SELECT coalesce(sessions.id, ''), name, version, sealed, about, stored
			FROM secrets LEFT JOIN sessions ON ordinal = session WHERE secrets.owner = ? ORDER BY 1, 2`,
			[]any{owner[:]}, func(scan func(...any) error) error {
				secret := &session.Secret{SecretID: session.SecretID{App: app, User: user}}
				var name []byte
				var stored int64
				err := scan(&secret.Session, &name, &secret.Version, &secret.Sealed, &secret.About, &stored)
				secret.Name, secret.Age = string(name), age(stored)
				list = append(list, secret)
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	return list, nil
}

// WalkSecrets implements session.Secrets.
func (s *backend) WalkSecrets(ctx context.Context, after int64, limit int) ([]*session.Secret, error) {
	var list []*session.Secret
	err := s.read(ctx, func(c *conn) error {
		list = []*session.Secret{}
		return c.each(`SELECT coalesce(mine.app, any.app, ''), coalesce(mine.user, any.user, ''), coalesce(mine.id, ''),
				name, version, sealed, about, stored
			FROM secrets LEFT JOIN sessions AS mine ON mine.ordinal = session
			LEFT JOIN sessions AS any ON session IS NULL
				AND any.ordinal = (SELECT min(ordinal) FROM sessions WHERE sessions.owner = secrets.owner)
			WHERE version > ? ORDER BY version LIMIT ?`,
			[]any{after, limit}, func(scan func(...any) error) error {
				secret := &session.Secret{}
				var name []byte
				var stored int64
				err := scan(&secret.App, &secret.User, &secret.Session, &name, &secret.Version, &secret.Sealed, &secret.About, &stored)
				secret.Name, secret.Age = string(name), age(stored)
				list = append(list, secret)
				return err
			})
	})
	if err != nil {
		return nil, fmt.Errorf("walk secrets: %w", err)
	}
	return list, nil
}
