// Package outbox sends what a store has noted for subscriptions to their receivers, over
// HTTP and at least once. The deliveries of a subscription are sent in their order, those of
// a subscription of an application in their order for each session; one that fails is tried
// again for a day, and delays those of its subscription only.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/parley-run/parley/internal/public"
	"github.com/parley-run/parley/internal/retry"
	"github.com/parley-run/parley/internal/share"
	"github.com/parley-run/parley/session"
)

const (
	// poll is how often deliveries are looked for that other processes have left, or
	// that are due again.
	poll = time.Second
	// maxSends bounds the number of deliveries that are sent at the same time.
	maxSends = 32
	// maxUserSends bounds those of one user, so that receivers that do not answer do
	// not delay those of others.
	maxUserSends = 4
	// timeout bounds an attempt, and lease is when another process may make the next.
	timeout = 10 * time.Second
	lease   = 15 * time.Second
	// The mean pauses between attempts.
	firstPause = time.Second
	lastPause  = time.Hour
	// giveUp is the age at which a delivery that fails is given up.
	giveUp = 24 * time.Hour
	// keepFailed is the age until which a delivery that was given up is listed.
	keepFailed = giveUp + 7*24*time.Hour
	sweepEvery = time.Hour
	// keepOver is how many subscriptions of a session stay when they are over, because
	// deliveries of them were given up, and can be sent again.
	keepOver = 20
	// closeWait is how long Close waits for attempts.
	closeWait = time.Second
)

// ErrOver is returned by Compose if nothing is to be sent for the subscription any more. It
// is deleted, unless deliveries of it were given up before, which are listed for some days.
var ErrOver = errors.New("the subscription is over")

// Message is what is sent for a delivery, with POST.
type Message struct {
	URL    string
	Header http.Header
	Body   []byte
	// Last means that nothing follows: when the message was sent, the subscription is
	// over, as with ErrOver.
	Last bool
}

// Compose returns the message of a delivery, or nil if there is nothing to send. config
// is that of Subscribe.
type Compose func(ctx context.Context, d *session.Delivery, config []byte) (*Message, error)

// Secrets seals and stores the configurations of subscriptions.
type Secrets interface {
	Keep(ctx context.Context, id session.SecretID, value []byte) error
	Kept(ctx context.Context, id session.SecretID) ([]byte, error)
	Drop(ctx context.Context, id session.SecretID) error
}

// Store is what an Outbox needs of a session.Outbox.
type Store interface {
	session.Subscriptions
	session.DeliveryQueue
}

// Options of an Outbox.
type Options struct {
	Store   Store
	Secrets Secrets
	// AllowPrivate are private networks that receivers may be in. They may be called
	// without TLS there.
	AllowPrivate []netip.Prefix
	// Passive means that others send what is noted.
	Passive bool
	Log     *slog.Logger
	// Observer may be nil.
	Observer Observer
}

// Observer records attempts.
type Observer interface {
	// Sending begins an attempt of a delivery about a run, which may be empty. The context
	// is part of the trace of the run, if that is known: here, or by what the Observer of
	// the engine has marked it with. ended is called with the outcome, which is empty if
	// the server has ended.
	Sending(ctx context.Context, kind, run, mark string) (_ context.Context, ended func(outcome string))
}

// Outbox manages subscriptions, and sends their deliveries. A nil Outbox can be closed.
type Outbox struct {
	store   Store
	secrets Secrets
	guard   guard
	client  *http.Client
	log     *slog.Logger
	observe Observer // may be nil
	passive bool

	life context.Context //nolint:containedctx // it ends with Close
	end  context.CancelFunc
	wake chan struct{} // holds a value when an attempt has ended
	stop chan struct{} // closed by Close
	// finishing holds a value while finishLast counts and deletes.
	finishing chan struct{}

	mu     sync.Mutex
	kinds  map[string]Compose
	closed bool
	work   sync.WaitGroup

	users     share.Shares[user] // of attempts in progress
	endpoints endpoints
}

type user struct{ app, id string }

// New creates an Outbox, which does nothing before Handle is called.
func New(o Options) *Outbox {
	b := &Outbox{
		store: o.Store, secrets: o.Secrets, guard: guard{allow: public.Networks(o.AllowPrivate)}, log: o.Log, observe: o.Observer, passive: o.Passive,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), finishing: make(chan struct{}, 1), kinds: map[string]Compose{},
	}
	b.client = b.guard.client()
	b.life, b.end = context.WithCancel(context.Background())
	return b
}

// Handle sets who makes the messages of a kind of subscriptions. The first call starts
// the sending, unless the Outbox is passive.
func (o *Outbox) Handle(kind string, compose Compose) {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := len(o.kinds) == 0
	o.kinds[kind] = compose
	if first && !o.closed && !o.passive {
		o.work.Go(o.run)
	}
}

// Close ends the sending. Attempts that do not end soon are left to other processes.
func (o *Outbox) Close() {
	if o == nil {
		return
	}
	o.mu.Lock()
	closed := o.closed
	o.closed = true
	o.mu.Unlock()
	if !closed {
		close(o.stop)
	}
	late := time.AfterFunc(closeWait, o.end)
	o.work.Wait()
	late.Stop()
	o.end()
	o.client.CloseIdleConnections()
}

// run claims deliveries and sends them.
func (o *Outbox) run() {
	slots := make(chan struct{}, maxSends)
	tick := time.NewTicker(poll)
	defer tick.Stop()
	swept := time.Time{}
	for {
		more := o.claim(slots)
		if time.Since(swept) > sweepEvery {
			swept = time.Now()
			if err := o.store.SweepDeliveries(o.life, keepFailed); err != nil && o.life.Err() == nil {
				o.log.Warn("could not delete old notifications", "err", err)
			}
		}
		if more {
			select {
			case <-o.stop:
				return
			default:
				continue
			}
		}
		select {
		case <-o.store.Added():
		case <-o.wake:
		case <-tick.C:
		case <-o.stop:
			return
		}
	}
}

// claim starts the sending of deliveries that are due. It reports whether there may be
// more that can be sent now.
func (o *Outbox) claim(slots chan struct{}) (more bool) {
	free := cap(slots) - len(slots)
	if free == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(o.life, timeout)
	defer cancel()
	list, err := o.store.ClaimDeliveries(ctx, lease, free, o.endpoints.limits())
	if err != nil {
		if o.life.Err() == nil {
			o.log.Warn("could not look for notifications to send", "err", err)
		}
		return false
	}
	for _, d := range list {
		if !o.begin(d) {
			if err := o.store.RetryDelivery(ctx, d, poll, "other notifications of the user are being sent"); err != nil && o.life.Err() == nil {
				o.log.Warn("could not postpone a notification", "err", err)
			}
			continue
		}
		slots <- struct{}{}
		o.work.Go(func() {
			o.finish(d, o.deliver(d))
			<-slots
			select {
			case o.wake <- struct{}{}:
			default: // it has one
			}
		})
	}
	return len(list) == free
}

// begin reports whether a delivery may be sent now. Then finish must be called.
func (o *Outbox) begin(d *session.Delivery) bool {
	if d.All { // the store was asked for as many as may be sent
		o.endpoints.begin(d.ID)
		return true
	}
	return o.users.Take(user{d.Key.App, d.Key.User}, maxUserSends)
}

// finish ends what begin has begun. err is that of the attempt.
func (o *Outbox) finish(d *session.Delivery, err error) {
	if d.All {
		o.endpoints.finish(d.ID, err)
		return
	}
	o.users.Return(user{d.Key.App, d.Key.User})
}

// deliver makes one attempt, and stores its outcome. It returns why the attempt failed.
func (o *Outbox) deliver(d *session.Delivery) error {
	ctx, cancel := context.WithTimeout(o.life, timeout)
	ended := func(string) {}
	if o.observe != nil {
		ctx, ended = o.observe.Sending(ctx, d.Kind, d.Run, d.Trace)
	}
	over, err := o.attempt(ctx, d)
	cancel()
	// The outcome of an attempt that Close has ended counts, too.
	ctx, cancel = context.WithTimeout(context.WithoutCancel(o.life), lease-timeout)
	defer cancel()
	log := o.log.With("kind", d.Kind, "app", d.Key.App, "session_id", d.Key.ID, "run_id", d.Run, "attempt", d.Attempt)
	outcome := Sent
	var stored error
	switch {
	case over:
		stored = o.finishLast(ctx, d, errors.Is(err, errUnwanted))
		err = nil
	case err == nil:
		stored = o.store.EndDelivery(ctx, d)
	case o.life.Err() != nil:
		outcome = ""
		stored = o.store.RetryDelivery(ctx, d, 0, "the server has ended")
	case d.Age > giveUp || errors.Is(err, errGone):
		log.WarnContext(ctx, "a notification is given up", "err", err)
		outcome = Dead
		stored = o.store.FailDelivery(ctx, d, retry.Reason(err))
		if stored == nil && d.All && !errors.Is(err, errGone) {
			// A receiver that fails gets one in a while, and there may be many others as old.
			stored = o.store.FailDeliveries(ctx, d.Key.App, d.ID, giveUp, retry.Reason(err))
		}
	default:
		log.InfoContext(ctx, "a notification was not accepted; it will be sent again", "err", err)
		outcome = Failed
		stored = o.store.RetryDelivery(ctx, d, retry.Pause(d.Attempt, firstPause, lastPause), retry.Reason(err))
	}
	if stored != nil { // it is sent again when the lease has expired
		log.WarnContext(ctx, "could not store the outcome of a notification", "err", stored)
	}
	ended(outcome)
	return err
}

// The outcomes of an attempt.
const (
	Sent   = "sent"
	Failed = "failed" // another attempt follows
	Dead   = "dead"   // no other attempt follows
)

// errGone means that the receiver of an application does not want it. Its subscription
// stays: an operator has made it.
var errGone = errors.New("the receiver answered with the status 410")

// errUnwanted means that the receiver of a session does not want more, or that it is not
// known any more.
var errUnwanted = errors.New("the receiver does not want more")

// finishLast ends a delivery whose subscription is over, and deletes that, unless something
// of it was given up, and may be sent again.
func (o *Outbox) finishLast(ctx context.Context, d *session.Delivery, unwanted bool) error {
	key := subscriptionKey(d)
	// One at a time: two that count together would both delete theirs.
	select {
	case o.finishing <- struct{}{}:
		defer func() { <-o.finishing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if !unwanted {
		list, err := o.store.Deliveries(ctx, key)
		if err != nil {
			return err
		}
		failed := map[string]bool{}
		for _, one := range list {
			// One with a smaller number that has not failed is sent again.
			if one.Failed || one.Number < d.Number {
				failed[one.ID] = true
			}
		}
		if failed[d.ID] && len(failed) <= keepOver {
			return o.store.EndDelivery(ctx, d)
		}
	}
	return o.Unsubscribe(ctx, key, d.ID)
}

// attempt sends a delivery. over means that its subscription is over, and the error is
// errUnwanted if it is to be deleted in any case.
func (o *Outbox) attempt(ctx context.Context, d *session.Delivery) (over bool, err error) {
	defer func() {
		if p := recover(); p != nil { // no request would be there to fail
			over, err = false, fmt.Errorf("panic: %v", p)
		}
	}()
	o.mu.Lock()
	compose := o.kinds[d.Kind]
	o.mu.Unlock()
	if compose == nil {
		return false, errors.New("this server does not send notifications of this kind")
	}
	config, err := o.secrets.Kept(ctx, secretID(subscriptionKey(d), d.ID))
	if errors.Is(err, session.ErrNoSecret) {
		return true, errUnwanted // where to send it is not known any more
	}
	if err != nil {
		return false, err
	}
	m, err := compose(ctx, d, config)
	switch {
	case errors.Is(err, ErrOver):
		return true, nil
	case err != nil || m == nil:
		return false, err
	}
	switch status, err := o.post(ctx, m); {
	case err != nil:
		return false, err
	case status == http.StatusGone && d.All:
		return false, errGone
	case status == http.StatusGone:
		return true, errUnwanted
	case status/100 != 2:
		return false, fmt.Errorf("the receiver answered with the status %d", status)
	}
	return m.Last && !d.All, nil
}

// secretName is the name of the configuration of a subscription.
const secretName = "outbox/"

// subscriptionKey returns the key of the subscription of a delivery.
func subscriptionKey(d *session.Delivery) session.Key {
	if d.All {
		return session.Key{App: d.Key.App}
	}
	return d.Key
}

func secretID(key session.Key, id string) session.SecretID {
	return session.SecretID{App: key.App, User: key.User, Session: key.ID, Name: secretName + id}
}

// Subscribe adds or replaces a subscription, with what Compose needs to know, which is
// JSON. It fails with a *RefusedError if the URL must not be called, and with
// session.ErrNotFound if there is no session. run is that of
// session.Subscriptions.PutSubscription.
func (o *Outbox) Subscribe(ctx context.Context, s *session.Subscription, run, url string, config []byte) error {
	if err := o.Check(ctx, url); err != nil {
		return err
	}
	// In this order, a delivery finds the configuration.
	if err := o.secrets.Keep(ctx, secretID(s.Key, s.ID), config); err != nil {
		return err
	}
	return o.store.PutSubscription(ctx, s, run)
}

// Check fails with a *RefusedError if a URL must not be called.
func (o *Outbox) Check(ctx context.Context, url string) error { return o.guard.check(ctx, url) }

// Unsubscribe deletes a subscription. Deleting one that does not exist is not an error.
func (o *Outbox) Unsubscribe(ctx context.Context, key session.Key, id string) error {
	if err := o.store.DeleteSubscription(ctx, key, id); err != nil {
		return err
	}
	return o.secrets.Drop(ctx, secretID(key, id))
}

// Subscriptions returns the subscriptions of a session.
func (o *Outbox) Subscriptions(ctx context.Context, key session.Key) ([]*session.Subscription, error) {
	return o.store.Subscriptions(ctx, key)
}

// Config returns what Subscribe was called with. It fails with session.ErrNoSecret if there
// is no such subscription.
func (o *Outbox) Config(ctx context.Context, key session.Key, id string) ([]byte, error) {
	return o.secrets.Kept(ctx, secretID(key, id))
}
