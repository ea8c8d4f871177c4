package memstore

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/parley-run/parley/session"
)

var _ session.Outbox = (*Backend)(nil)

// outbox holds the subscriptions and the deliveries of all sessions.
type outbox struct {
	mu        sync.Mutex
	to        map[*record][]*session.Subscription // oldest first
	apps      map[string][]*session.Subscription  // those of applications, oldest first
	wide      atomic.Int64                        // the number of those
	published map[published]time.Time
	number    int64
	list      []*keptDelivery // oldest first
	added     chan struct{}   // holds one value at most
}

// published identifies a notice.
type published struct {
	about *record // nil for no session
	app   string
	id    string
}

type keptDelivery struct {
	session.Delivery
	to          *session.Subscription
	about       *record // nil for no session
	since       time.Time
	due, failed time.Time
}

func (k *keptDelivery) shown() *session.Delivery {
	d := k.Delivery
	d.Subscription, d.Age, d.Failed = *k.to, time.Since(k.since), !k.failed.IsZero()
	d.Key = k.Key
	return &d
}

// replay makes a delivery due. One that has failed is as if it had just been added.
func (k *keptDelivery) replay() {
	k.due = time.Now()
	if !k.failed.IsZero() {
		k.since, k.failed, k.Attempt = k.due, time.Time{}, 0
	}
}

// addDeliveries adds the deliveries about a run whose status has changed. rec.mu must be held.
func (m *Backend) addDeliveries(rec *record, r *session.Run) { m.addTracedDeliveries(rec, r, "") }

// addTracedDeliveries is like addDeliveries for a change that belongs to a trace.
func (m *Backend) addTracedDeliveries(rec *record, r *session.Run, trace string) {
	o := &m.outbox
	wide := o.wide.Load() > 0 && (r.Status == session.Waiting || r.Status.Ended())
	if !rec.subscribed && !wide {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.add(rec, session.Delivery{Run: r.ID, Status: r.Status, Trace: trace}, o.to[rec])
	if wide {
		o.add(rec, session.Delivery{Run: r.ID, Status: r.Status, Trace: trace, All: true}, o.apps[rec.key.App])
	}
}

// add adds deliveries about a session, or about the key of d if it is nil. o.mu must be
// held.
func (o *outbox) add(about *record, d session.Delivery, to []*session.Subscription) {
	if len(to) == 0 {
		return
	}
	if about != nil {
		d.Key = about.key
	}
	now := time.Now()
	d.At = now.UTC().Truncate(time.Microsecond)
	for _, s := range to {
		o.number++
		d.Number = o.number
		o.list = append(o.list, &keptDelivery{Delivery: d, to: s, about: about, since: now, due: now})
	}
	o.wake()
}

func (o *outbox) wake() {
	select {
	case o.added <- struct{}{}:
	default: // it has one
	}
}

// remove deletes deliveries.
func (o *outbox) remove(which func(*keptDelivery) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = slices.DeleteFunc(o.list, which)
}

// leave deletes what belongs to a session. rec.mu must be held.
func (o *outbox) leave(rec *record) {
	o.unsubscribe(rec, func(*session.Subscription) bool { return true })
	if o.wide.Load() == 0 {
		return
	}
	o.remove(func(k *keptDelivery) bool { return k.about == rec })
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.published, func(p published, _ time.Time) bool { return p.about == rec })
}

// unsubscribe deletes subscriptions of a session. rec.mu must be held.
func (o *outbox) unsubscribe(rec *record, which func(*session.Subscription) bool) {
	if !rec.subscribed {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	gone := map[*session.Subscription]bool{}
	left := slices.DeleteFunc(o.to[rec], func(s *session.Subscription) bool {
		gone[s] = which(s)
		return gone[s]
	})
	o.to[rec] = left
	if rec.subscribed = len(left) > 0; !rec.subscribed {
		delete(o.to, rec)
	}
	o.list = slices.DeleteFunc(o.list, func(k *keptDelivery) bool { return gone[k.to] })
}

// PutSubscription implements session.Outbox.
func (m *Backend) PutSubscription(_ context.Context, s *session.Subscription, run string) error {
	if s.Key.ID == "" {
		return m.outbox.putWide(s)
	}
	rec, err := m.hold(s.Key)
	if err != nil {
		return err
	}
	defer rec.mu.Unlock()
	o := &m.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.to[rec], func(known *session.Subscription) bool { return known.ID == s.ID })
	if i < 0 {
		added := *s
		added.Created = wallClock()
		i, rec.subscribed = len(o.to[rec]), true
		o.to[rec] = append(o.to[rec], &added)
	}
	kept := o.to[rec][i]
	kept.Kind, kept.Label = s.Kind, s.Label
	if r := rec.runs.find(run); r != nil && (r.Status == session.Waiting || r.Status.Ended()) {
		o.add(rec, session.Delivery{Run: r.ID, Status: r.Status}, []*session.Subscription{kept})
	}
	return nil
}

// Subscriptions implements session.Outbox.
func (m *Backend) Subscriptions(_ context.Context, key session.Key) ([]*session.Subscription, error) {
	o := &m.outbox
	if key.ID == "" {
		o.mu.Lock()
		defer o.mu.Unlock()
		return copies(o.apps[key.App]), nil
	}
	rec, err := m.hold(key)
	if err != nil {
		return []*session.Subscription{}, nil // it has none
	}
	defer rec.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	return copies(o.to[rec]), nil
}

func copies(list []*session.Subscription) []*session.Subscription {
	found := []*session.Subscription{}
	for _, s := range list {
		one := *s
		found = append(found, &one)
	}
	return found
}

// DeleteSubscription implements session.Outbox.
func (m *Backend) DeleteSubscription(_ context.Context, key session.Key, id string) error {
	if key.ID == "" {
		m.outbox.dropWide(key.App, id)
		return nil
	}
	rec, err := m.hold(key)
	if err != nil {
		return nil // it does not exist
	}
	defer rec.mu.Unlock()
	m.outbox.unsubscribe(rec, func(s *session.Subscription) bool { return s.ID == id })
	return nil
}

// ClaimDeliveries implements session.Outbox.
func (m *Backend) ClaimDeliveries(_ context.Context, lease time.Duration, limit int, limits map[string]int) ([]*session.Delivery, error) {
	o, now := &m.outbox, time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	type queue struct {
		to    *session.Subscription
		about *record
	}
	first, claims := map[queue]bool{}, map[*session.Subscription]int{}
	var found []*session.Delivery
	for _, k := range o.list {
		if len(found) >= limit {
			break
		}
		q := queue{k.to, k.about}
		if !k.failed.IsZero() || first[q] {
			continue
		}
		first[q] = k.about != nil
		if k.due.After(now) {
			continue
		}
		if k.All {
			most, ok := limits[k.to.ID]
			if !ok {
				most = session.MaxClaimed
			}
			if claims[k.to] >= most {
				continue
			}
			claims[k.to]++
		}
		k.Attempt++
		k.due = now.Add(lease)
		found = append(found, k.shown())
	}
	return found, nil
}

// EndDelivery implements session.Outbox.
func (m *Backend) EndDelivery(_ context.Context, d *session.Delivery) error {
	m.outbox.remove(func(k *keptDelivery) bool { return k.Number == d.Number })
	return nil
}

// claimed calls change with a delivery that was not claimed again.
func (o *outbox) claimed(d *session.Delivery, change func(*keptDelivery)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, k := range o.list {
		if k.Number == d.Number && k.Attempt == d.Attempt && k.failed.IsZero() {
			change(k)
		}
	}
}

// RetryDelivery implements session.Outbox.
func (m *Backend) RetryDelivery(_ context.Context, d *session.Delivery, after time.Duration, reason string) error {
	m.outbox.claimed(d, func(k *keptDelivery) { k.due, k.Error = time.Now().Add(after), reason })
	return nil
}

// FailDelivery implements session.Outbox.
func (m *Backend) FailDelivery(_ context.Context, d *session.Delivery, reason string) error {
	m.outbox.claimed(d, func(k *keptDelivery) { k.failed, k.Error = time.Now(), reason })
	return nil
}

// FailDeliveries implements session.Outbox.
func (m *Backend) FailDeliveries(_ context.Context, app, id string, age time.Duration, reason string) error {
	o := &m.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, k := range o.list {
		if k.All && k.to.Key.App == app && k.to.ID == id && k.failed.IsZero() && time.Since(k.since) > age {
			k.failed, k.Error = time.Now(), reason
		}
	}
	return nil
}

// Deliveries implements session.Outbox.
func (m *Backend) Deliveries(_ context.Context, key session.Key) ([]*session.Delivery, error) {
	o := &m.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	found := []*session.Delivery{}
	for _, k := range o.list {
		if k.to.Key == key && !k.All {
			found = append(found, k.shown())
		}
	}
	return found, nil
}

// SweepDeliveries implements session.Outbox.
func (m *Backend) SweepDeliveries(_ context.Context, age time.Duration) error {
	o := &m.outbox
	o.remove(func(k *keptDelivery) bool { return !k.failed.IsZero() && time.Since(k.since) > age })
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.published, func(_ published, at time.Time) bool { return time.Since(at) > age })
	return nil
}

// Added implements session.Outbox.
func (m *Backend) Added() <-chan struct{} { return m.outbox.added }
