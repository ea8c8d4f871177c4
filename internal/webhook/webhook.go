// Package webhook tells receivers over HTTP what happens to runs and schedules: those that
// an application has, and those that a single request names. It signs what it sends, as
// the Standard Webhooks specification says.
package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/internal/outbox"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/session"
)

const (
	// MaxPerApp is how many webhooks an application may have. The end of every run is
	// noted for each of them.
	MaxPerApp = 20
	// maxPerSession bounds the runs of a session whose requests named a receiver.
	maxPerSession = 100
	// overlap is how long the old secret also signs after a rotation.
	overlap = 24 * time.Hour
	// MaxDescription bounds the description.
	MaxDescription = 500
	// MaxDeliveries is how many deliveries are listed at a time.
	MaxDeliveries = 100
)

// The kinds of subscriptions: of applications, and of single runs, with the run as label.
const (
	appKind = "webhook"
	runKind = "webhook-run"
)

var (
	// ErrNotFound means that there is no such webhook.
	ErrNotFound = errors.New("webhook not found")
	// ErrNoDelivery means that there is no such delivery: it was sent, or it has expired.
	ErrNoDelivery = errors.New("delivery not found: it was sent, or deleted a week after it was given up")
	// ErrExists means that there is a webhook with this id, perhaps of another application.
	ErrExists = errors.New("there is a webhook with this id")
	// ErrTooMany means that the application has too many webhooks.
	ErrTooMany = fmt.Errorf("the application has %d webhooks, which is the limit: delete one", MaxPerApp)
	// ErrTooManyRuns means that too many runs of the session have receivers.
	ErrTooManyRuns = fmt.Errorf("%d runs of the session that have not ended have a webhook, which is the limit: wait for one of them", maxPerSession)
)

// FieldError means that a member of a request is wrong.
type FieldError struct{ Field, Message string }

func (e *FieldError) Error() string { return e.Field + " " + e.Message }

// Webhook is a receiver of an application.
type Webhook struct {
	ID, URL, Description string
	Events               []string // empty means all
	Created              time.Time
	// Rotated is when the old secret does not sign any more; zero if there is none.
	Rotated time.Time
	// Secret is only set by Create and Rotate.
	Secret string
}

// Change is what is to be changed of a webhook, or of a new one. Nil means as it is.
type Change struct {
	URL, Description, Secret *string
	Events                   *[]string
}

func (c *Change) apply(to *config) error {
	if c.URL != nil {
		to.URL = *c.URL
	}
	if c.Description != nil {
		to.Description = *c.Description
	}
	if c.Secret != nil {
		to.Secret = *c.Secret
	}
	if c.Events != nil {
		to.Events = *c.Events
	}
	switch {
	case len(to.Description) > MaxDescription:
		return &FieldError{"description", fmt.Sprintf("must have at most %d bytes", MaxDescription)}
	case to.Secret != "" && keyOf(to.Secret) == nil:
		return &FieldError{"secret", fmt.Sprintf("must be %s and Base64 of %d to %d random bytes", secretPrefix, minSecret, maxSecret)}
	}
	for _, typ := range to.Events {
		if !slices.Contains(Types, typ) {
			return &FieldError{"events", "must have some of " + strings.Join(Types, ", ")}
		}
	}
	return nil
}

// Engine is what the messages are made of.
type Engine interface {
	Run(ctx context.Context, key session.Key, id string) (*session.Run, error)
	OpenCalls(ctx context.Context, key session.Key) ([]*run.OpenCall, error)
}

// Store is what a Service needs of a session.Outbox.
type Store interface {
	session.Subscriptions
	session.DeliveryLog
}

// Service manages webhooks. A nil Service publishes nothing.
type Service struct {
	Box   *outbox.Outbox
	Store Store

	engine Engine // set by Start
}

// Start starts the sending.
func (s *Service) Start(engine Engine) {
	s.engine = engine
	s.Box.Handle(appKind, s.compose)
	s.Box.Handle(runKind, s.composeRun)
}

// Publish tells the webhooks of an application of something other than a change of a
// run. Publishing a notice with the same id again has no effect. data is encoded as JSON.
func (s *Service) Publish(ctx context.Context, key session.Key, id, typ, run string, data any) error {
	if s == nil {
		return nil
	}
	doc, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return s.Store.Publish(ctx, &session.Notice{Key: key, ID: id, Type: typ, Run: run, JSON: doc})
}

// refused turns the refusal of a URL into an error about it.
func refused(err error) error {
	if no, ok := errors.AsType[*outbox.RefusedError](err); ok {
		return &FieldError{"url", "is refused. " + no.Error()}
	}
	return err
}

// put stores a webhook.
func (s *Service) put(ctx context.Context, sub *session.Subscription, c *config) (*Webhook, error) {
	doc, err := json.Marshal(c) //nolint:gosec // it is sealed
	if err != nil {
		return nil, err
	}
	if err := s.Box.Subscribe(ctx, sub, "", c.URL, doc); err != nil {
		return nil, refused(err)
	}
	return shown(sub, c), nil
}

func shown(sub *session.Subscription, c *config) *Webhook {
	w := &Webhook{ID: sub.ID, URL: c.URL, Description: c.Description, Events: c.Events, Created: sub.Created}
	if c.Old != "" && time.Now().Before(c.Until) {
		w.Rotated = c.Until
	}
	return w
}

// list returns the subscriptions of the webhooks of an application.
func (s *Service) list(ctx context.Context, app string) ([]*session.Subscription, error) {
	all, err := s.Store.Subscriptions(ctx, session.Key{App: app})
	return slices.DeleteFunc(all, func(sub *session.Subscription) bool { return sub.Kind != appKind }), err
}

// get returns a webhook as it is stored.
func (s *Service) get(ctx context.Context, app, id string) (*session.Subscription, *config, error) {
	all, err := s.list(ctx, app)
	if err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(all, func(sub *session.Subscription) bool { return sub.ID == id })
	if i < 0 {
		return nil, nil, ErrNotFound
	}
	c, err := s.config(ctx, all[i])
	return all[i], c, err
}

func (s *Service) config(ctx context.Context, sub *session.Subscription) (*config, error) {
	doc, err := s.Box.Config(ctx, sub.Key, sub.ID)
	if errors.Is(err, session.ErrNoSecret) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	c := &config{}
	return c, json.Unmarshal(doc, c)
}

// Create stores a new webhook. An empty id means a new one. Without a secret, it gets a new
// one.
func (s *Service) Create(ctx context.Context, app, id string, change Change) (*Webhook, error) {
	if id == "" {
		id = ident.New("wh_", 20)
	}
	if err := session.CheckIdentifier("webhook id", id); err != nil {
		return nil, err
	}
	c := &config{}
	if err := change.apply(c); err != nil {
		return nil, err
	}
	if c.URL == "" {
		return nil, &FieldError{"url", "is missing"}
	}
	if c.Secret == "" {
		c.Secret = newSecret()
	}
	before, err := s.list(ctx, app)
	if err != nil {
		return nil, err
	}
	sub := &session.Subscription{Key: session.Key{App: app}, ID: id, Kind: appKind}
	switch {
	case slices.ContainsFunc(before, func(known *session.Subscription) bool { return known.ID == id }):
		return nil, ErrExists
	case len(before) >= MaxPerApp:
		return nil, ErrTooMany
	}
	if _, err := s.put(ctx, sub, c); err != nil {
		if errors.Is(err, session.ErrExists) {
			err = ErrExists
		}
		return nil, err
	}
	made, err := s.Get(ctx, app, sub.ID) // with the time of the store
	if err != nil {
		return nil, err
	}
	made.Secret = c.Secret
	return made, nil
}

// Get returns a webhook.
func (s *Service) Get(ctx context.Context, app, id string) (*Webhook, error) {
	sub, c, err := s.get(ctx, app, id)
	if err != nil {
		return nil, err
	}
	return shown(sub, c), nil
}

// List returns the webhooks of an application, oldest first.
func (s *Service) List(ctx context.Context, app string) ([]*Webhook, error) {
	all, err := s.list(ctx, app)
	if err != nil {
		return nil, err
	}
	list := []*Webhook{}
	for _, sub := range all {
		c, err := s.config(ctx, sub)
		if errors.Is(err, ErrNotFound) {
			continue // it is being deleted
		}
		if err != nil {
			return nil, err
		}
		list = append(list, shown(sub, c))
	}
	return list, nil
}

// Change changes a webhook. A secret replaces the one before at once.
func (s *Service) Change(ctx context.Context, app, id string, change Change) (*Webhook, error) {
	sub, c, err := s.get(ctx, app, id)
	if err != nil {
		return nil, err
	}
	if err := change.apply(c); err != nil {
		return nil, err
	}
	if change.Secret != nil {
		c.Old = ""
		if c.Secret == "" {
			return nil, &FieldError{"secret", "cannot be removed"}
		}
	}
	return s.put(ctx, sub, c)
}

// Rotate makes a new secret for a webhook. The one before also signs for a day.
func (s *Service) Rotate(ctx context.Context, app, id string) (*Webhook, error) {
	sub, c, err := s.get(ctx, app, id)
	if err != nil {
		return nil, err
	}
	c.Old, c.Secret, c.Until = c.Secret, newSecret(), time.Now().Add(overlap).Truncate(time.Second)
	made, err := s.put(ctx, sub, c)
	if err != nil {
		return nil, err
	}
	made.Secret = c.Secret
	return made, nil
}

// Delete deletes a webhook with its deliveries.
func (s *Service) Delete(ctx context.Context, app, id string) error {
	sub, _, err := s.get(ctx, app, id)
	if err != nil {
		return err
	}
	return s.Box.Unsubscribe(ctx, sub.Key, sub.ID)
}

// Test sends a message of the type Test.
func (s *Service) Test(ctx context.Context, app, id string) error {
	if _, err := s.Get(ctx, app, id); err != nil {
		return err
	}
	return s.Publish(ctx, session.Key{App: app}, ident.New("test_", 20), Test, "", map[string]string{"webhook": id})
}

// Delivery is one that was not accepted yet, or that was given up.
type Delivery struct {
	*session.Delivery
	// Token identifies it for Replay. MessageID is empty if it is not one of a webhook.
	Token, MessageID, Type string
	// Receiver is the scheme and the host of the URL that it is sent to. Only Failed sets it.
	Receiver string
}

// Deliveries returns the deliveries of a webhook that were not accepted, oldest first, and
// the token of the next page.
func (s *Service) Deliveries(ctx context.Context, app, id, token string) ([]*Delivery, string, error) {
	if _, _, err := s.get(ctx, app, id); err != nil {
		return nil, "", err
	}
	return page(token, func(after int64) ([]*session.Delivery, error) {
		return s.Store.AppDeliveries(ctx, app, id, after, MaxDeliveries+1)
	})
}

// page returns a page of deliveries, and the token of the next one.
func page(token string, read func(after int64) ([]*session.Delivery, error)) ([]*Delivery, string, error) {
	after := int64(0)
	if token != "" {
		var err error
		if after, err = strconv.ParseInt(token, 10, 64); err != nil {
			return nil, "", session.ErrBadToken
		}
	}
	all, err := read(after)
	if err != nil {
		return nil, "", err
	}
	next := ""
	if len(all) > MaxDeliveries {
		all = all[:MaxDeliveries]
		next = strconv.FormatInt(all[MaxDeliveries-1].Number, 10)
	}
	list := []*Delivery{}
	for _, d := range all {
		typ := d.Type
		if typ == "" {
			typ = runPrefix + string(d.Status)
		}
		one := &Delivery{Delivery: d, Token: strconv.FormatInt(d.Number, 10), Type: typ}
		if d.Kind == appKind || d.Kind == runKind {
			one.MessageID = messageID(d)
		}
		list = append(list, one)
	}
	return list, next, nil
}

// Failed returns the deliveries of an application that were given up, oldest first, and the
// token of the next page: those of its webhooks, of single requests, and of protocols that
// send through the same outbox.
func (s *Service) Failed(ctx context.Context, app, token string) ([]*Delivery, string, error) {
	list, next, err := page(token, func(after int64) ([]*session.Delivery, error) {
		return s.Store.FailedDeliveries(ctx, app, after, MaxDeliveries+1)
	})
	type subscription struct {
		key session.Key
		id  string
	}
	known := map[subscription]string{}
	for _, d := range list {
		of := subscription{d.Key, d.ID}
		if d.All {
			of.key = session.Key{App: app}
		}
		if _, ok := known[of]; !ok {
			known[of] = s.receiver(ctx, of.key, of.id)
		}
		d.Receiver = known[of]
	}
	return list, next, err
}

// receiver returns the scheme and the host of where a subscription sends to. The rest of the
// URL may have secrets of a user. It is empty if that cannot be read, which does not hide
// the delivery.
func (s *Service) receiver(ctx context.Context, key session.Key, id string) string {
	doc, err := s.Box.Config(ctx, key, id)
	if err != nil {
		return ""
	}
	var c config // those of all kinds have a URL
	if json.Unmarshal(doc, &c) != nil {
		return ""
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// ReplayFailed attempts a delivery for another day that Failed returns.
func (s *Service) ReplayFailed(ctx context.Context, app, token string) error {
	number, err := strconv.ParseInt(token, 10, 64)
	if err != nil {
		return ErrNoDelivery
	}
	err = s.Store.ReplayFailed(ctx, app, number)
	if errors.Is(err, session.ErrNotFound) {
		return ErrNoDelivery
	}
	return err
}

// Replay attempts a delivery now. One that was given up is attempted for another day.
func (s *Service) Replay(ctx context.Context, app, id, token string) error {
	if _, _, err := s.get(ctx, app, id); err != nil {
		return err
	}
	number, err := strconv.ParseInt(token, 10, 64)
	if err != nil {
		return ErrNoDelivery
	}
	err = s.Store.ReplayDelivery(ctx, app, id, number)
	if errors.Is(err, session.ErrNotFound) {
		return ErrNoDelivery
	}
	return err
}

// For makes a receiver of one run, which has not begun. It is deleted when it was
// notified of the end of the run.
func (s *Service) For(ctx context.Context, key session.Key, run string, change Change) error {
	c := &config{}
	if err := change.apply(c); err != nil {
		return err
	}
	if c.URL == "" {
		return &FieldError{"url", "is missing"}
	}
	all, err := s.Store.Subscriptions(ctx, key)
	if err != nil {
		return err
	}
	n := 0
	for _, sub := range all {
		if sub.Kind == runKind {
			n++
		}
	}
	if n >= maxPerSession {
		return ErrTooManyRuns
	}
	_, err = s.put(ctx, &session.Subscription{Key: key, ID: runKind + "/" + run, Kind: runKind, Label: run}, c)
	return err
}

// Forget deletes what For has made.
func (s *Service) Forget(ctx context.Context, key session.Key, run string) error {
	return s.Box.Unsubscribe(ctx, key, runKind+"/"+run)
}
