package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/parley-run/parley/session"
)

// putWide adds or replaces a subscription of an application.
func (o *outbox) putWide(s *session.Subscription) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for app, list := range o.apps {
		i := slices.IndexFunc(list, func(known *session.Subscription) bool { return known.ID == s.ID })
		switch {
		case i >= 0 && app != s.Key.App:
			return session.ErrExists
		case i >= 0:
			list[i].Kind, list[i].Label = s.Kind, s.Label
			return nil
		}
	}
	added := *s
	added.Key, added.Created = session.Key{App: s.Key.App}, wallClock()
	if o.apps == nil {
		o.apps = map[string][]*session.Subscription{}
	}
	o.apps[s.Key.App] = append(o.apps[s.Key.App], &added)
	o.wide.Add(1)
	return nil
}

// dropWide deletes a subscription of an application with its deliveries.
func (o *outbox) dropWide(app, id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.apps[app], func(s *session.Subscription) bool { return s.ID == id })
	if i < 0 {
		return
	}
	gone := o.apps[app][i]
	o.apps[app] = slices.Delete(o.apps[app], i, i+1)
	o.wide.Add(-1)
	o.list = slices.DeleteFunc(o.list, func(k *keptDelivery) bool { return k.to == gone })
}

// Publish implements session.Outbox.
func (m *Backend) Publish(_ context.Context, n *session.Notice) error {
	p := published{app: n.Key.App, id: n.ID}
	if n.Key.ID != "" {
		rec, err := m.hold(n.Key)
		if err != nil {
			return err
		}
		defer rec.mu.Unlock()
		p.about = rec
	}
	o := &m.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	to := o.apps[n.Key.App]
	if _, again := o.published[p]; again || len(to) == 0 {
		return nil
	}
	if o.published == nil {
		o.published = map[published]time.Time{}
	}
	o.published[p] = time.Now()
	d := session.Delivery{All: true, Run: n.Run, Notice: n.ID, Type: n.Type, JSON: slices.Clone(n.JSON)}
	d.Key = n.Key
	o.add(p.about, d, to)
	return nil
}

// AppDeliveries implements session.Outbox.
func (m *Backend) AppDeliveries(_ context.Context, app, id string, after int64, limit int) ([]*session.Delivery, error) {
	o := &m.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	found := []*session.Delivery{}
	for _, k := range o.list {
		if k.All && k.to.Key.App == app && k.to.ID == id && k.Number > after && len(found) < limit {
			found = append(found, k.shown())
		}
	}
	return found, nil
}

// ReplayDelivery implements session.Outbox.
func (m *Backend) ReplayDelivery(_ context.Context, app, id string, number int64) error {
	o := &m.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, k := range o.list {
		if k.All && k.to.Key.App == app && k.to.ID == id && k.Number == number {
			k.replay()
			o.wake()
			return nil
		}
	}
	return session.ErrNotFound
}

// FailedDeliveries implements session.Outbox.
func (m *Backend) FailedDeliveries(_ context.Context, app string, after int64, limit int) ([]*session.Delivery, error) {
	o := &m.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	found := []*session.Delivery{}
	for _, k := range o.list {
		if k.to.Key.App == app && !k.failed.IsZero() && k.Number > after && len(found) < limit {
			found = append(found, k.shown())
		}
	}
	return found, nil
}

// ReplayFailed implements session.Outbox.
func (m *Backend) ReplayFailed(_ context.Context, app string, number int64) error {
	o := &m.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, k := range o.list {
		if k.to.Key.App == app && !k.failed.IsZero() && k.Number == number {
			k.replay()
			o.wake()
			return nil
		}
	}
	return session.ErrNotFound
}

// CountDeliveries implements session.Outbox.
func (m *Backend) CountDeliveries(context.Context) (pending, failed int64, err error) {
	o := &m.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, k := range o.list {
		if k.failed.IsZero() {
			pending++
		} else {
			failed++
		}
	}
	return pending, failed, nil
}
