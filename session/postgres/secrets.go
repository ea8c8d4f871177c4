package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/session"
)

const (
	// secretPlace is the session of a secret: 0 for none ($2 is NULL then), no row
	// if it does not exist. It cannot be deleted in the meantime.
	secretPlace = `place AS (
		SELECT 0::bigint AS ordinal WHERE $2::bytea IS NULL
		UNION ALL SELECT s.ordinal FROM (SELECT ordinal FROM parley_sessions WHERE digest = $2::bytea FOR SHARE) AS s)`

	secretAge = `extract(epoch FROM clock_timestamp() - x.stored)::float8`

	// $1 owner, $2 digest of the session or NULL, $3 name.
	sqlSecret = `SELECT x.version, x.nonce, x.sealed, x.about, ` + secretAge + ` FROM parley_secrets x
		WHERE x.owner = $1::bytea AND x.digest = sha256($3::bytea) AND x.session =
			CASE WHEN $2::bytea IS NULL THEN 0 ELSE (SELECT ordinal FROM parley_sessions WHERE digest = $2::bytea) END`

	// $4 sealed, $5 about, $6 nonce, $7 the version to replace.
	sqlNewSecret = `WITH ` + secretPlace + `
		INSERT INTO parley_secrets (owner, session, name, version, nonce, sealed, about, stored)
		SELECT $1::bytea, ordinal, $3::bytea, nextval('parley_numbers'), $6::bigint, $4::bytea, $5::bytea, clock_timestamp()
		FROM place WHERE $7::bigint = 0 ON CONFLICT DO NOTHING RETURNING version`

	sqlNextSecret = `WITH ` + secretPlace + `
		UPDATE parley_secrets x SET version = nextval('parley_numbers'), nonce = $6::bigint, sealed = $4::bytea, about = $5::bytea, stored = clock_timestamp()
		FROM place WHERE x.owner = $1::bytea AND x.session = place.ordinal AND x.digest = sha256($3::bytea) AND x.version = $7::bigint
		RETURNING x.version`

	sqlDropSecret = `DELETE FROM parley_secrets x
		WHERE x.owner = $1::bytea AND x.digest = sha256($3::bytea) AND x.session =
			CASE WHEN $2::bytea IS NULL THEN 0 ELSE (SELECT ordinal FROM parley_sessions WHERE digest = $2::bytea) END`

	sqlSecrets = `SELECT coalesce(s.id, ''), x.name, x.version, x.sealed, x.about, ` + secretAge + `
		FROM parley_secrets x LEFT JOIN parley_sessions s ON s.ordinal = x.session
		WHERE x.owner = $1::bytea AND (x.session = 0 OR s.ordinal IS NOT NULL) ORDER BY coalesce(s.id, '') COLLATE "C", x.name`

	// $1 the version to continue after, $2 limit.
	sqlAllSecrets = `SELECT coalesce(s.app, u.app, ''), coalesce(s.usr, u.usr, ''), coalesce(s.id, ''),
			x.name, x.version, x.sealed, x.about, ` + secretAge + `
		FROM parley_secrets x LEFT JOIN parley_sessions s ON s.ordinal = x.session
		LEFT JOIN LATERAL (SELECT app, usr FROM parley_sessions WHERE owner = x.owner AND x.session = 0 LIMIT 1) u ON true
		WHERE x.version > $1 AND (x.session = 0 OR s.ordinal IS NOT NULL) ORDER BY x.version LIMIT $2`
)

// secretArgs returns the first three parameters.
func secretArgs(id session.SecretID) []any {
	owner := id.Key().OwnerDigest()
	args := []any{owner[:], nil, []byte(id.Name)}
	if id.Session != "" {
		digest := id.Key().Digest()
		args[1] = digest[:]
	}
	return args
}

// Secret implements session.Secrets.
func (s *backend) Secret(ctx context.Context, id session.SecretID) (*session.Secret, error) {
	var secret *session.Secret
	err := s.read(ctx, "reading a secret", func(ctx context.Context, conn *pgxpool.Conn) (err error) {
		secret, _, err = readSecret(ctx, conn, id)
		return err
	})
	return secret, err
}

func readSecret(ctx context.Context, conn *pgxpool.Conn, id session.SecretID) (secret *session.Secret, mark int64, err error) {
	secret = &session.Secret{SecretID: id}
	var seconds float64
	err = conn.QueryRow(ctx, sqlSecret, secretArgs(id)...).Scan(&secret.Version, &mark, &secret.Sealed, &secret.About, &seconds)
	if none(err) {
		return nil, 0, session.ErrNoSecret
	}
	secret.Age = time.Duration(max(seconds, 0) * float64(time.Second))
	return secret, mark, err
}

// PutSecret implements session.Secrets.
func (s *backend) PutSecret(ctx context.Context, secret *session.Secret) (int64, error) {
	mark := nonceOf(ctx)
	sealed := secret.Sealed
	if sealed == nil {
		sealed = []byte{}
	}
	statement := sqlNewSecret
	if secret.Version != 0 {
		statement = sqlNextSecret
	}
	var version int64
	err := s.write(ctx, "storing a secret", func(ctx context.Context, conn *pgxpool.Conn, again bool) error {
		done := func() bool { // an earlier attempt has taken effect
			if !again {
				return false
			}
			there, theirs, err := readSecret(ctx, conn, secret.SecretID)
			if err != nil || theirs != mark {
				return false
			}
			version = there.Version
			return true
		}
		if done() {
			return nil
		}
		put := func(db querier) error {
			return db.QueryRow(ctx, statement, append(secretArgs(secret.SecretID), sealed, secret.About, mark, secret.Version)...).Scan(&version)
		}
		var err error
		if secret.Session == "" && secret.Version == 0 { // nothing else shows that the user is in this database
			err = transact(ctx, conn, func(tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, sqlShareSlot, slotLock, slotOf(secret.Key())); err != nil {
					return err
				}
				if err := elsewhere(ctx, tx, secret.Key()); err != nil {
					return err
				}
				return put(tx)
			})
		} else {
			err = put(conn)
		}
		if !none(err) {
			return err
		}
		if done() { // it was not over before, and the statement has waited for it
			return nil
		}
		if secret.Session == "" {
			return session.ErrChanged
		}
		digest := secret.Key().Digest()
		var ordinal int64
		if err := conn.QueryRow(ctx, `SELECT ordinal FROM parley_sessions WHERE digest = $1`, digest[:]).Scan(&ordinal); none(err) {
			return session.ErrNotFound
		} else if err != nil {
			return err
		}
		return session.ErrChanged
	})
	return version, err
}

// DeleteSecret implements session.Secrets.
func (s *backend) DeleteSecret(ctx context.Context, id session.SecretID) error {
	return s.write(ctx, "deleting a secret", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		_, err := conn.Exec(ctx, sqlDropSecret, secretArgs(id)...)
		return err
	})
}

// ListSecrets implements session.Secrets.
func (s *backend) ListSecrets(ctx context.Context, app, user string) ([]*session.Secret, error) {
	var list []*session.Secret
	owner := session.Key{App: app, User: user}.OwnerDigest()
	err := s.read(ctx, "listing secrets", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, sqlSecrets, owner[:])
		if err != nil {
			return err
		}
		list = []*session.Secret{}
		secret := session.Secret{SecretID: session.SecretID{App: app, User: user}}
		var name []byte
		var seconds float64
		_, err = pgx.ForEachRow(rows, []any{&secret.Session, &name, &secret.Version, &secret.Sealed, &secret.About, &seconds}, func() error {
			one := secret
			one.Name, one.Age = string(name), time.Duration(max(seconds, 0)*float64(time.Second))
			list = append(list, &one)
			secret.Sealed, secret.About = nil, nil
			return nil
		})
		return err
	})
	return list, err
}

// WalkSecrets implements session.Secrets.
func (s *backend) WalkSecrets(ctx context.Context, after int64, limit int) ([]*session.Secret, error) {
	var list []*session.Secret
	err := s.read(ctx, "walking secrets", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, sqlAllSecrets, after, limit)
		if err != nil {
			return err
		}
		list = []*session.Secret{}
		var secret session.Secret
		var name []byte
		var seconds float64
		into := []any{&secret.App, &secret.User, &secret.Session, &name, &secret.Version, &secret.Sealed, &secret.About, &seconds}
		_, err = pgx.ForEachRow(rows, into, func() error {
			one := secret
			one.Name, one.Age = string(name), time.Duration(max(seconds, 0)*float64(time.Second))
			list = append(list, &one)
			secret.Sealed, secret.About = nil, nil
			return nil
		})
		return err
	})
	return list, err
}
