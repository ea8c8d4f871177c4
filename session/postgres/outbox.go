package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/parley-run/parley/session"
)

const (
	putDeliveries = `INSERT INTO parley_deliveries (subscription, run, status, created, due)`

	// When a run waits or ends, the endpoints of the application of a session s are notified, too.
	putEnds   = `INSERT INTO parley_deliveries (subscription, endpoint, session, run, status, created, due)`
	putTraced = `INSERT INTO parley_deliveries (subscription, endpoint, session, run, status, created, due, trace)`
	receivers = `(SELECT unnest(s.subscriptions), NULL::text, NULL::bigint
		UNION ALL SELECT NULL, p.id, s.ordinal FROM parley_endpoints p WHERE p.app = s.app) AS t`

	// $1 digest, $2 id, $3 kind, $4 label.
	sqlPutSubscription = `WITH s AS (SELECT ordinal FROM parley_sessions WHERE digest = $1 FOR UPDATE),
		b AS (
			INSERT INTO parley_subscriptions (session, id, kind, label, created)
			SELECT ordinal, $2::text, $3::text, $4::text, clock_timestamp() FROM s
			ON CONFLICT (session, id) DO UPDATE SET kind = excluded.kind, label = excluded.label
			RETURNING session, number)
		UPDATE parley_sessions s SET subscriptions = CASE WHEN b.number = ANY (s.subscriptions) THEN s.subscriptions
			ELSE s.subscriptions || b.number END
		FROM b WHERE s.ordinal = b.session RETURNING s.ordinal`

	// It follows sqlPutSubscription, so that it sees a change that was made before.
	// $1 digest, $2 id, $3 run.
	sqlTellNow = putDeliveries + ` SELECT b.number, r.id, r.status, clock_timestamp(), clock_timestamp()
		FROM parley_sessions s JOIN parley_subscriptions b ON b.session = s.ordinal JOIN parley_runs r ON r.session = s.ordinal
		WHERE s.digest = $1 AND b.id = $2::text AND r.id = $3::text AND r.status NOT IN ('queued', 'running')`

	sqlSubscriptions = `SELECT b.id, b.kind, b.label, b.created FROM parley_subscriptions b
		JOIN parley_sessions s ON s.ordinal = b.session WHERE s.digest = $1 ORDER BY b.number`

	// The session is locked before the subscription, as by those that add deliveries.
	sqlDropSubscription = `WITH s AS (SELECT ordinal FROM parley_sessions WHERE digest = $1 FOR UPDATE),
		b AS (DELETE FROM parley_subscriptions b USING s WHERE b.session = s.ordinal AND b.id = $2::text RETURNING b.session, b.number)
		UPDATE parley_sessions s SET subscriptions = array_remove(s.subscriptions, b.number) FROM b WHERE s.ordinal = b.session`

	deliveryColumns = `d.number, d.run, d.status, d.trace, d.notice, d.type, d.json, d.created, extract(epoch FROM clock_timestamp() - coalesce(d.since, d.created))::float8,
		d.attempt, d.failed, d.error, d.endpoint IS NOT NULL, coalesce(b.id, p.id), coalesce(b.kind, p.kind), coalesce(b.label, p.label),
		coalesce(b.created, p.created), coalesce(s.app, p.app), coalesce(s.usr, d.usr, ''), coalesce(s.id, '')`

	deliveryTables = ` LEFT JOIN parley_subscriptions b ON b.number = d.subscription LEFT JOIN parley_endpoints p ON p.id = d.endpoint
		LEFT JOIN parley_sessions s ON s.ordinal = coalesce(b.session, d.session) `

	// $1 lease, $2 limit, $3 ids of endpoints and $4 their limits, $5 MaxClaimed.
	sqlClaimDeliveries = `WITH c AS (
			SELECT d.number, d.due FROM parley_deliveries d
			WHERE d.subscription IS NOT NULL AND NOT d.failed AND d.due <= now() AND NOT EXISTS (
				SELECT FROM parley_deliveries e WHERE e.subscription = d.subscription AND NOT e.failed AND e.number < d.number)
			ORDER BY d.due, d.number LIMIT $2::bigint FOR UPDATE OF d SKIP LOCKED),
		w AS (
			SELECT x.number, x.due FROM parley_endpoints p CROSS JOIN LATERAL (
				SELECT d.number, d.due FROM parley_deliveries d
				WHERE d.endpoint = p.id AND NOT d.failed AND d.due <= now() AND NOT EXISTS (
					SELECT FROM parley_deliveries e WHERE e.session = d.session AND e.endpoint = d.endpoint AND NOT e.failed AND e.number < d.number)
				ORDER BY d.due, d.number
				LIMIT least($2::bigint, coalesce((SELECT r.most FROM unnest($3::text[], $4::bigint[]) AS r (id, most) WHERE r.id = p.id), $5::bigint))
				FOR UPDATE OF d SKIP LOCKED) AS x),
		l AS (SELECT a.number FROM (SELECT * FROM c UNION ALL SELECT * FROM w) AS a ORDER BY a.due, a.number LIMIT $2::bigint),
		u AS (
			UPDATE parley_deliveries d SET attempt = d.attempt + 1, due = clock_timestamp() + $1::bigint * interval '1 microsecond'
			FROM l WHERE d.number = l.number RETURNING d.*)
		SELECT ` + deliveryColumns + ` FROM u AS d` + deliveryTables

	sqlEndDelivery = `DELETE FROM parley_deliveries WHERE number = $1::bigint`

	// $1 number, $2 attempt, $3 reason, $4 the time to wait.
	sqlRetryDelivery = `UPDATE parley_deliveries SET error = $3::text, due = clock_timestamp() + $4::bigint * interval '1 microsecond'
		WHERE number = $1::bigint AND attempt = $2::integer AND NOT failed`

	sqlFailDelivery = `UPDATE parley_deliveries SET error = $3::text, failed = true
		WHERE number = $1::bigint AND attempt = $2::integer AND NOT failed`

	sqlDeliveries = `SELECT ` + deliveryColumns + ` FROM parley_deliveries d` + deliveryTables + `
		WHERE s.digest = $1 AND d.endpoint IS NULL ORDER BY d.number`

	// It also deletes what is left of endpoints that were deleted.
	sqlSweepDeliveries = `WITH p AS (DELETE FROM parley_published WHERE created < now() - $1::bigint * interval '1 microsecond')
		DELETE FROM parley_deliveries d WHERE d.failed AND coalesce(d.since, d.created) < now() - $1::bigint * interval '1 microsecond'
			OR d.endpoint IS NOT NULL AND NOT EXISTS (SELECT FROM parley_endpoints p WHERE p.id = d.endpoint)`
)

var _ session.Outbox = (*backend)(nil)

// notifyAdded reports to Added that deliveries were added.
func (s *backend) notifyAdded(added bool) {
	if !added {
		return
	}
	select {
	case s.added <- struct{}{}:
	default: // it has one
	}
}

// Added implements session.Outbox.
func (s *backend) Added() <-chan struct{} { return s.added }

// PutSubscription implements session.Outbox.
func (s *backend) PutSubscription(ctx context.Context, sub *session.Subscription, run string) error {
	if sub.Key.ID == "" {
		one := *sub
		one.Created = time.Time{}
		return s.putEndpoint(ctx, &one)
	}
	digest := sub.Key.Digest()
	return s.write(ctx, "storing a subscription", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		var ordinal int64
		err := conn.QueryRow(ctx, sqlPutSubscription, digest[:], sub.ID, sub.Kind, sub.Label).Scan(&ordinal)
		if none(err) {
			return session.ErrNotFound
		}
		if err != nil || run == "" {
			return err
		}
		tag, err := conn.Exec(ctx, sqlTellNow, digest[:], sub.ID, wellFormed(run))
		s.notifyAdded(err == nil && tag.RowsAffected() > 0)
		return err
	})
}

// Subscriptions implements session.Outbox.
func (s *backend) Subscriptions(ctx context.Context, key session.Key) (list []*session.Subscription, err error) {
	digest := key.Digest()
	sql, arg := sqlSubscriptions, any(digest[:])
	if key.ID == "" {
		sql, arg = sqlEndpoints, wellFormed(key.App)
	}
	err = s.read(ctx, "listing subscriptions", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, sql, arg)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (*session.Subscription, error) {
			b := &session.Subscription{Key: key}
			return b, row.Scan(&b.ID, &b.Kind, &b.Label, &b.Created)
		})
		return err
	})
	return list, err
}

// DeleteSubscription implements session.Outbox.
func (s *backend) DeleteSubscription(ctx context.Context, key session.Key, id string) error {
	if key.ID == "" {
		return s.deliver(ctx, "deleting a subscription", sqlDropEndpoint, wellFormed(key.App), wellFormed(id))
	}
	digest := key.Digest()
	return s.deliver(ctx, "deleting a subscription", sqlDropSubscription, digest[:], wellFormed(id))
}

func scanDelivery(row pgx.CollectableRow) (*session.Delivery, error) {
	d := &session.Delivery{}
	var status string
	var seconds float64
	err := row.Scan(&d.Number, &d.Run, &status, &d.Trace, &d.Notice, &d.Type, &d.JSON, &d.At, &seconds, &d.Attempt, &d.Failed, &d.Error,
		&d.All, &d.ID, &d.Kind, &d.Label, &d.Created, &d.Key.App, &d.Key.User, &d.Key.ID)
	d.Status, d.Age = session.Status(status), time.Duration(max(seconds, 0)*float64(time.Second))
	return d, err
}

// ClaimDeliveries implements session.Outbox. If the response is lost, the deliveries
// are claimed again when the lease has expired.
func (s *backend) ClaimDeliveries(ctx context.Context, lease time.Duration, limit int, limits map[string]int) (list []*session.Delivery, err error) {
	ids, most := []string{}, []int64{}
	for id, n := range limits {
		ids, most = append(ids, wellFormed(id)), append(most, int64(max(n, 0)))
	}
	err = s.write(ctx, "claiming deliveries", func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		rows, err := conn.Query(ctx, sqlClaimDeliveries, micros(lease), int64(max(limit, 0)), ids, most, int64(session.MaxClaimed))
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, scanDelivery)
		return err
	})
	return list, err
}

// EndDelivery implements session.Outbox.
func (s *backend) EndDelivery(ctx context.Context, d *session.Delivery) error {
	return s.deliver(ctx, "ending a delivery", sqlEndDelivery, d.Number)
}

// RetryDelivery implements session.Outbox.
func (s *backend) RetryDelivery(ctx context.Context, d *session.Delivery, after time.Duration, reason string) error {
	return s.deliver(ctx, "delaying a delivery", sqlRetryDelivery, d.Number, d.Attempt, text(reason), micros(after))
}

// FailDelivery implements session.Outbox.
func (s *backend) FailDelivery(ctx context.Context, d *session.Delivery, reason string) error {
	return s.deliver(ctx, "giving up a delivery", sqlFailDelivery, d.Number, d.Attempt, text(reason))
}

// SweepDeliveries implements session.Outbox.
func (s *backend) SweepDeliveries(ctx context.Context, age time.Duration) error {
	return s.deliver(ctx, "deleting old deliveries", sqlSweepDeliveries, micros(age))
}

// text returns a text as it can be stored.
func text(s string) string { return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "") }

// deliver makes a change that may be repeated.
func (s *backend) deliver(ctx context.Context, what, sql string, args ...any) error {
	return s.write(ctx, what, func(ctx context.Context, conn *pgxpool.Conn, _ bool) error {
		_, err := conn.Exec(ctx, sql, args...)
		return err
	})
}

// Deliveries implements session.Outbox.
func (s *backend) Deliveries(ctx context.Context, key session.Key) (list []*session.Delivery, err error) {
	digest := key.Digest()
	err = s.read(ctx, "listing deliveries", func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, sqlDeliveries, digest[:])
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, scanDelivery)
		return err
	})
	return list, err
}
