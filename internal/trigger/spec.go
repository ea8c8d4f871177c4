// Package trigger starts runs for what other services send: it checks that a request
// is from the one that a trigger is for, and makes a message of its payload.
package trigger

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/parley-run/parley/internal/wire"
	"github.com/parley-run/parley/session"
)

// Spec says which requests a trigger is for, and what it starts. It is stored as JSON.
type Spec struct {
	Description string `json:"description,omitempty"`

	Check Check `json:"check"`
	// Header or Query names where a shared secret is sent; the bearer token of the
	// request if both are empty.
	Header string `json:"header,omitempty"`
	Query  string `json:"query,omitempty"`
	// Audience, Email and Issuer are those of identity tokens. Issuer is empty for
	// Google.
	Audience string `json:"audience,omitempty"`
	Email    string `json:"email,omitempty"`
	Issuer   string `json:"issuer,omitempty"`
	// SecretEnv is the environment variable with the secret, in a file.
	SecretEnv string `json:"secretEnv,omitempty"`

	// Templates. An empty Message is the whole body, an empty Session a new session
	// for each delivery, and an empty Delivery what the check knows.
	User       string                     `json:"userId"`
	Session    string                     `json:"sessionId,omitempty"`
	Message    string                     `json:"message,omitempty"`
	Delivery   string                     `json:"deliveryId,omitempty"`
	StateDelta map[string]json.RawMessage `json:"stateDelta,omitempty"`

	// Events are the types of events that start a run, Match values that must be in
	// the payload, by their paths; none for all.
	Events []string            `json:"events,omitempty"`
	Match  map[string][]string `json:"match,omitempty"`

	Busy   session.Policy `json:"concurrency,omitempty"`
	Paused bool           `json:"paused,omitempty"`
}

const (
	maxName  = 64
	maxText  = 1 << 10
	maxList  = 100
	maxState = 64 << 10
	// minSecret keeps secrets from being guessed.
	minSecret, maxSecret = 16, 4 << 10
)

// SpecError says what is wrong with a Spec. Field is the name of a member in the API.
type SpecError struct{ Field, Message string }

func (e *SpecError) Error() string { return e.Field + ": " + e.Message }

func wrong(field, format string, args ...any) error {
	return &SpecError{field, fmt.Sprintf(format, args...)}
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// checkName reports what is wrong with the name of a trigger, which is a part of its URL
// and of session ids.
func checkName(name string) error {
	if len(name) > maxName || !nameForm.MatchString(name) {
		return wrong("name", "must have at most %d letters, digits, dots, hyphens and underscores", maxName)
	}
	return nil
}

// Read reads a member of a specification; known is false if there is none with that
// name. null resets it.
func (s *Spec) Read(in *wire.Reader, name string) (known bool, err error) {
	for member, into := range map[string]*string{
		"description": &s.Description, "check": (*string)(&s.Check), "header": &s.Header, "query": &s.Query,
		"audience": &s.Audience, "email": &s.Email, "issuer": &s.Issuer, "userId": &s.User, "sessionId": &s.Session,
		"message": &s.Message, "deliveryId": &s.Delivery, "concurrency": (*string)(&s.Busy),
	} {
		if member != name {
			continue
		}
		if *into = ""; in.Null() {
			return true, nil
		}
		return true, in.String(into)
	}
	switch name {
	case "paused":
		if s.Paused = false; in.Null() {
			return true, nil
		}
		return true, in.Bool(&s.Paused)
	case "events":
		if s.Events = nil; in.Null() {
			return true, nil
		}
		return true, in.Strings(&s.Events)
	case "stateDelta":
		if s.StateDelta = nil; in.Null() {
			return true, nil
		}
		return true, in.RawMap(&s.StateDelta)
	case "match":
		if s.Match = nil; in.Null() {
			return true, nil
		}
		return true, s.readMatch(in)
	}
	return false, nil
}

// readMatch reads a value, or a list of them, for each path.
func (s *Spec) readMatch(in *wire.Reader) error {
	s.Match = map[string][]string{}
	return in.Members(func(path string) error {
		var values []string
		if in.Kind() == '[' {
			if err := in.Strings(&values); err != nil {
				return err
			}
		} else {
			var one string
			if err := in.String(&one); err != nil {
				return err
			}
			values = []string{one}
		}
		s.Match[path] = values
		return nil
	})
}

// texts are the members that are texts, by their names in the API.
func (s *Spec) texts() map[string]string {
	return map[string]string{
		"description": s.Description, "header": s.Header, "query": s.Query, "audience": s.Audience, "email": s.Email,
		"issuer": s.Issuer, "userId": s.User, "sessionId": s.Session, "deliveryId": s.Delivery, "secretEnv": s.SecretEnv,
	}
}

// validate reports what is wrong with a trigger.
func (s *Spec) validate() error {
	for field, text := range s.texts() {
		if len(text) > maxText {
			return wrong(field, "must have at most %d bytes", maxText)
		}
	}
	if err := s.checkAuthentication(); err != nil {
		return err
	}
	switch s.Busy {
	case "", session.Enqueue, session.Reject, session.Interrupt, session.Rollback:
	default:
		return wrong("concurrency", "must be one of enqueue, reject, interrupt, rollback")
	}
	if s.User == "" {
		return wrong("userId", "must name the user that the runs are of")
	}
	for field, text := range map[string]string{"userId": s.User, "sessionId": s.Session, "message": s.Message, "deliveryId": s.Delivery} {
		t, err := parse(text)
		if err != nil {
			return wrong(field, "%s", err)
		}
		if what := map[string]string{"userId": "user id", "sessionId": "session id"}[field]; what != "" && text != "" && t.constant() {
			if err := session.CheckIdentifier(what, text); err != nil {
				return wrong(field, "%s", strings.TrimPrefix(err.Error(), "The "+what+" "))
			}
		}
	}
	return s.checkFilters()
}

func (s *Spec) checkAuthentication() error {
	switch s.Check {
	case SharedSecret:
		switch {
		case s.Header != "" && s.Query != "":
			return wrong("query", "a shared secret is in a header or in the query, not in both")
		case s.Header != "" && !headerForm.MatchString(s.Header):
			return wrong("header", "must be the name of a header")
		}
	case Google:
		switch {
		case s.Audience == "":
			return wrong("audience", "must be the audience of the tokens, which is the address of the trigger unless the subscription says otherwise")
		case s.Email == "":
			return wrong("email", "must be the service account that sends: others can get tokens for any audience")
		}
	case StandardWebhooks, GitHub, Slack, Stripe:
	default:
		return wrong("check", "must be one of %s", strings.Join(checks, ", "))
	}
	if s.Check != SharedSecret && (s.Header != "" || s.Query != "") {
		return wrong("check", "header and query are for a shared secret")
	}
	if s.Check != Google && (s.Audience != "" || s.Email != "" || s.Issuer != "") {
		return wrong("check", "audience, email and issuer are for identity tokens")
	}
	return nil
}

// headerForm is the form of names of headers.
var headerForm = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func (s *Spec) checkFilters() error {
	if len(s.Events) > maxList || slices.ContainsFunc(s.Events, func(one string) bool { return one == "" || len(one) > maxText }) {
		return wrong("events", "must be at most %d types of events", maxList)
	}
	if len(s.Match) > maxList {
		return wrong("match", "must have at most %d paths", maxList)
	}
	for _, path := range slices.Sorted(maps.Keys(s.Match)) {
		if _, err := parsePath(path); err != nil {
			return wrong("match", "%s", err)
		}
		if n := len(s.Match[path]); n == 0 || n > maxList {
			return wrong("match", "%s must have one value, or at most %d", path, maxList)
		}
	}
	size := 0
	for _, key := range slices.Sorted(maps.Keys(s.StateDelta)) {
		size += len(key) + len(s.StateDelta[key])
		if err := checkValue(s.StateDelta[key]); err != nil {
			return wrong("stateDelta", "%s: %s", key, err)
		}
	}
	if size > maxState {
		return wrong("stateDelta", "must have at most %d bytes", maxState)
	}
	return nil
}

// WritesShared reports whether the trigger writes state that all users share.
func (s *Spec) WritesShared() bool {
	for key := range s.StateDelta {
		if session.ScopeOf(key) == session.ScopeApp {
			return true
		}
	}
	return false
}

// FixedUser returns the user of all runs; empty if the payload names it.
func (s *Spec) FixedUser() string {
	if t, err := parse(s.User); err != nil || !t.constant() {
		return ""
	}
	return s.User
}

// checkSecret reports what is wrong with a secret. It may be several, separated by
// spaces, so that one can be replaced by another.
func checkSecret(check Check, secret string) error {
	if len(secret) > maxSecret {
		return wrong("secret", "must have at most %d bytes", maxSecret)
	}
	all := strings.Fields(secret)
	if len(all) == 0 {
		return wrong("secret", "must not be empty")
	}
	for _, one := range all {
		if len(one) < minSecret {
			return wrong("secret", "must have at least %d characters; spaces separate several secrets", minSecret)
		}
		if check == StandardWebhooks {
			if _, err := standardKey(one); err != nil {
				return wrong("secret", "must be whsec_ and base64, as Standard Webhooks has it")
			}
		}
	}
	return nil
}

// Trigger is a trigger of an application.
type Trigger struct {
	App, Name string
	Spec      Spec
	Created   time.Time
	// Owner is who has created it; nil if it is in the directory of the application.
	Owner *Owner
	// Problem is why no request is accepted; empty if they are.
	Problem string

	secret  string
	version int64
}
