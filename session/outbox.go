package session

import (
	"context"
	"time"
)

// Subscription asks a store to note the changes of the runs of a session, or of all
// sessions of an application, so that they are sent to a receiver. Where it is sent to is
// not a part of it, but a Secret.
type Subscription struct {
	// Key has only the application if the subscription is one of an application.
	Key Key
	// ID is unique in the session. That of a subscription of an application is unique in
	// the store.
	ID string
	// Kind names the part of the server that sends the deliveries, such as a protocol.
	Kind string
	// Label says what of the session the subscription is about. A store does not
	// interpret it.
	Label   string
	Created time.Time
}

// Notice is something other than a change of a run of which the subscriptions of an
// application are notified.
type Notice struct {
	// Key is what it is about: a session, a user or the application.
	Key Key
	// ID is unique among the notices of the application about the same session, or about
	// none.
	ID   string
	Type string
	// Run is the run that it is about, or empty.
	Run string
	// JSON is an object. A store does not interpret it.
	JSON []byte
}

// Delivery notes for a subscription that the status of a run has changed, or that there
// is a notice.
type Delivery struct {
	// Subscription has the key of what the delivery is about, also if it is one of an
	// application.
	Subscription

	// All means that the subscription is one of an application.
	All bool
	// Number orders the deliveries of a subscription, and is unique in the store.
	Number int64
	Run    string
	// Status is the one that the run has changed to. It may have another one by now.
	Status Status
	// Trace says which trace the run was part of, for those who send the delivery; empty
	// if that is not known.
	Trace string
	// Notice, Type and JSON are those of a Notice, and empty for the change of a run.
	Notice, Type string
	JSON         []byte
	// At is when it was added, by the clock of the store.
	At time.Time
	// Age is the time since it was added or replayed, by the clock of the store.
	Age time.Duration
	// Attempt counts the claims: 1 for the first.
	Attempt int
	// Failed means that it is not attempted any more, and Error is why the last
	// attempt failed.
	Failed bool
	Error  string
}

// MaxClaimed is how many deliveries of a subscription of an application ClaimDeliveries
// returns at a time.
const MaxClaimed = 4

// Outbox is the part of a Store that notes what is to be sent to receivers outside
// of the server, at least once.
//
// When a run begins, waits or ends, the store adds a delivery for each subscription
// of its session, in the transaction of that change; when it waits or ends, also for each
// subscription of its application. A process claims deliveries on a
// lease by the clock of the store, sends them, and reports how that went; when the
// lease expires, any process may claim them again.
type Outbox interface {
	Subscriptions
	DeliveryQueue
	DeliveryLog
}

// Subscriptions is the part of an Outbox that notes who is notified of what.
type Subscriptions interface {
	// PutSubscription adds a subscription, or replaces the kind and the label of the
	// one with its id. If run is the id of a run that waits or has ended, it also adds a
	// delivery about that run, which would never change again. It fails with ErrNotFound
	// if there is no session, and with ErrExists if another application has a
	// subscription with the id.
	PutSubscription(ctx context.Context, s *Subscription, run string) error

	// Subscriptions returns the subscriptions of a session or, if the key has only an
	// application, those of the application, oldest first; none if there is no session.
	Subscriptions(ctx context.Context, key Key) ([]*Subscription, error)

	// DeleteSubscription deletes a subscription with its deliveries. Deleting one that
	// does not exist is not an error. They are also deleted with their session.
	DeleteSubscription(ctx context.Context, key Key, id string) error

	// Publish adds a delivery about a notice for each subscription of its application. It
	// has no effect if the notice was published before, which a store remembers at least
	// until SweepDeliveries, and fails with ErrNotFound if its session does not exist.
	Publish(ctx context.Context, n *Notice) error
}

// DeliveryQueue is the part of an Outbox for those who send deliveries.
type DeliveryQueue interface {
	// ClaimDeliveries returns at most limit deliveries that are due, and no others can
	// claim them until the lease expires. Of every subscription of a session it only
	// considers the first that has neither been sent nor failed: the others follow in
	// their order. Of a subscription of an application it considers the first of every
	// session, and those about no session; it returns at most limits[ID] of them, or
	// MaxClaimed if limits does not have the ID of the subscription.
	ClaimDeliveries(ctx context.Context, lease time.Duration, limit int, limits map[string]int) ([]*Delivery, error)

	// EndDelivery deletes a delivery that was sent.
	EndDelivery(ctx context.Context, d *Delivery) error

	// RetryDelivery makes a claimed delivery due after some time. It has no effect if
	// the delivery was claimed again.
	RetryDelivery(ctx context.Context, d *Delivery, after time.Duration, reason string) error

	// FailDelivery ends the attempts of a claimed delivery, like RetryDelivery. It
	// stays in the list until SweepDeliveries.
	FailDelivery(ctx context.Context, d *Delivery, reason string) error

	// FailDeliveries is like FailDelivery for all deliveries of a subscription of an
	// application whose Age is more than age, whether or not they are claimed.
	FailDeliveries(ctx context.Context, app, id string, age time.Duration, reason string) error

	// Deliveries returns the deliveries of the subscriptions of a session that were not
	// sent, oldest first.
	Deliveries(ctx context.Context, key Key) ([]*Delivery, error)

	// SweepDeliveries deletes deliveries that have failed, and whose Age is more than age.
	// It also forgets notices that were published before that.
	SweepDeliveries(ctx context.Context, age time.Duration) error

	// Added returns a channel that has a value after this process has added
	// deliveries. Others may have added some, too.
	Added() <-chan struct{}
}

// DeliveryLog is the part of an Outbox that shows deliveries which were not sent, and has
// them sent again.
type DeliveryLog interface {
	// AppDeliveries is like Deliveries for a subscription of an application: at most limit
	// of those with a greater Number than after.
	AppDeliveries(ctx context.Context, app, id string, after int64, limit int) ([]*Delivery, error)

	// ReplayDelivery makes a delivery of a subscription of an application due. One that has
	// failed is attempted as if it had just been added. It fails with ErrNotFound if there
	// is none with the number.
	ReplayDelivery(ctx context.Context, app, id string, number int64) error

	// FailedDeliveries returns the deliveries of an application that have failed, those of
	// its subscriptions and of the subscriptions of its sessions: at most limit of those with
	// a greater Number than after, ordered by it.
	FailedDeliveries(ctx context.Context, app string, after int64, limit int) ([]*Delivery, error)

	// ReplayFailed makes a delivery due that FailedDeliveries returns, as if it had just been
	// added. It fails with ErrNotFound if there is none with the number.
	ReplayFailed(ctx context.Context, app string, number int64) error

	// CountDeliveries returns how many deliveries were not sent yet, and how many have
	// failed.
	CountDeliveries(ctx context.Context) (pending, failed int64, err error)
}
