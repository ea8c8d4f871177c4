package access

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/parley-run/parley/internal/openid"
	"github.com/parley-run/parley/session"
)

// Holder is a caller as it is stored with something that acts for it later.
type Holder struct {
	ID     string  `json:"id,omitempty"`
	User   string  `json:"user,omitempty"`
	Scopes []Scope `json:"scopes,omitempty"`
}

// Holder returns the caller for Recall.
func (c *Caller) Holder() Holder {
	if c == nil {
		return Holder{}
	}
	return Holder{c.ID, c.User, slices.Clone(c.scopes)}
}

// Recall returns a caller of the past with what it may do now. It fails with a
// *RefusedError if that is nothing, and with an *UnavailableError.
type Recall func(ctx context.Context, h Holder) (*Caller, error)

// RecallKeys is for callers with API keys: a key that was revoked or has expired is
// refused.
func RecallKeys(store session.APIKeys) Recall {
	return func(ctx context.Context, h Holder) (*Caller, error) {
		id, ok := strings.CutPrefix(h.ID, keyCaller)
		if !ok {
			return nil, &RefusedError{"the caller had no API key"}
		}
		key, err := store.APIKey(ctx, id)
		switch {
		case errors.Is(err, session.ErrNoAPIKey):
			return nil, &RefusedError{"there is no API key " + id}
		case err != nil:
			return nil, &UnavailableError{err}
		case !key.Expires.IsZero() && !time.Now().Before(key.Expires):
			return nil, &RefusedError{"the API key " + id + " has expired"}
		}
		return callerOf(key), nil
	}
}

// RecallUsers is for callers whom an issuer or a platform names. It cannot be asked what
// they may do now, so they may do what they could.
func RecallUsers(_ context.Context, h Holder) (*Caller, error) {
	if !strings.HasPrefix(h.ID, userCaller) {
		return nil, &RefusedError{"it is not known who the caller was"}
	}
	return &Caller{ID: h.ID, User: h.User, scopes: h.Scopes}, nil
}

// RecallAll is for a server whose callers may all do the same.
func RecallAll(scopes ...Scope) Recall {
	return func(_ context.Context, h Holder) (*Caller, error) {
		return &Caller{ID: h.ID, scopes: scopes}, nil
	}
}

// Tokens verifies identity tokens of any issuers that it is asked about.
type Tokens struct {
	mu      sync.Mutex
	issuers map[string]*issuer
}

// Verify verifies the signature, the issuer and the times of a token. It fails with a
// *RefusedError or an *UnavailableError.
func (t *Tokens) Verify(ctx context.Context, issuerURL, token string) (*openid.Token, error) {
	if len(token) > maxToken || issuerOf(token) != issuerURL {
		return nil, &RefusedError{"the token is not one of " + issuerURL}
	}
	i, err := t.issuer(issuerURL)
	if err != nil {
		return nil, &UnavailableError{err}
	}
	return i.verify(ctx, token)
}

func (t *Tokens) issuer(url string) (*issuer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := t.issuers[url]; i != nil {
		return i, nil
	}
	library, err := openid.Find()
	if err != nil {
		return nil, err
	}
	i, err := newIssuer(url, library)
	if err != nil {
		return nil, err
	}
	if t.issuers == nil {
		t.issuers = map[string]*issuer{}
	}
	t.issuers[url] = i
	return i, nil
}
