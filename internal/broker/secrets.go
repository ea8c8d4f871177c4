package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/retry"
	"github.com/parley-run/parley/session"
)

// credentialPrefix begins the names of stored credentials.
const credentialPrefix = "credential/" //nolint:gosec // a name, not a credential

// client is an OAuth client with its endpoints. It is stored with a login, because a login may be completed, refreshed
// or revoked when its tool no longer exists.
type client struct {
	ID         string   `json:"id,omitempty"`
	Secret     string   `json:"secret,omitempty"`
	Method     string   `json:"method,omitempty"`
	TokenURL   string   `json:"tokenUrl,omitempty"`
	RefreshURL string   `json:"refreshUrl,omitempty"`
	RevokeURL  string   `json:"revokeUrl,omitempty"`
	Discovery  string   `json:"discovery,omitempty"` // the discovery URL, if any
	Issuer     string   `json:"issuer,omitempty"`
	SaysIssuer bool     `json:"saysIssuer,omitempty"` // callbacks have the iss parameter
	Scopes     []string `json:"scopes,omitempty"`
}

// pending is a login that a user has been asked for.
type pending struct {
	ID          string    `json:"id"`
	Client      client    `json:"client"`
	AuthURI     string    `json:"authUri,omitempty"` // empty if the user is asked for the credential itself
	State       string    `json:"state,omitempty"`
	Verifier    string    `json:"verifier,omitempty"`
	Nonce       string    `json:"nonce,omitempty"`
	RedirectURI string    `json:"redirectUri,omitempty"`
	Created     time.Time `json:"created"`
	Requests    []string  `json:"requests,omitempty"` // the ids under which the client was asked
	Received    *received `json:"received,omitempty"`
	// Managed logins can go through this server; Browser is a digest of the token of the browser in which it was begun.
	Managed bool   `json:"managed,omitempty"`
	Browser string `json:"browser,omitempty"`
}

// received is the answer of the user.
type received struct {
	Denied      bool            `json:"denied,omitempty"`
	Code        string          `json:"code,omitempty"`
	RedirectURI string          `json:"redirectUri,omitempty"`
	Credential  json.RawMessage `json:"credential,omitempty"` // if the user was asked for it
}

// mostRequests bounds the ids of a pending login.
const mostRequests = 50

func (p *pending) bound(requestID string) bool { return slices.Contains(p.Requests, requestID) }

// about returns what is public about a pending login.
func (p *pending) about() about { return about{Provider: p.provider()} }

func (p *pending) provider() string {
	if p.AuthURI == "" {
		return ""
	}
	return host(p.Client.TokenURL)
}

// grant is the credential of a login.
type grant struct {
	Client       client          `json:"client"`
	Key          string          `json:"key"`
	Type         credential.Type `json:"type"`
	AccessToken  string          `json:"accessToken,omitempty"`
	RefreshToken string          `json:"refreshToken,omitempty"`
	IDToken      string          `json:"idToken,omitempty"`
	ExpiresAt    int64           `json:"expiresAt,omitempty"` // in seconds since 1970, 0 for never
	Scopes       []string        `json:"scopes,omitempty"`
	GrantedAt    int64           `json:"grantedAt"`
	Credential   json.RawMessage `json:"credential,omitempty"` // typed in by the user
	// The login that it came from, and the requests that it answers.
	Pending  string   `json:"pending"`
	Session  string   `json:"session"`
	Requests []string `json:"requests,omitempty"`
}

// answers reports whether a request was answered with the credential.
func (g *grant) answers(key session.Key, requestID string) bool {
	return g.Session == key.ID && slices.Contains(g.Requests, requestID)
}

// about is what may be shown of a secret.
type about struct {
	Key       string          `json:"key,omitempty"`
	Type      credential.Type `json:"type,omitempty"`
	Provider  string          `json:"provider,omitempty"`
	Scopes    []string        `json:"scopes,omitempty"`
	ExpiresAt int64           `json:"expiresAt,omitempty"`
	GrantedAt int64           `json:"grantedAt,omitempty"`
	// Owner is the application and the user of a secret without a session, because stores do not always know them.
	Owner []string `json:"owner,omitempty"`
}

func (g *grant) about() about {
	return about{
		Key: g.Key, Type: g.Type, Provider: g.provider(), Scopes: g.Scopes, ExpiresAt: g.ExpiresAt, GrantedAt: g.GrantedAt,
	}
}

func (g *grant) provider() string {
	if g.Client.TokenURL == "" {
		return ""
	}
	return host(g.Client.TokenURL)
}

// expired reports whether the access token expires within some time.
func (g *grant) expired(now time.Time, within time.Duration) bool {
	return g.ExpiresAt != 0 && now.Add(within).Unix() >= g.ExpiresAt
}

// credential returns what a tool receives: enough to call the API, and no more.
func (g *grant) credential(now time.Time) (*credential.Credential, error) {
	if g.Credential != nil {
		return credential.DecodeCredential(g.Credential)
	}
	o := &credential.OAuth2{ClientID: g.Client.ID, AccessToken: g.AccessToken, IDToken: g.IDToken, ExpiresAt: g.ExpiresAt}
	if g.ExpiresAt != 0 {
		o.ExpiresIn = max(1, g.ExpiresAt-now.Unix())
	}
	return &credential.Credential{Type: g.Type, OAuth2: o}, nil
}

// kept is a value that is stored sealed.
type kept interface{ about() about }

// mark identifies the version of a secret, for replacing it.
type mark struct {
	version int64
	stale   bool // it is sealed with an old key
}

// load opens a secret. It returns nil if there is none, and also if it cannot be opened: then the user has to log in
// again, which replaces it.
func load[T any](ctx context.Context, b *Broker, id session.SecretID) (value *T, at mark, err error) {
	if b.vault == nil {
		return nil, mark{}, ErrNoKey
	}
	s, err := b.secrets.Secret(ctx, id)
	if errors.Is(err, session.ErrNoSecret) {
		return nil, mark{}, nil
	}
	if err != nil {
		return nil, mark{}, fmt.Errorf("read credential: %w", err)
	}
	at = mark{s.Version, b.vault.Stale(s.Sealed)}
	plain, err := b.vault.Open(s.Sealed, bind(id))
	if err == nil {
		value = new(T)
		err = json.Unmarshal(plain, value)
	}
	if err != nil {
		b.log.WarnContext(ctx, "a stored credential cannot be opened; the user has to log in again",
			"app", id.App, "session_id", id.Session)
		return nil, at, nil //nolint:nilerr // it counts as absent
	}
	return value, at, nil
}

// save seals a secret and replaces the one that was loaded.
func (b *Broker) save(ctx context.Context, id session.SecretID, over mark, value kept) error {
	if b.vault == nil {
		return ErrNoKey
	}
	plain, err := json.Marshal(value)
	if err != nil {
		return errors.New("store credential: it cannot be encoded")
	}
	is := value.about()
	if id.Session == "" {
		is.Owner = []string{id.App, id.User}
	}
	shown, err := json.Marshal(is)
	if err != nil {
		return errors.New("store credential: it cannot be described")
	}
	sealed, err := b.vault.Seal(plain, bind(id))
	if err != nil {
		return err
	}
	_, err = b.secrets.PutSecret(ctx, &session.Secret{SecretID: id, Version: over.version, Sealed: sealed, About: shown})
	if err != nil {
		return fmt.Errorf("store credential: %w", err)
	}
	return nil
}

// attempts is the number of attempts to store something that must not be lost.
const attempts = 4

// saveSurely is like save for a value that cannot be obtained again. If an attempt succeeded without a response, the
// next one returns session.ErrChanged.
func (b *Broker) saveSurely(ctx context.Context, id session.SecretID, over mark, value kept) (err error) {
	for i := range attempts {
		if i > 0 {
			if retry.Sleep(ctx, 50*time.Millisecond<<i) != nil {
				return err
			}
		}
		if err = b.save(ctx, id, over, value); err == nil || errors.Is(err, session.ErrChanged) || errors.Is(err, session.ErrNotFound) {
			return err
		}
	}
	return err
}

// replace is like saveSurely, but replaces any version.
func (b *Broker) replace(ctx context.Context, id session.SecretID, value kept) error {
	for {
		var over mark
		switch s, err := b.secrets.Secret(ctx, id); {
		case err == nil:
			over.version = s.Version
		case !errors.Is(err, session.ErrNoSecret):
			return fmt.Errorf("store credential: %w", err)
		}
		if err := b.saveSurely(ctx, id, over, value); !errors.Is(err, session.ErrChanged) {
			return err
		}
	}
}

// remove deletes a secret.
func (b *Broker) remove(ctx context.Context, id session.SecretID) error {
	if err := b.secrets.DeleteSecret(ctx, id); err != nil {
		return fmt.Errorf("delete credential: %w", err)
	}
	return nil
}

// errNonePending means that there is no login to change.
var errNonePending = errors.New("no login is pending")

// amend changes a pending login, if change reports a change.
func (b *Broker) amend(ctx context.Context, id session.SecretID, change func(*pending) (bool, error)) (*pending, error) {
	for {
		p, at, err := load[pending](ctx, b, id)
		if err != nil {
			return nil, err
		}
		if p == nil {
			return nil, errNonePending
		}
		if changed, err := change(p); err != nil || !changed {
			return p, err
		}
		if err := b.save(ctx, id, at, p); !errors.Is(err, session.ErrChanged) {
			return p, err
		}
	}
}

// bind returns the associated data of a secret: its owner.
func bind(id session.SecretID) []byte { return vault.Bind(id.App, id.User, id.Session, id.Name) }
