package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Ready reports why nothing can be stored now.
func (s *backend) Ready(ctx context.Context) error {
	if err := s.db.Check(ctx); err != nil {
		return err
	}
	return s.writes.Check(ctx)
}

// reach makes a connection of its own: those of the pool may be dead, and not
// know it.
func (s *backend) reach(ctx context.Context) error {
	return s.apart(ctx, func(conn *pgx.Conn) error { return conn.Ping(ctx) })
}

// probe writes something, and removes it.
func (s *backend) probe(ctx context.Context) error {
	return s.apart(ctx, func(conn *pgx.Conn) error {
		mark := nonce()
		b := &pgx.Batch{} // which is one transaction
		b.Queue(`INSERT INTO parley_tries (nonce, made) VALUES ($1::bigint, clock_timestamp())`, mark)
		b.Queue(`DELETE FROM parley_tries WHERE nonce = $1::bigint`, mark)
		return conn.SendBatch(ctx, b).Close()
	})
}

// apart calls f with a connection that is not the pool's.
func (s *backend) apart(ctx context.Context, f func(*pgx.Conn) error) error {
	conn, err := pgx.ConnectConfig(ctx, s.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	return f(conn)
}
