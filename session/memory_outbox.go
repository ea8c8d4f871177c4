package session

import (
	"context"
	"slices"
	"sync"
	"time"
)

var _ Outbox = (*Memory)(nil)

// outbox holds the subscriptions and the deliveries of all sessions.
type outbox struct {
	mu     sync.Mutex
	to     map[*record][]*Subscription // oldest first
	number int64
	list   []*keptDelivery // oldest first
	added  chan struct{}   // holds one value at most
}

type keptDelivery struct {
	Delivery
	to          *Subscription
	created     time.Time
	due, failed time.Time
}

func (k *keptDelivery) shown() *Delivery {
	d := k.Delivery
	d.Subscription, d.Age, d.Failed = *k.to, time.Since(k.created), !k.failed.IsZero()
	return &d
}

// tell adds the deliveries about a run whose status has changed. rec.mu must be held.
func (m *Memory) tell(rec *record, r *Run) {
	if !rec.told {
		return
	}
	o := &m.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	o.add(r, o.to[rec]...)
}

// add adds deliveries about a run. o.mu must be held.
func (o *outbox) add(r *Run, to ...*Subscription) {
	now := time.Now()
	for _, s := range to {
		o.number++
		o.list = append(o.list, &keptDelivery{Delivery: Delivery{Number: o.number, Run: r.ID, Status: r.Status}, to: s, created: now, due: now})
	}
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

// unsubscribe deletes subscriptions of a session. rec.mu must be held.
func (o *outbox) unsubscribe(rec *record, which func(*Subscription) bool) {
	if !rec.told {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	gone := map[*Subscription]bool{}
	left := slices.DeleteFunc(o.to[rec], func(s *Subscription) bool {
		gone[s] = which(s)
		return gone[s]
	})
	o.to[rec] = left
	if rec.told = len(left) > 0; !rec.told {
		delete(o.to, rec)
	}
	o.list = slices.DeleteFunc(o.list, func(k *keptDelivery) bool { return gone[k.to] })
}

// PutSubscription implements Outbox.
func (m *Memory) PutSubscription(_ context.Context, s *Subscription, run string) error {
	rec, err := m.hold(s.Key)
	if err != nil {
		return err
	}
	defer rec.mu.Unlock()
	o := &m.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.to[rec], func(known *Subscription) bool { return known.ID == s.ID })
	if i < 0 {
		added := *s
		added.Created = wallClock()
		i, rec.told = len(o.to[rec]), true
		o.to[rec] = append(o.to[rec], &added)
	}
	kept := o.to[rec][i]
	kept.Kind, kept.Label = s.Kind, s.Label
	if r := rec.runs.find(run); r != nil && (r.Status == Waiting || r.Status.Ended()) {
		o.add(r, kept)
	}
	return nil
}

// Subscriptions implements Outbox.
func (m *Memory) Subscriptions(_ context.Context, key Key) ([]*Subscription, error) {
	found := []*Subscription{}
	rec, err := m.hold(key)
	if err != nil {
		return found, nil // it has none
	}
	defer rec.mu.Unlock()
	m.outbox.mu.Lock()
	defer m.outbox.mu.Unlock()
	for _, s := range m.outbox.to[rec] {
		one := *s
		found = append(found, &one)
	}
	return found, nil
}

// DeleteSubscription implements Outbox.
func (m *Memory) DeleteSubscription(_ context.Context, key Key, id string) error {
	rec, err := m.hold(key)
	if err != nil {
		return nil // it does not exist
	}
	defer rec.mu.Unlock()
	m.outbox.unsubscribe(rec, func(s *Subscription) bool { return s.ID == id })
	return nil
}

// ClaimDeliveries implements Outbox.
func (m *Memory) ClaimDeliveries(_ context.Context, lease time.Duration, limit int) ([]*Delivery, error) {
	o, now := &m.outbox, time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	first := map[*Subscription]bool{}
	var found []*Delivery
	for _, k := range o.list {
		if len(found) >= limit {
			break
		}
		if !k.failed.IsZero() || first[k.to] {
			continue
		}
		first[k.to] = true
		if k.due.After(now) {
			continue
		}
		k.Attempt++
		k.due = now.Add(lease)
		found = append(found, k.shown())
	}
	return found, nil
}

// EndDelivery implements Outbox.
func (m *Memory) EndDelivery(_ context.Context, d *Delivery) error {
	m.outbox.remove(func(k *keptDelivery) bool { return k.Number == d.Number })
	return nil
}

// claimed calls change with a delivery that was not claimed again.
func (o *outbox) claimed(d *Delivery, change func(*keptDelivery)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, k := range o.list {
		if k.Number == d.Number && k.Attempt == d.Attempt && k.failed.IsZero() {
			change(k)
		}
	}
}

// RetryDelivery implements Outbox.
func (m *Memory) RetryDelivery(_ context.Context, d *Delivery, after time.Duration, reason string) error {
	m.outbox.claimed(d, func(k *keptDelivery) { k.due, k.Error = time.Now().Add(after), reason })
	return nil
}

// FailDelivery implements Outbox.
func (m *Memory) FailDelivery(_ context.Context, d *Delivery, reason string) error {
	m.outbox.claimed(d, func(k *keptDelivery) { k.failed, k.Error = time.Now(), reason })
	return nil
}

// Deliveries implements Outbox.
func (m *Memory) Deliveries(_ context.Context, key Key) ([]*Delivery, error) {
	o := &m.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	found := []*Delivery{}
	for _, k := range o.list {
		if k.to.Key == key {
			found = append(found, k.shown())
		}
	}
	return found, nil
}

// SweepDeliveries implements Outbox.
func (m *Memory) SweepDeliveries(_ context.Context, age time.Duration) error {
	m.outbox.remove(func(k *keptDelivery) bool { return !k.failed.IsZero() && time.Since(k.created) > age })
	return nil
}

// Added implements Outbox.
func (m *Memory) Added() <-chan struct{} { return m.outbox.added }
