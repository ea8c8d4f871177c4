package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/session"
)

const (
	// $1 application, $2 id, $3 kind, $4 label, $5 creation, or NULL for now.
	sqlPutEndpoint = `INSERT INTO parley_endpoints AS p (app, id, kind, label, created)
		VALUES ($1::text, $2::text, $3::text, $4::text, coalesce($5::timestamptz, clock_timestamp()))
		ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, label = excluded.label WHERE p.app = excluded.app RETURNING p.created`

	sqlEndpoints = `SELECT p.id, p.kind, p.label, p.created FROM parley_endpoints p WHERE p.app = $1::text ORDER BY p.created, p.id`

	sqlAllEndpoints = `SELECT p.app, p.id, p.kind, p.label, p.created FROM parley_endpoints p`

	sqlDropEndpoint = `WITH p AS (DELETE FROM parley_endpoints WHERE app = $1::text AND id = $2::text RETURNING id)
		DELETE FROM parley_deliveries d USING p WHERE d.endpoint = p.id`

	// $1 digest of the session, or NULL; $2 application, $3 user, $4 id, $5 type, $6 run, $7 JSON. The
	// session is locked, so that its deliveries are in the order in which they are
	// committed.
	sqlPublish = `WITH s AS (SELECT ordinal FROM parley_sessions WHERE digest = $1::bytea FOR UPDATE),
		n AS (
			INSERT INTO parley_published (session, app, id, created)
			SELECT coalesce((SELECT ordinal FROM s), 0), $2::text, $4::text, clock_timestamp()
			WHERE EXISTS (SELECT FROM parley_endpoints p WHERE p.app = $2::text) AND ($1::bytea IS NULL OR EXISTS (SELECT FROM s))
			ON CONFLICT DO NOTHING RETURNING session),
		told AS (
			INSERT INTO parley_deliveries (endpoint, session, usr, run, status, notice, type, json, created, due)
			SELECT p.id, nullif(n.session, 0), $3::text, $6::text, '', $4::text, $5::text, $7::bytea, clock_timestamp(), clock_timestamp()
			FROM n, parley_endpoints p WHERE p.app = $2::text ORDER BY p.created, p.id RETURNING number)
		SELECT $1::bytea IS NULL OR EXISTS (SELECT FROM s), EXISTS (SELECT FROM told)`

	// $1 application, $2 id, $3 after, $4 limit.
	sqlAppDeliveries = `SELECT ` + deliveryColumns + ` FROM parley_deliveries d` + deliveryTables + `
		WHERE d.endpoint = $2::text AND p.app = $1::text AND d.number > $3::bigint ORDER BY d.number LIMIT $4::bigint`

	// $3 number.
	sqlReplayDelivery = `UPDATE parley_deliveries d SET due = clock_timestamp(), failed = false,
			since = CASE WHEN d.failed THEN clock_timestamp() ELSE d.since END, attempt = CASE WHEN d.failed THEN 0 ELSE d.attempt END
		FROM parley_endpoints p WHERE p.app = $1::text AND p.id = $2::text AND d.endpoint = p.id AND d.number = $3::bigint`

	// $1 application, $2 after, $3 limit. Some may be left of an endpoint that was deleted.
	sqlFailedDeliveries = `SELECT ` + deliveryColumns + ` FROM parley_deliveries d` + deliveryTables + `
		WHERE d.failed AND CASE WHEN d.endpoint IS NULL THEN s.app ELSE p.app END = $1::text AND d.number > $2::bigint
		ORDER BY d.number LIMIT $3::bigint`

	// $1 application, $2 number.
	sqlReplayFailed = `UPDATE parley_deliveries d SET due = clock_timestamp(), since = clock_timestamp(), failed = false, attempt = 0
		WHERE d.number = $2::bigint AND d.failed AND $1::text = coalesce(
			(SELECT p.app FROM parley_endpoints p WHERE p.id = d.endpoint),
			(SELECT s.app FROM parley_subscriptions b JOIN parley_sessions s ON s.ordinal = b.session WHERE b.number = d.subscription))`

	// $3 age, $4 reason.
	sqlFailDeliveries = `UPDATE parley_deliveries d SET failed = true, error = $4::text FROM parley_endpoints p
		WHERE p.app = $1::text AND p.id = $2::text AND d.endpoint = p.id AND NOT d.failed
			AND coalesce(d.since, d.created) < now() - $3::bigint * interval '1 microsecond'`

	sqlCountDeliveries = `SELECT count(*) FILTER (WHERE NOT failed), count(*) FILTER (WHERE failed) FROM parley_deliveries`
)

// putEndpoint adds or replaces a subscription of an application. Without a time of its
// creation, it sets that.
func (s *backend) putEndpoint(ctx context.Context, sub *session.Subscription) error {
	return s.write(ctx, "storing a subscription", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		err := conn.QueryRow(ctx, sqlPutEndpoint, sub.Key.App, sub.ID, sub.Kind, sub.Label, instant(sub.Created)).Scan(&sub.Created)
		if none(err) {
			return session.ErrExists
		}
		return err
	})
}

// endpoints returns the subscriptions of all applications.
func (s *backend) endpoints(ctx context.Context) (list []*session.Subscription, err error) {
	err = s.read(ctx, "listing subscriptions", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, sqlAllEndpoints)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*session.Subscription, error) {
			b := &session.Subscription{}
			return b, row.Scan(&b.Key.App, &b.ID, &b.Kind, &b.Label, &b.Created)
		})
		return err
	})
	return list, err
}

// Publish implements session.Outbox. It may be repeated.
func (s *backend) Publish(ctx context.Context, n *session.Notice) error {
	var digest []byte
	if n.Key.ID != "" {
		d := n.Key.Digest()
		digest = d[:]
	}
	var found, delivers bool
	err := s.write(ctx, "publishing a notice", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		return conn.QueryRow(ctx, sqlPublish, digest, wellFormed(n.Key.App), wellFormed(n.Key.User), wellFormed(n.ID), wellFormed(n.Type),
			wellFormed(n.Run), n.JSON).Scan(&found, &delivers)
	})
	if err == nil && !found {
		err = session.ErrNotFound
	}
	s.notifyAdded(delivers)
	return err
}

// AppDeliveries implements session.Outbox.
func (s *backend) AppDeliveries(ctx context.Context, app, id string, after int64, limit int) (list []*session.Delivery, err error) {
	err = s.read(ctx, "listing deliveries", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, sqlAppDeliveries, wellFormed(app), wellFormed(id), after, int64(max(limit, 0)))
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, scanDelivery)
		return err
	})
	return list, err
}

// ReplayDelivery implements session.Outbox.
func (s *backend) ReplayDelivery(ctx context.Context, app, id string, number int64) error {
	return s.write(ctx, "replaying a delivery", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		tag, err := conn.Exec(ctx, sqlReplayDelivery, wellFormed(app), wellFormed(id), number)
		if err == nil && tag.RowsAffected() == 0 {
			err = session.ErrNotFound
		}
		s.notifyAdded(err == nil)
		return err
	})
}

// FailedDeliveries implements session.Outbox.
func (s *backend) FailedDeliveries(ctx context.Context, app string, after int64, limit int) (list []*session.Delivery, err error) {
	err = s.read(ctx, "listing failed deliveries", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, sqlFailedDeliveries, wellFormed(app), after, int64(max(limit, 0)))
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, scanDelivery)
		return err
	})
	return list, err
}

// ReplayFailed implements session.Outbox.
func (s *backend) ReplayFailed(ctx context.Context, app string, number int64) error {
	return s.write(ctx, "replaying a failed delivery", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		tag, err := conn.Exec(ctx, sqlReplayFailed, wellFormed(app), number)
		if err == nil && tag.RowsAffected() == 0 {
			err = session.ErrNotFound
		}
		s.notifyAdded(err == nil)
		return err
	})
}

// FailDeliveries implements session.Outbox.
func (s *backend) FailDeliveries(ctx context.Context, app, id string, age time.Duration, reason string) error {
	return s.deliver(ctx, "giving up deliveries", sqlFailDeliveries, wellFormed(app), wellFormed(id), micros(age), text(reason))
}

// CountDeliveries implements session.Outbox.
func (s *backend) CountDeliveries(ctx context.Context) (pending, failed int64, err error) {
	err = s.read(ctx, "counting deliveries", func(ctx context.Context, conn *pgxpool.Conn) error {
		return conn.QueryRow(ctx, sqlCountDeliveries).Scan(&pending, &failed)
	})
	return pending, failed, err
}
