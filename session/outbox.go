package session

import (
	"context"
	"time"
)

// Subscription asks a store to note the changes of the runs of a session, so that
// they are sent to a receiver. Where it is sent to is not a part of it, but a Secret.
type Subscription struct {
	Key Key
	ID  string // unique in the session
	// Kind is who sends the deliveries, such as a protocol.
	Kind string
	// Label says what of the session the subscription is about. A store does not
	// interpret it.
	Label   string
	Created time.Time
}

// Delivery notes for a subscription that the status of a run has changed.
type Delivery struct {
	Subscription

	// Number orders the deliveries of a subscription.
	Number int64
	Run    string
	// Status is the one that the run has changed to. It may have another one by now.
	Status Status
	// Age is the time since the change, by the clock of the store.
	Age time.Duration
	// Attempt counts the claims: 1 for the first.
	Attempt int
	// Failed means that it is not attempted any more, and Error is why the last
	// attempt failed.
	Failed bool
	Error  string
}

// Outbox is the part of a Store that notes what is to be sent to receivers outside
// of the server, at least once.
//
// When a run begins, waits or ends, the store adds a delivery for each subscription
// of its session, in the transaction of that change. A process claims deliveries on a
// lease by the clock of the store, sends them, and reports how that went; when the
// lease expires, any process may claim them again.
type Outbox interface {
	// PutSubscription adds a subscription, or replaces the kind and the label of the
	// one with its id. If run is the id of a run that waits or has ended, it also adds a
	// delivery about that run, which would never change again. It fails with ErrNotFound
	// if there is no session.
	PutSubscription(ctx context.Context, s *Subscription, run string) error

	// Subscriptions returns the subscriptions of a session, oldest first; none if
	// there is no session.
	Subscriptions(ctx context.Context, key Key) ([]*Subscription, error)

	// DeleteSubscription deletes a subscription with its deliveries. Deleting one that
	// does not exist is not an error. They are also deleted with their session.
	DeleteSubscription(ctx context.Context, key Key, id string) error

	// ClaimDeliveries returns at most limit deliveries that are due, and no others can
	// claim them until the lease expires. Of every subscription it only considers the
	// first that has neither been sent nor failed: the others follow in their order.
	ClaimDeliveries(ctx context.Context, lease time.Duration, limit int) ([]*Delivery, error)

	// EndDelivery deletes a delivery that was sent.
	EndDelivery(ctx context.Context, d *Delivery) error

	// RetryDelivery makes a claimed delivery due after some time. It has no effect if
	// the delivery was claimed again.
	RetryDelivery(ctx context.Context, d *Delivery, after time.Duration, reason string) error

	// FailDelivery ends the attempts of a claimed delivery, like RetryDelivery. It
	// stays in the list until SweepDeliveries.
	FailDelivery(ctx context.Context, d *Delivery, reason string) error

	// Deliveries returns the deliveries of a session that were not sent, oldest first.
	Deliveries(ctx context.Context, key Key) ([]*Delivery, error)

	// SweepDeliveries deletes deliveries that have failed, and are older than age.
	SweepDeliveries(ctx context.Context, age time.Duration) error

	// Added returns a channel that has a value after this process has added
	// deliveries. Others may have added some, too.
	Added() <-chan struct{}
}
