package postgres

import (
	"bytes"
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/session"
)

var _ session.APIKeys = (*backend)(nil)

const (
	sqlPutAPIKey = `INSERT INTO parley_api_keys (id, hash, name, usr, scopes, created, expires, used)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`
	sqlAPIKeys   = `SELECT id, hash, name, usr, scopes, created, expires, used FROM parley_api_keys `
	sqlUseAPIKey = `UPDATE parley_api_keys SET used = greatest(used, $2::timestamptz) WHERE id = $1`
)

// moment returns a time as it is stored; zero is null.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// PutAPIKey implements session.APIKeys.
func (s *backend) PutAPIKey(ctx context.Context, key *session.APIKey) error {
	hash, scopes := key.Hash, key.Scopes
	if hash == nil {
		hash = []byte{}
	}
	if scopes == nil {
		scopes = []string{}
	}
	return s.write(ctx, "storing an API key", func(ctx context.Context, conn *pgxpool.Conn, again bool) error {
		tag, err := conn.Exec(ctx, sqlPutAPIKey, key.ID, hash, key.Name, key.User, scopes, key.Created, moment(key.Expires), moment(key.Used))
		if err != nil || tag.RowsAffected() == 1 {
			return err
		}
		if again { // an earlier attempt may have added it
			if found, err := apiKeys(ctx, conn, "WHERE id = $1", key.ID); err != nil || len(found) == 1 && bytes.Equal(found[0].Hash, hash) {
				return err
			}
		}
		return session.ErrExists
	})
}

// APIKey implements session.APIKeys.
func (s *backend) APIKey(ctx context.Context, id string) (key *session.APIKey, err error) {
	err = s.read(ctx, "reading an API key", func(ctx context.Context, conn *pgxpool.Conn) error {
		found, err := apiKeys(ctx, conn, "WHERE id = $1", id)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return session.ErrNoAPIKey
		}
		key = found[0]
		return nil
	})
	return key, err
}

// ListAPIKeys implements session.APIKeys.
func (s *backend) ListAPIKeys(ctx context.Context) (list []*session.APIKey, err error) {
	err = s.read(ctx, "listing API keys", func(ctx context.Context, conn *pgxpool.Conn) (err error) {
		list, err = apiKeys(ctx, conn, "ORDER BY number")
		return err
	})
	return list, err
}

func apiKeys(ctx context.Context, conn *pgxpool.Conn, which string, args ...any) ([]*session.APIKey, error) {
	rows, err := conn.Query(ctx, sqlAPIKeys+which, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (*session.APIKey, error) {
		key := &session.APIKey{}
		var expires, used *time.Time
		err := row.Scan(&key.ID, &key.Hash, &key.Name, &key.User, &key.Scopes, &key.Created, &expires, &used)
		if expires != nil {
			key.Expires = *expires
		}
		if used != nil {
			key.Used = *used
		}
		return key, err
	})
}

// DeleteAPIKey implements session.APIKeys.
func (s *backend) DeleteAPIKey(ctx context.Context, id string) error {
	return s.write(ctx, "deleting an API key", func(ctx context.Context, conn *pgxpool.Conn, again bool) error {
		tag, err := conn.Exec(ctx, `DELETE FROM parley_api_keys WHERE id = $1`, id)
		if err == nil && tag.RowsAffected() == 0 && !again {
			err = session.ErrNoAPIKey
		}
		return err
	})
}

// UseAPIKey implements session.APIKeys.
func (s *backend) UseAPIKey(ctx context.Context, id string, at time.Time) error {
	return s.write(ctx, "noting the use of an API key", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		_, err := conn.Exec(ctx, sqlUseAPIKey, id, at)
		return err
	})
}
