package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/parley-run/parley/session"
)

var _ session.Outbox = (*backend)(nil)

// writeDeliveries is like write for changes that may add deliveries.
func (s *backend) writeDeliveries(ctx context.Context, do func(*conn) error) error {
	added := false
	err := s.write(ctx, func(c *conn) error {
		before := c.addedDeliveries
		err := do(c)
		added = c.addedDeliveries > before
		return err
	})
	if err == nil && added {
		select {
		case s.added <- struct{}{}:
		default: // it has one
		}
	}
	return err
}

// addDeliveries adds the deliveries about a run whose status changes.
func (c *conn) addDeliveries(ordinal int64, run string, status session.Status, trace string) error {
	query := `INSERT INTO deliveries (subscription, run, status, created, due, trace)
		SELECT number, ?2, ?3, ?4, ?4, ?5 FROM subscriptions WHERE session = ?1 ORDER BY number`
	if status != session.Running {
		query = `INSERT INTO deliveries (subscription, endpoint, session, run, status, created, due, trace)
			SELECT number, NULL, NULL, ?2, ?3, ?4, ?4, ?5 FROM subscriptions WHERE session = ?1
			UNION ALL SELECT NULL, id, ?1, ?2, ?3, ?4, ?4, ?5 FROM endpoints WHERE app = (SELECT app FROM sessions WHERE ordinal = ?1)
			ORDER BY 1`
	}
	return c.changeDeliveries(query, ordinal, run, string(status), now(), trace)
}

// addQueuedDeliveries is like addDeliveries for the queued runs of a session, which are
// about to be cancelled.
func (c *conn) addQueuedDeliveries(ordinal int64) error {
	return c.changeDeliveries(`INSERT INTO deliveries (subscription, endpoint, session, run, status, created, due)
		SELECT t.subscription, t.endpoint, t.session, runs.id, ?2, ?3, ?3 FROM runs JOIN (
			SELECT number AS subscription, NULL AS endpoint, NULL AS session FROM subscriptions WHERE session = ?1
			UNION ALL SELECT NULL, id, ?1 FROM endpoints WHERE app = (SELECT app FROM sessions WHERE ordinal = ?1)) AS t
		WHERE runs.session = ?1 AND runs.status IN ('queued', 'running') AND runs.status = 'queued'
		ORDER BY runs.number`, ordinal, string(session.Cancelled), now())
}

// changeDeliveries executes a statement that adds deliveries or makes them due.
func (c *conn) changeDeliveries(query string, args ...any) error {
	n, err := c.count(query, args...)
	c.addedDeliveries += n
	return err
}

// count is like exec, and returns the number of changed rows.
func (c *conn) count(query string, args ...any) (int64, error) {
	result, err := c.change(query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// PutSubscription implements session.Outbox.
func (s *backend) PutSubscription(ctx context.Context, sub *session.Subscription, run string) error {
	err := s.writeDeliveries(ctx, func(c *conn) error {
		if sub.Key.ID == "" {
			return c.putEndpoint(sub)
		}
		r, err := c.find(sub.Key)
		if err != nil {
			return err
		}
		err = c.exec(`INSERT INTO subscriptions (session, id, kind, label, created) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (session, id) DO UPDATE SET kind = excluded.kind, label = excluded.label`,
			r.ordinal, sub.ID, sub.Kind, sub.Label, now())
		if err != nil || run == "" {
			return err
		}
		return c.changeDeliveries(`INSERT INTO deliveries (subscription, run, status, created, due)
			SELECT subscriptions.number, runs.id, runs.status, ?4, ?4 FROM subscriptions JOIN runs ON runs.session = subscriptions.session
			WHERE subscriptions.session = ?1 AND subscriptions.id = ?2 AND runs.id = ?3 AND runs.status NOT IN ('queued', 'running')`,
			r.ordinal, sub.ID, run, now())
	})
	if err != nil {
		return fmt.Errorf("store subscription: %w", err)
	}
	return nil
}

// Subscriptions implements session.Outbox.
func (s *backend) Subscriptions(ctx context.Context, key session.Key) ([]*session.Subscription, error) {
	d := key.Digest()
	query, arg := `SELECT id, kind, label, created FROM subscriptions
		WHERE session = (SELECT ordinal FROM sessions WHERE digest = ?) ORDER BY number`, any(d[:])
	if key.ID == "" {
		query, arg = "SELECT id, kind, label, created FROM endpoints WHERE app = ? ORDER BY created, id", key.App
	}
	var list []*session.Subscription
	err := s.read(ctx, func(c *conn) error {
		list = []*session.Subscription{}
		return c.each(query, []any{arg}, func(scan func(...any) error) error {
			one := &session.Subscription{Key: key}
			var created int64
			err := scan(&one.ID, &one.Kind, &one.Label, &created)
			one.Created = moment(created)
			list = append(list, one)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list subscriptions: %w", err)
	}
	return list, nil
}

// DeleteSubscription implements session.Outbox.
func (s *backend) DeleteSubscription(ctx context.Context, key session.Key, id string) error {
	d := key.Digest()
	err := s.write(ctx, func(c *conn) error {
		if key.ID == "" {
			return c.exec("DELETE FROM endpoints WHERE app = ? AND id = ?", key.App, id)
		}
		return c.exec("DELETE FROM subscriptions WHERE session = (SELECT ordinal FROM sessions WHERE digest = ?) AND id = ?", d[:], id)
	})
	if err != nil {
		return fmt.Errorf("delete subscription: %w", err)
	}
	return nil
}

// The columns and the tables of a delivery, and of what it belongs to.
const (
	deliveryColumns = `d.number, d.run, d.status, d.trace, d.notice, d.type, d.json, d.created, coalesce(d.since, d.created), d.attempt, d.failed, d.error,
		d.endpoint IS NOT NULL, coalesce(b.id, p.id), coalesce(b.kind, p.kind), coalesce(b.label, p.label), coalesce(b.created, p.created),
		coalesce(s.app, p.app), coalesce(s.user, d.user, ''), coalesce(s.id, '')`
	deliveryTables = ` FROM deliveries AS d LEFT JOIN subscriptions AS b ON b.number = d.subscription LEFT JOIN endpoints AS p ON p.id = d.endpoint
		LEFT JOIN sessions AS s ON s.ordinal = coalesce(b.session, d.session) `
)

// deliveries reads the deliveries that the rest of a query selects.
func (c *conn) deliveries(rest string, args ...any) ([]*session.Delivery, error) {
	list := []*session.Delivery{}
	err := c.each("SELECT "+deliveryColumns+deliveryTables+rest, args, func(scan func(...any) error) error {
		d := &session.Delivery{}
		var created, since, subscribed int64
		err := scan(&d.Number, &d.Run, &d.Status, &d.Trace, &d.Notice, &d.Type, &d.JSON, &created, &since, &d.Attempt, &d.Failed, &d.Error,
			&d.All, &d.ID, &d.Kind, &d.Label, &subscribed, &d.Key.App, &d.Key.User, &d.Key.ID)
		d.At, d.Age, d.Created = moment(created), age(since), moment(subscribed)
		list = append(list, d)
		return err
	})
	return list, err
}

// due returns the deliveries that ClaimDeliveries claims.
func (c *conn) due(limit int, limits map[string]int) ([]*session.Delivery, error) {
	at := now()
	list, err := c.deliveries(`WHERE d.subscription IS NOT NULL AND d.failed = 0 AND d.due <= ? AND NOT EXISTS (
			SELECT 1 FROM deliveries AS e WHERE e.subscription = d.subscription AND e.failed = 0 AND e.number < d.number)
		ORDER BY d.due, d.number LIMIT ?`, at, limit)
	if err != nil {
		return nil, err
	}
	ends, err := c.endpoints()
	if err != nil {
		return nil, err
	}
	for _, id := range ends {
		most, ok := limits[id]
		if !ok {
			most = session.MaxClaimed
		}
		if most = min(most, limit-len(list)); most <= 0 {
			continue
		}
		more, err := c.deliveries(`WHERE d.endpoint = ? AND d.failed = 0 AND d.due <= ? AND NOT EXISTS (
				SELECT 1 FROM deliveries AS e WHERE e.session = d.session AND e.endpoint = d.endpoint AND e.failed = 0 AND e.number < d.number)
			ORDER BY d.due, d.number LIMIT ?`, id, at, most)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

// ClaimDeliveries implements session.Outbox. Most of the time there are none, which
// needs no transaction of the writer.
func (s *backend) ClaimDeliveries(ctx context.Context, lease time.Duration, limit int, limits map[string]int) ([]*session.Delivery, error) {
	limit = max(limit, 0)
	var list []*session.Delivery
	err := s.read(ctx, func(c *conn) (err error) {
		list, err = c.due(min(limit, 1), limits)
		return err
	})
	if err == nil && len(list) > 0 {
		err = s.write(ctx, func(c *conn) (err error) {
			if list, err = c.due(limit, limits); err != nil {
				return err
			}
			for _, d := range list {
				d.Attempt++
				if err := c.exec("UPDATE deliveries SET attempt = ?, due = ? WHERE number = ?", d.Attempt, now()+int64(lease), d.Number); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("claim deliveries: %w", err)
	}
	return list, nil
}

// EndDelivery implements session.Outbox.
func (s *backend) EndDelivery(ctx context.Context, d *session.Delivery) error {
	return s.deliver(ctx, "DELETE FROM deliveries WHERE number = ?", d.Number)
}

// RetryDelivery implements session.Outbox.
func (s *backend) RetryDelivery(ctx context.Context, d *session.Delivery, after time.Duration, reason string) error {
	return s.deliver(ctx, "UPDATE deliveries SET due = ?, error = ? WHERE number = ? AND attempt = ? AND failed = 0",
		now()+int64(after), reason, d.Number, d.Attempt)
}

// FailDelivery implements session.Outbox.
func (s *backend) FailDelivery(ctx context.Context, d *session.Delivery, reason string) error {
	return s.deliver(ctx, "UPDATE deliveries SET failed = 1, error = ? WHERE number = ? AND attempt = ? AND failed = 0",
		reason, d.Number, d.Attempt)
}

func (s *backend) deliver(ctx context.Context, query string, args ...any) error {
	if err := s.write(ctx, func(c *conn) error { return c.exec(query, args...) }); err != nil {
		return fmt.Errorf("change delivery: %w", err)
	}
	return nil
}

// Deliveries implements session.Outbox.
func (s *backend) Deliveries(ctx context.Context, key session.Key) ([]*session.Delivery, error) {
	d := key.Digest()
	var list []*session.Delivery
	err := s.read(ctx, func(c *conn) (err error) {
		list, err = c.deliveries("WHERE b.session = (SELECT ordinal FROM sessions WHERE digest = ?) ORDER BY d.number", d[:])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list deliveries: %w", err)
	}
	return list, nil
}

// Added implements session.Outbox.
func (s *backend) Added() <-chan struct{} { return s.added }
