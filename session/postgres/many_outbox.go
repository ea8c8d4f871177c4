package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/parley-run/parley/session"
)

// The subscriptions of a session are in its database. Those of an application are in all
// databases, so that each adds their deliveries in the transactions of its runs. Notices
// about no session are in the first one.

// shareEndpoints copies the subscriptions of applications to databases that do not have
// them, because they are new, or because they could not be used.
func (m *many) shareEndpoints(ctx context.Context) error {
	list, err := m.members[0].endpoints(ctx)
	if err != nil {
		return err
	}
	kept := map[string]bool{}
	for _, one := range list {
		kept[one.ID] = true
	}
	for _, s := range m.members[1:] {
		there, err := s.endpoints(ctx)
		if err != nil {
			return err
		}
		for _, one := range list {
			if err := s.putEndpoint(ctx, one); err != nil {
				return err
			}
		}
		for _, one := range there {
			if kept[one.ID] {
				continue
			}
			if err := s.DeleteSubscription(ctx, one.Key, one.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

// PutSubscription implements session.Outbox. The first database decides.
func (m *many) PutSubscription(ctx context.Context, sub *session.Subscription, run string) error {
	if sub.Key.ID != "" {
		return do(ctx, m, sub.Key, failure(session.ErrNotFound), func(ctx context.Context, s *backend) error { return s.PutSubscription(ctx, sub, run) })
	}
	one := *sub
	one.Created = time.Time{}
	for _, s := range m.members {
		if err := s.putEndpoint(ctx, &one); err != nil {
			return err
		}
	}
	return nil
}

// Subscriptions implements session.Outbox.
func (m *many) Subscriptions(ctx context.Context, key session.Key) ([]*session.Subscription, error) {
	if key.ID == "" {
		return m.members[0].Subscriptions(ctx, key)
	}
	return route(ctx, m, key, empty[*session.Subscription], func(ctx context.Context, s *backend) ([]*session.Subscription, error) {
		return s.Subscriptions(ctx, key)
	})
}

// DeleteSubscription implements session.Outbox. What it leaves if a database cannot be used
// is deleted when a server opens the databases.
func (m *many) DeleteSubscription(ctx context.Context, key session.Key, id string) error {
	if key.ID == "" {
		for _, s := range m.members {
			if err := s.DeleteSubscription(ctx, key, id); err != nil {
				return err
			}
		}
		return nil
	}
	return do(ctx, m, key, always, func(ctx context.Context, s *backend) error { return s.DeleteSubscription(ctx, key, id) })
}

// Publish implements session.Outbox.
func (m *many) Publish(ctx context.Context, n *session.Notice) error {
	if n.Key.ID == "" {
		return m.members[0].Publish(ctx, n)
	}
	return do(ctx, m, n.Key, failure(session.ErrNotFound), func(ctx context.Context, s *backend) error { return s.Publish(ctx, n) })
}

// Deliveries implements session.Outbox.
func (m *many) Deliveries(ctx context.Context, key session.Key) ([]*session.Delivery, error) {
	return route(ctx, m, key, empty[*session.Delivery], func(ctx context.Context, s *backend) ([]*session.Delivery, error) { return s.Deliveries(ctx, key) })
}

// AppDeliveries implements session.Outbox.
func (m *many) AppDeliveries(ctx context.Context, app, id string, after int64, limit int) ([]*session.Delivery, error) {
	return m.deliveries(ctx, limit, func(ctx context.Context, s *backend) ([]*session.Delivery, error) {
		return s.AppDeliveries(ctx, app, id, after, limit)
	})
}

// deliveries returns the first ones of those that the databases return.
func (m *many) deliveries(ctx context.Context, limit int, list func(context.Context, *backend) ([]*session.Delivery, error)) ([]*session.Delivery, error) {
	lists, err := every(ctx, m, list)
	all := []*session.Delivery{}
	for _, one := range lists {
		all = append(all, one.value...)
	}
	slices.SortFunc(all, func(a, b *session.Delivery) int { return cmp.Compare(a.Number, b.Number) })
	return all[:min(len(all), max(limit, 0))], err
}

// ReplayDelivery implements session.Outbox.
func (m *many) ReplayDelivery(ctx context.Context, app, id string, number int64) error {
	return m.replay(ctx, func(ctx context.Context, s *backend) error { return s.ReplayDelivery(ctx, app, id, number) })
}

// FailedDeliveries implements session.Outbox.
func (m *many) FailedDeliveries(ctx context.Context, app string, after int64, limit int) ([]*session.Delivery, error) {
	return m.deliveries(ctx, limit, func(ctx context.Context, s *backend) ([]*session.Delivery, error) {
		return s.FailedDeliveries(ctx, app, after, limit)
	})
}

// ReplayFailed implements session.Outbox.
func (m *many) ReplayFailed(ctx context.Context, app string, number int64) error {
	return m.replay(ctx, func(ctx context.Context, s *backend) error { return s.ReplayFailed(ctx, app, number) })
}

// replay makes a delivery due in the database that has it.
func (m *many) replay(ctx context.Context, in func(context.Context, *backend) error) error {
	found, err := every(ctx, m, func(ctx context.Context, s *backend) (bool, error) {
		err := in(ctx, s)
		if errors.Is(err, session.ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	})
	if err == nil && !slices.ContainsFunc(found, func(one answer[bool]) bool { return one.value }) {
		err = session.ErrNotFound
	}
	return err
}

// change changes a delivery in the database that has it.
func (m *many) change(ctx context.Context, d *session.Delivery, f func(context.Context, *backend) error) error {
	if d.All && d.Key.ID == "" {
		return f(ctx, m.members[0])
	}
	return do(ctx, m, d.Key, always, f)
}

// EndDelivery implements session.Outbox.
func (m *many) EndDelivery(ctx context.Context, d *session.Delivery) error {
	return m.change(ctx, d, func(ctx context.Context, s *backend) error { return s.EndDelivery(ctx, d) })
}

// RetryDelivery implements session.Outbox.
func (m *many) RetryDelivery(ctx context.Context, d *session.Delivery, after time.Duration, reason string) error {
	return m.change(ctx, d, func(ctx context.Context, s *backend) error { return s.RetryDelivery(ctx, d, after, reason) })
}

// FailDelivery implements session.Outbox.
func (m *many) FailDelivery(ctx context.Context, d *session.Delivery, reason string) error {
	return m.change(ctx, d, func(ctx context.Context, s *backend) error { return s.FailDelivery(ctx, d, reason) })
}

// FailDeliveries implements session.Outbox.
func (m *many) FailDeliveries(ctx context.Context, app, id string, age time.Duration, reason string) error {
	_, err := available(ask(ctx, m, m.wait, func(ctx context.Context, s *backend) (struct{}, error) {
		return struct{}{}, s.FailDeliveries(ctx, app, id, age, reason)
	}))
	return err
}

// ClaimDeliveries implements session.Outbox. No database gets more than its part of
// the limit before the others had theirs. The limit of a subscription is that in each of
// them.
func (m *many) ClaimDeliveries(ctx context.Context, lease time.Duration, limit int, limits map[string]int) ([]*session.Delivery, error) {
	each := (limit + len(m.members) - 1) / len(m.members)
	lists, err := available(ask(ctx, m, m.wait, func(ctx context.Context, s *backend) ([]*session.Delivery, error) {
		return s.ClaimDeliveries(ctx, lease, each, limits)
	}))
	return slices.Concat(lists...), err
}

// CountDeliveries implements session.Outbox. It counts those of the databases that can be
// used.
func (m *many) CountDeliveries(ctx context.Context) (pending, failed int64, err error) {
	counts, err := available(ask(ctx, m, m.wait, func(ctx context.Context, s *backend) (count [2]int64, err error) {
		count[0], count[1], err = s.CountDeliveries(ctx)
		return count, err
	}))
	for _, one := range counts {
		pending, failed = pending+one[0], failed+one[1]
	}
	return pending, failed, err
}

// SweepDeliveries implements session.Outbox.
func (m *many) SweepDeliveries(ctx context.Context, age time.Duration) error {
	_, err := available(ask(ctx, m, 0, func(ctx context.Context, s *backend) (struct{}, error) {
		return struct{}{}, s.SweepDeliveries(ctx, age)
	}))
	return err
}

// Added implements session.Outbox.
func (m *many) Added() <-chan struct{} { return m.added }
