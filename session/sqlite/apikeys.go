package sqlite

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/parley-run/parley/session"
)

var _ session.APIKeys = (*backend)(nil)

// stamp returns a time as it is stored; zero is 0.
func stamp(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return nanos(t)
}

// PutAPIKey implements session.APIKeys.
func (s *backend) PutAPIKey(ctx context.Context, key *session.APIKey) error {
	err := s.write(ctx, func(c *conn) error {
		result, err := c.change(`INSERT INTO api_keys (id, hash, name, user, scopes, created, expires, used)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
			key.ID, bytesOf(key.Hash), key.Name, key.User, strings.Join(key.Scopes, " "), stamp(key.Created), stamp(key.Expires), stamp(key.Used))
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 1 {
			return err
		}
		return session.ErrExists
	})
	if err != nil {
		return fmt.Errorf("store API key: %w", err)
	}
	return nil
}

// APIKey implements session.APIKeys.
func (s *backend) APIKey(ctx context.Context, id string) (*session.APIKey, error) {
	list, err := s.apiKeys(ctx, "WHERE id = ?", id)
	if err != nil {
		return nil, fmt.Errorf("read API key: %w", err)
	}
	if len(list) == 0 {
		return nil, session.ErrNoAPIKey
	}
	return list[0], nil
}

// ListAPIKeys implements session.APIKeys.
func (s *backend) ListAPIKeys(ctx context.Context) ([]*session.APIKey, error) {
	list, err := s.apiKeys(ctx, "ORDER BY number")
	if err != nil {
		return nil, fmt.Errorf("list API keys: %w", err)
	}
	return list, nil
}

func (s *backend) apiKeys(ctx context.Context, which string, args ...any) (list []*session.APIKey, err error) {
	err = s.read(ctx, func(c *conn) error {
		list = []*session.APIKey{}
		return c.each("SELECT id, hash, name, user, scopes, created, expires, used FROM api_keys "+which, args, func(scan func(...any) error) error {
			key := &session.APIKey{}
			var scopes string
			var created, expires, used int64
			err := scan(&key.ID, &key.Hash, &key.Name, &key.User, &scopes, &created, &expires, &used)
			key.Scopes = strings.Fields(scopes)
			key.Created, key.Expires, key.Used = moment(created), moment(expires), moment(used)
			list = append(list, key)
			return err
		})
	})
	return list, err
}

// DeleteAPIKey implements session.APIKeys.
func (s *backend) DeleteAPIKey(ctx context.Context, id string) error {
	err := s.write(ctx, func(c *conn) error {
		result, err := c.change("DELETE FROM api_keys WHERE id = ?", id)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 1 {
			return err
		}
		return session.ErrNoAPIKey
	})
	if err != nil {
		return fmt.Errorf("delete API key: %w", err)
	}
	return nil
}

// UseAPIKey implements session.APIKeys.
func (s *backend) UseAPIKey(ctx context.Context, id string, at time.Time) error {
	err := s.write(ctx, func(c *conn) error {
		return c.exec("UPDATE api_keys SET used = max(used, ?) WHERE id = ?", stamp(at), id)
	})
	if err != nil {
		return fmt.Errorf("note the use of an API key: %w", err)
	}
	return nil
}
