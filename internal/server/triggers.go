package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/run"
	"github.com/parley-run/parley/internal/trigger"
	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

const (
	// maxTrigger bounds the body of a trigger, maxDelivery that of a request for one.
	maxTrigger  = 256 << 10
	maxDelivery = 5 << 20

	triggersPath = "/apps/{app}/triggers"
	triggerPath  = triggersPath + "/{name}"
)

func (s *Server) triggerRoutes() []route {
	return []route{
		{"GET", triggersPath, s.triggered(s.listTriggers)},
		{"POST", triggersPath, s.triggered(s.createTrigger)},
		{"GET", triggerPath, s.triggered(s.getTrigger)},
		{"PATCH", triggerPath, s.triggered(s.patchTrigger)},
		{"DELETE", triggerPath, s.triggered(s.deleteTrigger)},
		{"GET", triggerPath + "/deliveries", s.triggered(s.listDeliveries)},
		{"POST", triggerPath, s.deliver},
	}
}

// triggered checks that there are triggers.
func (s *Server) triggered(route func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := session.CheckIdentifier("application name", r.PathValue("app")); err != nil {
			return err
		}
		if s.Triggers == nil {
			return cmp.Or(s.knownApp(r), error(&httpError{status: http.StatusNotImplemented, message: "This server has no triggers"}))
		}
		return route(w, r)
	}
}

// knownApp checks that the path names an application.
func (s *Server) knownApp(r *http.Request) error {
	if slices.Contains(s.Apps.Names(), r.PathValue("app")) {
		return nil
	}
	return run.ErrUnknownApp
}

// triggerDoc is a trigger in a response.
type triggerDoc struct {
	Name        string                     `json:"name"`
	AppName     string                     `json:"appName"`
	Path        string                     `json:"path"`
	Description string                     `json:"description,omitempty"`
	Check       trigger.Check              `json:"check"`
	Header      string                     `json:"header,omitempty"`
	Query       string                     `json:"query,omitempty"`
	Audience    string                     `json:"audience,omitempty"`
	Email       string                     `json:"email,omitempty"`
	Issuer      string                     `json:"issuer,omitempty"`
	SecretEnv   string                     `json:"secretEnv,omitempty"`
	UserID      string                     `json:"userId"`
	SessionID   string                     `json:"sessionId,omitempty"`
	Message     string                     `json:"message,omitempty"`
	DeliveryID  string                     `json:"deliveryId,omitempty"`
	StateDelta  map[string]json.RawMessage `json:"stateDelta,omitempty"`
	Events      []string                   `json:"events,omitempty"`
	Match       map[string][]string        `json:"match,omitempty"`
	Concurrency session.Policy             `json:"concurrency,omitempty"`
	Paused      bool                       `json:"paused"`
	Source      string                     `json:"source"`
	Owner       string                     `json:"owner,omitempty"`
	Created     time.Time                  `json:"createdAt,omitzero"`
	Problem     string                     `json:"problem,omitempty"`
	Secret      string                     `json:"secret,omitempty"`
}

func triggerOf(t *trigger.Trigger, secret string) *triggerDoc {
	s := &t.Spec
	d := &triggerDoc{
		Name: t.Name, AppName: t.App, Path: "/apps/" + url.PathEscape(t.App) + "/triggers/" + url.PathEscape(t.Name),
		Description: s.Description, Check: s.Check, Header: s.Header, Query: s.Query, Audience: s.Audience, Email: s.Email,
		Issuer: s.Issuer, SecretEnv: s.SecretEnv, UserID: s.User, SessionID: s.Session, Message: s.Message, DeliveryID: s.Delivery,
		StateDelta: s.StateDelta, Events: s.Events, Match: s.Match, Concurrency: s.Busy, Paused: s.Paused,
		Source: "file", Created: t.Created, Problem: t.Problem, Secret: secret,
	}
	if t.Owner != nil {
		d.Source, d.Owner = "api", t.Owner.ID
	}
	return d
}

// readTrigger reads the members of a trigger. null resets one, and makes up another secret. The name is that of a new
// trigger.
func readTrigger(doc []byte, spec *trigger.Spec, name, secret *string) error {
	return wire.Decode(doc, func(in *wire.Reader) error {
		return in.Patch(func(member string) error {
			switch {
			case member == "name" && name != nil:
				return optional(in, name, in.ID)
			case member == "secret":
				return optional(in, secret, in.String)
			}
			known, err := spec.Read(in, member)
			if err == nil && !known {
				err = in.Skip()
			}
			return err
		})
	})
}

// unsealable refuses triggers that cannot be stored.
func (s *Server) unsealable() error {
	if s.Triggers.CanKeep() {
		return nil
	}
	return &httpError{status: http.StatusNotImplemented, message: "Triggers cannot be stored: the server has no key to seal their secrets with. " +
		"Start it with --credential_key_file, or with PARLEY_CREDENTIAL_KEY set; or write them to " + trigger.FileName + " in the directory of the application"}
}

func (s *Server) createTrigger(w http.ResponseWriter, r *http.Request) error {
	doc, err := bodyUpTo(min(s.MaxBody, maxTrigger), w, r)
	if err != nil {
		return err
	}
	var (
		spec         trigger.Spec
		name, secret string
	)
	if err := readTrigger(doc, &spec, &name, &secret); err != nil {
		return err
	}
	if err := cmp.Or(s.knownApp(r), s.unsealable()); err != nil {
		return err
	}
	made, secret, err := s.Triggers.Create(r.Context(), callerOf(r), r.PathValue("app"), name, secret, &spec)
	if err != nil {
		return err
	}
	d := triggerOf(made, secret)
	w.Header().Set("Location", d.Path)
	return writeStatus(w, http.StatusCreated, d)
}

func (s *Server) patchTrigger(w http.ResponseWriter, r *http.Request) error {
	doc, err := bodyUpTo(min(s.MaxBody, maxTrigger), w, r)
	if err != nil {
		return err
	}
	changed, secret, err := s.Triggers.Change(r.Context(), callerOf(r), r.PathValue("app"), r.PathValue("name"), func(spec *trigger.Spec, secret *string) error {
		return readTrigger(doc, spec, nil, secret)
	})
	if err != nil {
		return err
	}
	return writeValue(w, triggerOf(changed, secret))
}

func (s *Server) getTrigger(w http.ResponseWriter, r *http.Request) error {
	t, err := s.Triggers.Get(r.Context(), callerOf(r), r.PathValue("app"), r.PathValue("name"))
	if err != nil {
		return err
	}
	return writeValue(w, triggerOf(t, ""))
}

func (s *Server) listTriggers(w http.ResponseWriter, r *http.Request) error {
	list, problem, err := s.Triggers.List(r.Context(), callerOf(r), r.PathValue("app"))
	if err != nil {
		return err
	}
	if problem != nil && callerOf(r).May(access.Admin) {
		return &httpError{status: http.StatusConflict, message: trigger.FileName + " cannot be read: " + problem.Error()}
	}
	if len(list) == 0 { // those of an application that was removed can be deleted
		if err := s.knownApp(r); err != nil {
			return err
		}
	}
	docs := []*triggerDoc{}
	for _, one := range list {
		docs = append(docs, triggerOf(one, ""))
	}
	return writeValue(w, docs)
}

func (s *Server) deleteTrigger(w http.ResponseWriter, r *http.Request) error {
	if err := s.Triggers.Delete(r.Context(), callerOf(r), r.PathValue("app"), r.PathValue("name")); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, []byte("null"))
	return nil
}

// deliveryDoc is what has come of a delivery.
type deliveryDoc struct {
	Time    time.Time `json:"time,omitzero"`
	Outcome string    `json:"outcome"`
	ID      string    `json:"deliveryId,omitempty"`
	Type    string    `json:"eventType,omitempty"`
	User    string    `json:"userId,omitempty"`
	Session string    `json:"sessionId,omitempty"`
	Run     string    `json:"runId,omitempty"`
	Reason  string    `json:"reason,omitempty"`
}

func deliveryOf(p *trigger.Past) *deliveryDoc {
	return &deliveryDoc{p.Time.UTC().Truncate(time.Millisecond), p.Outcome, p.Delivery, p.Type, p.User, p.Session, p.Run, p.Error}
}

func (s *Server) listDeliveries(w http.ResponseWriter, r *http.Request) error {
	t, err := s.Triggers.Get(r.Context(), callerOf(r), r.PathValue("app"), r.PathValue("name"))
	if err != nil {
		return err
	}
	docs := []*deliveryDoc{}
	for _, one := range s.Triggers.Past(t.App, t.Name) {
		docs = append(docs, deliveryOf(one))
	}
	return writeValue(w, docs)
}

// deliver starts the run of a trigger. The trigger knows its sender, who is not a caller of the server: an unknown
// application, an unknown trigger and a wrong signature have the same answer.
func (s *Server) deliver(w http.ResponseWriter, r *http.Request) error {
	body, err := deliveryBody(min(s.MaxBody, maxDelivery), w, r)
	if err != nil {
		return err
	}
	req := &trigger.Request{App: r.PathValue("app"), Name: r.PathValue("name"), Header: r.Header, Query: r.URL.Query(), Body: body}
	if s.Triggers == nil {
		return s.otherSender(w, r, &trigger.RefusedError{Why: "the server has no triggers"})
	}
	t, err := s.Triggers.Authenticate(r.Context(), req)
	if err != nil {
		return s.otherSender(w, r, err)
	}
	if s.Rate != nil {
		if wait := s.Rate.Wait("trigger:"+t.Name, t.App); wait > 0 {
			s.delivered(t.App, "limited")
			return s.tooOften(wait)
		}
	}
	result, err := s.Triggers.Deliver(r.Context(), t, req, s.Recall)
	s.delivered(t.App, result.Outcome)
	if err != nil {
		return err
	}
	switch {
	case result.Challenge != "":
		return writeValue(w, map[string]string{"challenge": result.Challenge})
	case result.Run != "":
		w.Header().Set("Location", runPath(result.Key, result.Run))
		w.Header()[runHeader] = []string{result.Run}
	}
	d := deliveryOf(&result.Past)
	d.Time = time.Time{}
	return writeStatus(w, http.StatusAccepted, d)
}

// otherSender is the error for a request that is not from the sender of a trigger.
func (s *Server) otherSender(w http.ResponseWriter, r *http.Request, err error) error {
	refused, ok := errors.AsType[*trigger.RefusedError](err)
	if _, away := errors.AsType[*access.UnavailableError](err); !ok && !away {
		return err // of the store
	}
	s.delivered("", trigger.Refused)
	if ok {
		err = &access.RefusedError{Why: refused.Why}
	}
	if ok && header(r, "Authorization") == "" {
		err = fmt.Errorf("%s: %w", refused.Why, access.ErrNoToken)
	}
	return s.unknown(w, r, err)
}

// delivered counts a delivery.
func (s *Server) delivered(app, outcome string) {
	if s.Observer != nil {
		s.Observer.Delivery(app, outcome)
	}
}

// deliveryBody reads a body of any type.
func deliveryBody(limit int64, w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	defer func() { _ = http.NewResponseController(w).SetReadDeadline(time.Time{}) }()
	content, err := contentOf(w, r, limit)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(content)
	return body, bodyError(err)
}
