package server

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/webhook"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// maxWebhook bounds the body of a webhook.
const maxWebhook = 64 << 10

// webhookRoutes are for administrators: webhooks get what concerns all users.
func (s *Server) webhookRoutes() []route {
	const webhooks = "/apps/{app}/webhooks"
	return []route{
		{"GET", webhooks, s.hooked(s.listWebhooks)},
		{"POST", webhooks, s.hooked(s.createWebhook)},
		{"GET", webhooks + "/{webhook}", s.hooked(s.getWebhook)},
		{"PATCH", webhooks + "/{webhook}", s.hooked(s.patchWebhook)},
		{"DELETE", webhooks + "/{webhook}", s.hooked(s.deleteWebhook)},
		{"POST", webhooks + "/{webhook}/rotate", s.hooked(s.rotateWebhook)},
		{"POST", webhooks + "/{webhook}/test", s.hooked(s.testWebhook)},
		{"GET", webhooks + "/{webhook}/deliveries", s.hooked(s.listHookDeliveries)},
		{"POST", webhooks + "/{webhook}/deliveries/{delivery}/replay", s.hooked(s.replayHookDelivery)},
		{"GET", "/apps/{app}/failed-deliveries", s.hooked(s.listFailedDeliveries)},
		{"POST", "/apps/{app}/failed-deliveries/{delivery}/replay", s.hooked(s.replayFailedDelivery)},
	}
}

// noWebhooks is the answer of a server that cannot send any.
func noWebhooks() error {
	return &httpError{
		status: http.StatusNotImplemented,
		message: "This server sends no webhooks, because it has no key to seal the addresses of receivers with (--credential_key_file), " +
			"or its session store cannot note them",
	}
}

// hooked refuses requests if the server sends no webhooks, and checks what the path names.
func (s *Server) hooked(route func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if _, err := s.Apps.Agent(r.PathValue("app")); errors.Is(err, run.ErrUnknownApp) {
			return err
		}
		if s.Webhooks == nil {
			return noWebhooks()
		}
		return route(w, r)
	}
}

// webhookDoc is a webhook in a response.
type webhookDoc struct {
	ID          string     `json:"id"`
	AppName     string     `json:"appName"`
	URL         string     `json:"url"`
	Description string     `json:"description,omitempty"`
	Events      []string   `json:"events"`
	Created     time.Time  `json:"createdAt"`
	Until       *time.Time `json:"previousSecretUntil,omitempty"`
	Secret      string     `json:"secret,omitempty"`
}

func webhookOf(r *http.Request, w *webhook.Webhook) *webhookDoc {
	d := &webhookDoc{
		ID: w.ID, AppName: r.PathValue("app"), URL: w.URL, Description: w.Description, Events: w.Events,
		Created: w.Created.UTC().Truncate(time.Second), Secret: w.Secret,
	}
	if len(d.Events) == 0 {
		d.Events = webhook.Types
	}
	if !w.Rotated.IsZero() {
		until := w.Rotated.UTC()
		d.Until = &until
	}
	return d
}

// readWebhook reads the members of a webhook. The id is that of a new one; nil ignores it.
func readWebhook(in *wire.Reader, c *webhook.Change, id *string) error {
	text := func(into **string) error {
		*into = new(string)
		return optional(in, *into, in.String)
	}
	return in.Patch(func(name string) error {
		switch name {
		case "id":
			if id == nil {
				return in.Skip()
			}
			return optional(in, id, in.ID)
		case "url":
			return text(&c.URL)
		case "description":
			return text(&c.Description)
		case "secret":
			return text(&c.Secret)
		case "events":
			c.Events = &[]string{}
			return optional(in, c.Events, in.Strings)
		}
		return in.Skip()
	})
}

func (s *Server) webhookChange(w http.ResponseWriter, r *http.Request, id *string) (c webhook.Change, err error) {
	doc, err := bodyUpTo(min(s.MaxBody, maxWebhook), w, r)
	if err != nil {
		return c, err
	}
	return c, wire.Decode(doc, func(in *wire.Reader) error { return readWebhook(in, &c, id) })
}

func (s *Server) createWebhook(w http.ResponseWriter, r *http.Request) error {
	var id string
	change, err := s.webhookChange(w, r, &id)
	if err != nil {
		return err
	}
	made, err := s.Webhooks.Create(r.Context(), r.PathValue("app"), id, change)
	if err != nil {
		return err
	}
	w.Header().Set("Location", r.URL.EscapedPath()+"/"+url.PathEscape(made.ID))
	return writeStatus(w, http.StatusCreated, webhookOf(r, made))
}

func (s *Server) patchWebhook(w http.ResponseWriter, r *http.Request) error {
	change, err := s.webhookChange(w, r, nil)
	if err != nil {
		return err
	}
	changed, err := s.Webhooks.Change(r.Context(), r.PathValue("app"), r.PathValue("webhook"), change)
	if err != nil {
		return err
	}
	return writeValue(w, webhookOf(r, changed))
}

func (s *Server) getWebhook(w http.ResponseWriter, r *http.Request) error {
	one, err := s.Webhooks.Get(r.Context(), r.PathValue("app"), r.PathValue("webhook"))
	if err != nil {
		return err
	}
	return writeValue(w, webhookOf(r, one))
}

func (s *Server) listWebhooks(w http.ResponseWriter, r *http.Request) error {
	list, err := s.Webhooks.List(r.Context(), r.PathValue("app"))
	if err != nil {
		return err
	}
	docs := []*webhookDoc{}
	for _, one := range list {
		docs = append(docs, webhookOf(r, one))
	}
	return writeValue(w, docs)
}

func (s *Server) deleteWebhook(w http.ResponseWriter, r *http.Request) error {
	if err := s.Webhooks.Delete(r.Context(), r.PathValue("app"), r.PathValue("webhook")); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, []byte("null"))
	return nil
}

func (s *Server) rotateWebhook(w http.ResponseWriter, r *http.Request) error {
	rotated, err := s.Webhooks.Rotate(r.Context(), r.PathValue("app"), r.PathValue("webhook"))
	if err != nil {
		return err
	}
	return writeValue(w, webhookOf(r, rotated))
}

func (s *Server) testWebhook(w http.ResponseWriter, r *http.Request) error {
	if err := s.Webhooks.Test(r.Context(), r.PathValue("app"), r.PathValue("webhook")); err != nil {
		return err
	}
	writeJSON(w, http.StatusAccepted, []byte("null"))
	return nil
}

// hookDeliveryDoc is a delivery in a response.
type hookDeliveryDoc struct {
	ID        string    `json:"id"`
	Kind      string    `json:"kind,omitempty"`
	WebhookID string    `json:"webhookId,omitempty"`
	Receiver  string    `json:"receiver,omitempty"`
	MessageID string    `json:"messageId,omitempty"`
	Type      string    `json:"type"`
	Status    string    `json:"status"`
	UserID    string    `json:"userId,omitempty"`
	SessionID string    `json:"sessionId,omitempty"`
	RunID     string    `json:"runId,omitempty"`
	Created   time.Time `json:"createdAt"`
	Attempts  int       `json:"attempts"`
	Error     string    `json:"error,omitempty"`
}

func (s *Server) listHookDeliveries(w http.ResponseWriter, r *http.Request) error {
	list, next, err := s.Webhooks.Deliveries(r.Context(), r.PathValue("app"), r.PathValue("webhook"), r.URL.Query().Get("pageToken"))
	if err != nil {
		return err
	}
	page := hookDeliveryPage{[]*hookDeliveryDoc{}, next}
	for _, d := range list {
		page.Deliveries = append(page.Deliveries, hookDelivery(d))
	}
	return writeValue(w, page)
}

type hookDeliveryPage struct {
	Deliveries []*hookDeliveryDoc `json:"deliveries"`
	Next       string             `json:"nextPageToken,omitempty"`
}

func hookDelivery(d *webhook.Delivery) *hookDeliveryDoc {
	status := "pending"
	if d.Failed {
		status = "failed"
	}
	return &hookDeliveryDoc{
		ID: d.Token, MessageID: d.MessageID, Type: d.Type, Status: status, UserID: d.Key.User, SessionID: d.Key.ID, RunID: d.Run,
		Created: d.At.UTC().Truncate(time.Millisecond), Attempts: d.Attempt, Error: d.Error,
	}
}

// listFailedDeliveries lists what was given up, of all kinds of receivers.
func (s *Server) listFailedDeliveries(w http.ResponseWriter, r *http.Request) error {
	list, next, err := s.Webhooks.Failed(r.Context(), r.PathValue("app"), r.URL.Query().Get("pageToken"))
	if err != nil {
		return err
	}
	page := hookDeliveryPage{[]*hookDeliveryDoc{}, next}
	for _, d := range list {
		doc := hookDelivery(d)
		doc.Kind, doc.Receiver = d.Kind, d.Receiver
		if d.All {
			doc.WebhookID = d.ID
		}
		page.Deliveries = append(page.Deliveries, doc)
	}
	return writeValue(w, page)
}

func (s *Server) replayFailedDelivery(w http.ResponseWriter, r *http.Request) error {
	if err := s.Webhooks.ReplayFailed(r.Context(), r.PathValue("app"), r.PathValue("delivery")); err != nil {
		return err
	}
	writeJSON(w, http.StatusAccepted, []byte("null"))
	return nil
}

func (s *Server) replayHookDelivery(w http.ResponseWriter, r *http.Request) error {
	if err := s.Webhooks.Replay(r.Context(), r.PathValue("app"), r.PathValue("webhook"), r.PathValue("delivery")); err != nil {
		return err
	}
	writeJSON(w, http.StatusAccepted, []byte("null"))
	return nil
}

// webhookError maps the errors of webhooks.
func webhookError(e *webhook.FieldError) *httpError {
	return invalid(&wire.Error{Path: []any{e.Field}, Type: "value_error", Msg: e.Message})
}

// startTelling starts a run whose request names a receiver. The receiver is stored before the run begins, so that it is
// told of its end whatever happens to this process.
func (s *Server) startTelling(ctx context.Context, req *runRequest) (*run.Run, error) {
	if s.Webhooks == nil {
		return nil, noWebhooks()
	}
	if req.ID == "" {
		req.ID = ident.Invocation()
	}
	if err := s.Webhooks.For(ctx, req.Key, req.ID, *req.webhook); err != nil {
		if bad, ok := errors.AsType[*webhook.FieldError](err); ok {
			return nil, invalid(&wire.Error{Path: []any{"webhook", bad.Field}, Type: "value_error", Msg: bad.Message})
		}
		return nil, err
	}
	started, err := s.Engine.Start(ctx, req.Request)
	down, doubt := errors.AsType[*session.UnavailableError](err)
	if doubt && down.Doubt {
		return nil, err // it may have begun
	}
	if err != nil || started.ID() != req.ID { // a repeated request has the receiver of the first one
		if forget := s.Webhooks.Forget(context.WithoutCancel(ctx), req.Key, req.ID); forget != nil {
			s.Log.WarnContext(ctx, "could not delete the webhook of a run that did not begin", "err", forget)
		}
	}
	return started, err
}
