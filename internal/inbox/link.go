package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/parley-run/parley/internal/access"
	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/run"
)

// A link lets the person who has it answer one entry, with the rights of the caller who
// made it. It is sealed: it can neither be made up nor changed, and does not show what it
// is about.

// Errors of links.
var (
	// ErrNoLinks means that there is no key to seal links with.
	ErrNoLinks = errors.New("this server has no key to seal links with: give it one for logins (Logins.KeyFile)")
	// ErrBadLink means that a link was not made here, or was changed.
	ErrBadLink = errors.New("this link is not valid: part of it may be missing")
	// ErrOldLink means that the time of a link is over.
	ErrOldLink = errors.New("this link has expired: ask for a new one")
)

// MaxLink is the longest time for which a link can be used, and DefaultLink the usual one.
const (
	MaxLink     = 30 * 24 * time.Hour
	DefaultLink = 24 * time.Hour
)

// link is what is sealed in a link.
type link struct {
	ID      string `json:"id"`
	By      string `json:"by,omitempty"` // who made it
	Expires int64  `json:"exp"`          // seconds
}

var linkBinding = vault.Bind("parley inbox link")

// Link returns the token of a link to an entry that the caller may answer.
func (s *Service) Link(ctx context.Context, id string, life time.Duration) (token string, expires time.Time, err error) {
	if s.Vault == nil {
		return "", expires, ErrNoLinks
	}
	e, err := s.Get(ctx, id)
	if err != nil {
		return "", expires, err
	}
	if !e.MayAnswer {
		return "", expires, fmt.Errorf("%w: that is for %s", run.ErrNotAllowed, e.Rule.who())
	}
	expires = time.Now().Add(life).UTC().Truncate(time.Second)
	doc, err := json.Marshal(link{ID: e.ID, By: nameOf(access.From(ctx)), Expires: expires.Unix()})
	if err != nil {
		return "", expires, err
	}
	sealed, err := s.Vault.Seal(doc, linkBinding)
	if err != nil {
		return "", expires, err
	}
	return strings.TrimPrefix(string(sealed), vault.Prefix), expires, nil
}

// maxToken bounds the tokens of links.
const maxToken = 16 << 10

// Linked is the entry that a link is about.
type Linked struct {
	*Entry
	By      string    // who made the link
	Expires time.Time // when the link does, whatever the entry
}

// Open returns what a link is about.
func (s *Service) Open(ctx context.Context, token string) (*Linked, error) {
	if s.Vault == nil || len(token) > maxToken {
		return nil, ErrBadLink
	}
	doc, err := s.Vault.Open([]byte(vault.Prefix+token), linkBinding)
	if err != nil {
		return nil, ErrBadLink
	}
	var l link
	if err := json.Unmarshal(doc, &l); err != nil {
		return nil, ErrBadLink
	}
	if time.Now().Unix() >= l.Expires {
		return nil, ErrOldLink
	}
	e, err := s.get(ctx, l.ID, nil)
	if err != nil {
		return nil, err
	}
	return &Linked{e, l.By, time.Unix(l.Expires, 0).UTC()}, nil
}

// AnswerLink answers the entry of a link.
func (s *Service) AnswerLink(ctx context.Context, token string, value func(*Entry) (json.RawMessage, error)) (*run.Run, error) {
	e, err := s.Open(ctx, token)
	if err != nil {
		return nil, err
	}
	answer, err := value(e.Entry)
	if err != nil {
		return nil, err
	}
	return s.answer(ctx, e.Entry, e.reply(answer), run.Answerer{By: e.By, Via: ViaLink})
}
