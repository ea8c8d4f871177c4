package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-run/parley/session"
)

// putEndpoint adds or replaces a subscription of an application.
func (c *conn) putEndpoint(sub *session.Subscription) error {
	n, err := c.count(`INSERT INTO endpoints (id, app, kind, label, created) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, label = excluded.label WHERE app = excluded.app`,
		sub.ID, sub.Key.App, sub.Kind, sub.Label, now())
	if err == nil && n == 0 {
		err = session.ErrExists
	}
	return err
}

// endpoints returns the ids of the subscriptions of applications with deliveries.
func (c *conn) endpoints() (ids []string, err error) {
	err = c.each(`SELECT id FROM endpoints AS p WHERE EXISTS (SELECT 1 FROM deliveries AS d WHERE d.endpoint = p.id AND d.failed = 0)
		ORDER BY (SELECT min(due) FROM deliveries AS d WHERE d.endpoint = p.id AND d.failed = 0)`, nil, func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, err
}

// Publish implements session.Outbox.
func (s *backend) Publish(ctx context.Context, n *session.Notice) error {
	err := s.writeDeliveries(ctx, func(c *conn) error {
		var about int64
		if n.Key.ID != "" {
			r, err := c.find(n.Key)
			if err != nil {
				return err
			}
			about = r.ordinal
		}
		added, err := c.count(`INSERT INTO published (session, app, id, created) SELECT ?1, ?2, ?3, ?4
			WHERE EXISTS (SELECT 1 FROM endpoints WHERE app = ?2) ON CONFLICT DO NOTHING`, about, n.Key.App, n.ID, now())
		if err != nil || added == 0 {
			return err
		}
		return c.changeDeliveries(`INSERT INTO deliveries (endpoint, session, user, run, status, notice, type, json, created, due)
			SELECT id, nullif(?1, 0), ?3, ?4, '', ?5, ?6, ?7, ?8, ?8 FROM endpoints WHERE app = ?2 ORDER BY created, id`,
			about, n.Key.App, n.Key.User, n.Run, n.ID, n.Type, n.JSON, now())
	})
	if err != nil {
		return fmt.Errorf("publish a notice: %w", err)
	}
	return nil
}

// AppDeliveries implements session.Outbox.
func (s *backend) AppDeliveries(ctx context.Context, app, id string, after int64, limit int) ([]*session.Delivery, error) {
	var list []*session.Delivery
	err := s.read(ctx, func(c *conn) (err error) {
		list, err = c.deliveries("WHERE d.endpoint = ? AND p.app = ? AND d.number > ? ORDER BY d.number LIMIT ?", id, app, after, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	return list, nil
}

// ReplayDelivery implements session.Outbox.
func (s *backend) ReplayDelivery(ctx context.Context, app, id string, number int64) error {
	err := s.writeDeliveries(ctx, func(c *conn) error {
		before := c.addedDeliveries
		err := c.changeDeliveries(`UPDATE deliveries SET due = ?1, failed = 0, since = iif(failed, ?1, since), attempt = iif(failed, 0, attempt)
			WHERE number = ?2 AND endpoint = (SELECT id FROM endpoints WHERE id = ?3 AND app = ?4)`, now(), number, id, app)
		if err == nil && c.addedDeliveries == before {
			err = session.ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("replay a delivery: %w", err)
	}
	return nil
}

// FailedDeliveries implements session.Outbox.
func (s *backend) FailedDeliveries(ctx context.Context, app string, after int64, limit int) ([]*session.Delivery, error) {
	var list []*session.Delivery
	err := s.read(ctx, func(c *conn) (err error) {
		list, err = c.deliveries("WHERE d.failed = 1 AND coalesce(s.app, p.app) = ? AND d.number > ? ORDER BY d.number LIMIT ?", app, after, max(limit, 0))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list failed deliveries: %w", err)
	}
	return list, nil
}

// ReplayFailed implements session.Outbox.
func (s *backend) ReplayFailed(ctx context.Context, app string, number int64) error {
	err := s.writeDeliveries(ctx, func(c *conn) error {
		before := c.addedDeliveries
		err := c.changeDeliveries(`UPDATE deliveries SET due = ?1, since = ?1, failed = 0, attempt = 0 WHERE number = ?2 AND failed = 1 AND ?3 = coalesce(
			(SELECT app FROM endpoints WHERE id = endpoint),
			(SELECT s.app FROM subscriptions AS b JOIN sessions AS s ON s.ordinal = b.session WHERE b.number = subscription))`, now(), number, app)
		if err == nil && c.addedDeliveries == before {
			err = session.ErrNotFound
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("replay a failed delivery: %w", err)
	}
	return nil
}

// FailDeliveries implements session.Outbox.
func (s *backend) FailDeliveries(ctx context.Context, app, id string, age time.Duration, reason string) error {
	return s.deliver(ctx, `UPDATE deliveries SET failed = 1, error = ? WHERE failed = 0 AND coalesce(since, created) < ?
		AND endpoint = (SELECT id FROM endpoints WHERE id = ? AND app = ?)`, reason, now()-int64(age), id, app)
}

// CountDeliveries implements session.Outbox.
func (s *backend) CountDeliveries(ctx context.Context) (pending, failed int64, err error) {
	err = s.read(ctx, func(c *conn) error {
		return c.one("SELECT (SELECT count(*) FROM deliveries WHERE failed = 0), (SELECT count(*) FROM deliveries WHERE failed = 1)", nil, &pending, &failed)
	})
	if err != nil {
		return 0, 0, fmt.Errorf("count deliveries: %w", err)
	}
	return pending, failed, nil
}

// SweepDeliveries implements session.Outbox.
func (s *backend) SweepDeliveries(ctx context.Context, age time.Duration) error {
	before := now() - int64(age)
	err := s.deliver(ctx, "DELETE FROM deliveries WHERE failed = 1 AND coalesce(since, created) < ?", before)
	if err == nil {
		err = s.deliver(ctx, "DELETE FROM published WHERE created < ?", before)
	}
	return err
}
