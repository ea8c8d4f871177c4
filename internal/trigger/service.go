package trigger

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/parley-run/parley/event"
	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/ident"
	"github.com/parley-run/parley/internal/openid"
	"github.com/parley-run/parley/session"
)

const (
	// maxPerApp and maxPerOwner are how many triggers an application, and a caller,
	// may have.
	maxPerApp, maxPerOwner = 1000, 100
	// prefix begins the names of the secrets in which triggers are stored.
	prefix = "trigger/"
)

var (
	// ErrNotFound means that there is no such trigger, or that the caller may not see it.
	ErrNotFound = errors.New("trigger not found")
	// ErrExists means that the application has a trigger with this name.
	ErrExists = errors.New("the application has a trigger with this name")
	// ErrTooMany means that there are too many triggers.
	ErrTooMany = fmt.Errorf("an application may have %d triggers, and a caller %d of them: delete one", maxPerApp, maxPerOwner)
	// ErrChanged means that others have changed the trigger at the same time.
	ErrChanged = errors.New("the trigger was changed at the same time; try again")
	// ErrInFile means that a trigger cannot be changed, because it is in a file.
	ErrInFile = errors.New("the trigger is in triggers.yaml in the directory of the application: change it there")
	// ErrOwner means that who has created a trigger may not do any more what it does.
	ErrOwner = errors.New("the caller who has created the trigger may not act for its user any more: create it again")
)

// ForbiddenError means that a caller may not have such a trigger.
type ForbiddenError struct{ Message string }

func (e *ForbiddenError) Error() string { return e.Message }

// Owner is who has created a trigger.
type Owner = access.Holder

// Vault stores sealed values. Values have versions, 0 if there is none.
type Vault interface {
	CanKeep() bool
	KeptVersion(ctx context.Context, id session.SecretID) (value []byte, version int64, err error)
	KeepVersion(ctx context.Context, id session.SecretID, version int64, value []byte) error
	KeptNames(ctx context.Context, app, user, prefix string) ([]string, error)
	Drop(ctx context.Context, id session.SecretID) error
}

// Tokens verifies identity tokens. It fails with an *access.RefusedError or an
// *access.UnavailableError.
type Tokens interface {
	Verify(ctx context.Context, issuer, token string) (*openid.Token, error)
}

// Start is a run to be started.
type Start struct {
	Key        session.Key
	Message    *event.Content
	StateDelta map[string]json.RawMessage
	Busy       session.Policy
	// IdempotencyKey is that of the delivery; empty if it has no id.
	IdempotencyKey string
	Trigger        string
	Delivery       string // the id, which may be empty
	Type           string // of the event, which may be empty
}

// Starter starts runs.
type Starter interface {
	// Start starts a run, or finds the one that was started with the same
	// IdempotencyKey.
	Start(ctx context.Context, start *Start) (run string, repeated bool, err error)
}

// Service manages triggers, and starts their runs. The fields other than Vault are
// required.
type Service struct {
	// Vault stores the triggers of callers; nil if there are none.
	Vault Vault
	// Files returns the triggers in the directory of an application.
	Files   func(app string) (map[string]*Trigger, error)
	Starter Starter
	Tokens  Tokens
	Now     func() time.Time // nil for time.Now
	Log     *slog.Logger

	past history
}

func (s *Service) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// stored is a trigger as it is stored.
type stored struct {
	Spec    Spec      `json:"spec"`
	Secret  string    `json:"secret,omitempty"`
	Owner   Owner     `json:"owner"`
	Created time.Time `json:"created"`
}

// CanKeep reports whether callers can create triggers.
func (s *Service) CanKeep() bool { return s.Vault != nil && s.Vault.CanKeep() }

func secretID(app, name string) session.SecretID {
	return session.SecretID{App: app, Name: prefix + name}
}

// kept returns a trigger that a caller has created; nil if there is none.
func (s *Service) kept(ctx context.Context, app, name string) (*Trigger, error) {
	if !s.CanKeep() {
		return nil, nil
	}
	value, version, err := s.Vault.KeptVersion(ctx, secretID(app, name))
	if errors.Is(err, session.ErrNoSecret) {
		return nil, nil
	}
	if errors.Is(err, vault.ErrSealed) {
		return &Trigger{App: app, Name: name, Owner: &Owner{}, Problem: "it was sealed with a key that is lost: delete it, and create it again"}, nil
	}
	if err != nil {
		return nil, err
	}
	var one stored
	if err := json.Unmarshal(value, &one); err != nil {
		return nil, fmt.Errorf("trigger %s: %w", name, err)
	}
	return &Trigger{App: app, Name: name, Spec: one.Spec, Created: one.Created, Owner: &one.Owner, secret: one.Secret, version: version}, nil
}

// find returns a trigger. One in a file goes before one that is stored, which is looked
// up in any case: an unknown name takes as long.
func (s *Service) find(ctx context.Context, app, name string) (*Trigger, error) {
	if checkName(name) != nil || session.CheckIdentifier("application name", app) != nil {
		return nil, ErrNotFound
	}
	t, err := s.kept(ctx, app, name)
	if err != nil {
		return nil, err
	}
	files, err := s.Files(app)
	if one := files[name]; one != nil {
		return one, nil
	}
	if t == nil {
		return nil, errors.Join(ErrNotFound, err)
	}
	return t, nil
}

// visible reports whether a caller may see a trigger.
func (t *Trigger) visible(caller *access.Caller) bool {
	if caller.May(access.Admin) || t.Owner != nil && caller.ID == t.Owner.ID {
		return true
	}
	if user := t.Spec.FixedUser(); user != "" {
		return caller.Is(user)
	}
	return caller.May(access.Users)
}

// Get returns a trigger that a caller may see.
func (s *Service) Get(ctx context.Context, caller *access.Caller, app, name string) (*Trigger, error) {
	t, err := s.find(ctx, app, name)
	if err != nil {
		return nil, err
	}
	if !t.visible(caller) {
		return nil, ErrNotFound
	}
	return t, nil
}

// List returns the triggers that a caller may see by name. problem is why those of the
// file could not be read.
func (s *Service) List(ctx context.Context, caller *access.Caller, app string) (list []*Trigger, problem, err error) {
	all, problem := s.Files(app)
	all = maps.Clone(all)
	if all == nil {
		all = map[string]*Trigger{}
	}
	if s.CanKeep() {
		names, err := s.Vault.KeptNames(ctx, app, "", prefix)
		if err != nil {
			return nil, nil, err
		}
		for _, full := range names {
			name := strings.TrimPrefix(full, prefix)
			if all[name] != nil {
				continue
			}
			t, err := s.kept(ctx, app, name)
			if err != nil {
				return nil, nil, err
			}
			if t != nil { // else it was deleted
				all[name] = t
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name].visible(caller) {
			list = append(list, all[name])
		}
	}
	return list, problem, nil
}

// allow checks that a caller may have a trigger.
func allow(caller *access.Caller, spec *Spec) error {
	if spec.User == "" {
		spec.User = caller.Self()
	}
	if user := spec.FixedUser(); !caller.May(access.Users) && (user == "" || !caller.Is(user)) {
		return &ForbiddenError{"Forbidden: the trigger would act for another user, which needs the scope users"}
	}
	if spec.WritesShared() && !caller.May(access.Admin) {
		return &ForbiddenError{"Forbidden: only administrators may have triggers that write app: state, which all users share"}
	}
	if spec.Issuer != "" {
		return wrong("issuer", "can be another one than Google only in triggers.yaml: the server calls it")
	}
	return nil
}

// put stores a trigger of a caller.
func (s *Service) put(ctx context.Context, caller *access.Caller, t *Trigger) error {
	if err := allow(caller, &t.Spec); err != nil {
		return err
	}
	if err := t.Spec.validate(); err != nil {
		return err
	}
	if err := t.checkSecret(); err != nil {
		return err
	}
	owner := caller.Holder()
	doc, err := json.Marshal(stored{t.Spec, t.secret, owner, t.Created}) //nolint:gosec // it is sealed
	if err != nil {
		return err
	}
	if err := s.Vault.KeepVersion(ctx, secretID(t.App, t.Name), t.version, doc); err != nil {
		if errors.Is(err, session.ErrChanged) && t.version == 0 {
			return ErrExists
		}
		if errors.Is(err, session.ErrChanged) {
			return ErrChanged
		}
		return err
	}
	t.Owner = &owner
	return nil
}

// checkSecret checks the secret, and generates one where the user configures it at the sender.
func (t *Trigger) checkSecret() error {
	switch {
	case t.Spec.Check == Google && t.secret != "":
		return wrong("secret", "identity tokens need none")
	case t.Spec.Check == Google:
		return nil
	case t.secret == "" && (t.Spec.Check == Slack || t.Spec.Check == Stripe):
		return wrong("secret", "must be the signing secret that the sender shows")
	case t.secret == "" && t.Spec.Check == StandardWebhooks:
		key := make([]byte, 32)
		_, _ = rand.Read(key) // it never fails
		t.secret = "whsec_" + base64.StdEncoding.EncodeToString(key)
	case t.secret == "":
		t.secret = rand.Text()
	}
	return checkSecret(t.Spec.Check, t.secret)
}

// Create stores a trigger of a caller. An empty name means a new one, an empty secret
// one that is made up where the check allows it. It returns the secret.
func (s *Service) Create(ctx context.Context, caller *access.Caller, app, name, secret string, spec *Spec) (*Trigger, string, error) {
	if name == "" {
		name = ident.Session()
	}
	if err := checkName(name); err != nil {
		return nil, "", err
	}
	switch _, err := s.find(ctx, app, name); {
	case err == nil:
		return nil, "", ErrExists
	case !errors.Is(err, ErrNotFound):
		return nil, "", err
	}
	if err := s.bounds(ctx, caller, app); err != nil {
		return nil, "", err
	}
	t := &Trigger{App: app, Name: name, Spec: *spec, Created: s.now().UTC().Truncate(time.Second), secret: secret}
	if err := s.put(ctx, caller, t); err != nil {
		return nil, "", err
	}
	return t, t.secret, nil
}

// bounds refuses a caller or an application with too many triggers.
func (s *Service) bounds(ctx context.Context, caller *access.Caller, app string) error {
	names, err := s.Vault.KeptNames(ctx, app, "", prefix)
	if err != nil {
		return err
	}
	if len(names) >= maxPerApp {
		return ErrTooMany
	}
	if len(names) < maxPerOwner {
		return nil
	}
	mine := 0
	for _, full := range names {
		t, err := s.kept(ctx, app, strings.TrimPrefix(full, prefix))
		if err != nil {
			return err
		}
		if t != nil && t.Owner.ID == caller.Holder().ID {
			mine++
		}
	}
	if mine >= maxPerOwner && !caller.May(access.Admin) {
		return ErrTooMany
	}
	return nil
}

// own returns a trigger that a caller may change.
func (s *Service) own(ctx context.Context, caller *access.Caller, app, name string) (*Trigger, error) {
	t, err := s.Get(ctx, caller, app, name)
	if err == nil && t.Owner == nil {
		return nil, ErrInFile
	}
	return t, err
}

// Change changes a trigger, which the caller owns from then on. An empty secret means
// one that is made up where the check allows it. It returns the secret if it is new.
func (s *Service) Change(ctx context.Context, caller *access.Caller, app, name string, change func(spec *Spec, secret *string) error) (*Trigger, string, error) {
	t, err := s.own(ctx, caller, app, name)
	if err != nil {
		return nil, "", err
	}
	before := t.secret
	if err := change(&t.Spec, &t.secret); err != nil {
		return nil, "", err
	}
	if t.Spec.Check == Google && t.secret == before {
		t.secret = ""
	}
	if err := s.put(ctx, caller, t); err != nil {
		return nil, "", err
	}
	if t.secret == before {
		return t, "", nil
	}
	return t, t.secret, nil
}

// Delete deletes a trigger. Its runs and sessions stay.
func (s *Service) Delete(ctx context.Context, caller *access.Caller, app, name string) error {
	if _, err := s.own(ctx, caller, app, name); err != nil {
		return err
	}
	if err := s.Vault.Drop(ctx, secretID(app, name)); err != nil {
		return err
	}
	s.past.drop(app, name)
	return nil
}
