package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Ready implements session.Upkeep.
func (s *backend) Ready(ctx context.Context) error {
	if err := s.db.Check(ctx); err != nil {
		return err
	}
	return s.writes.Check(ctx)
}

// reach opens a separate connection: those of the pool may be dead without being
// detected. If there are too many, the database responds, and those of the pool do.
func (s *backend) reach(ctx context.Context) error {
	err := s.apart(ctx, func(conn *pgx.Conn) error { return conn.Ping(ctx) })
	if tooManyConnections(err) && s.pool.Stat().TotalConns() > 0 {
		return nil
	}
	return err
}

// probe writes a row, and deletes it.
func (s *backend) probe(ctx context.Context) error {
	err := s.apart(ctx, func(conn *pgx.Conn) error { return touch(ctx, conn) })
	if tooManyConnections(err) {
		err = s.with(ctx, func(ctx context.Context, conn *pgxpool.Conn) error { return touch(ctx, conn) })
	}
	if tooManyConnections(err) && s.writes.Outage() == nil && s.pool.Stat().TotalConns() > 0 {
		return nil // those of the pool are in use
	}
	return err
}

// touch commits a change that has no effect.
func touch(ctx context.Context, conn batcher) error {
	mark := nonce()
	b := &pgx.Batch{} // which is one transaction
	b.Queue(`INSERT INTO parley_tries (nonce, made) VALUES ($1::bigint, clock_timestamp())`, mark)
	b.Queue(`DELETE FROM parley_tries WHERE nonce = $1::bigint`, mark)
	return conn.SendBatch(ctx, b).Close()
}

// apart calls f with a connection that does not belong to the pool.
func (s *backend) apart(ctx context.Context, f func(*pgx.Conn) error) error {
	conn, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	return f(conn)
}
