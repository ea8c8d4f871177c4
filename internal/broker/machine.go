package broker

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/oauth2/clientcredentials"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/registry"
)

const (
	googleTokens  = "https://oauth2.googleapis.com/token" //nolint:gosec // an address, and no token
	platformScope = "https://www.googleapis.com/auth/cloud-platform"
	// defaultLife is how long a token without an expiry is used.
	defaultLife = 10 * time.Minute
	// mostMachines bounds the cache of tokens.
	mostMachines = 1000
)

// machines caches the tokens of programs in memory. They involve no user, so they can be requested again at any time.
type machines struct {
	mu sync.Mutex
	of map[[sha256.Size]byte]machineToken
}

type machineToken struct {
	*credential.Credential
	expires time.Time
}

// machineKey identifies the credential of a program by its whole configuration.
func machineKey(l login) [sha256.Size]byte {
	text, err := l.config.AppendJSON([]byte(l.key.App+"\x00"), credential.Camel)
	if err != nil {
		text = []byte(l.key.App + "\x00" + l.name)
	}
	return sha256.Sum256(text)
}

// machineCredential returns a token for a program, from the cache if possible.
func (b *Broker) machineCredential(ctx context.Context, l login) (*credential.Credential, error) {
	if err := l.config.Validate(); err != nil {
		return nil, err
	}
	key := machineKey(l)
	if cred := b.machines.find(key, b.now()); cred != nil {
		return cred, nil
	}
	leave, err := b.turns.wait(ctx, "machine "+string(key[:]))
	if err != nil {
		return nil, err
	}
	defer leave()
	if cred := b.machines.find(key, b.now()); cred != nil {
		return cred, nil
	}
	var got machineToken
	if account := l.config.Raw.ServiceAccount; account != nil && l.config.Raw.Type == credential.TypeServiceAccount {
		got, err = b.accountToken(ctx, account)
	} else {
		got, err = b.clientToken(ctx, l.config)
	}
	if err != nil {
		return nil, err
	}
	if got.expires.IsZero() {
		got.expires = b.now().Add(defaultLife)
	}
	b.machines.keep(key, got, b.now())
	return got.Clone(), nil
}

// clientToken requests a token with the client credentials grant.
func (b *Broker) clientToken(ctx context.Context, config *credential.Config) (machineToken, error) {
	c, _, err := b.clientOf(ctx, config)
	if err != nil {
		return machineToken{}, err
	}
	known := c.config("")
	via := clientcredentials.Config{
		ClientID: known.ClientID, ClientSecret: known.ClientSecret, Scopes: known.Scopes,
		TokenURL: known.Endpoint.TokenURL, AuthStyle: known.Endpoint.AuthStyle,
	}
	if audience := config.Raw.OAuth2.Audience; audience != "" {
		via.EndpointParams = url.Values{"audience": {audience}}
	}
	token, err := via.Token(b.calls(ctx))
	if err != nil {
		return machineToken{}, failure(host(c.TokenURL), err, c.Secret)
	}
	g := &grant{Client: c, Type: config.Raw.Type}
	g.take(token, b)
	cred, err := g.credential(b.now())
	if err != nil {
		return machineToken{}, err
	}
	got := machineToken{Credential: cred}
	if g.ExpiresAt != 0 {
		got.expires = time.Unix(g.ExpiresAt, 0)
	}
	return got, nil
}

// accountToken requests a token for a service account.
func (b *Broker) accountToken(ctx context.Context, account *credential.ServiceAccount) (machineToken, error) {
	provider := host(googleTokens)
	if account.Key != nil {
		provider = host(firstOf(account.Key.TokenURI, googleTokens))
	}
	open, ok := registry.Find[ServiceAccounts]("")
	if !ok {
		return machineToken{}, registry.Missing("the client of Google Cloud for service accounts", "credential/google")
	}
	scopes := account.Scopes
	if len(scopes) == 0 {
		scopes = []string{platformScope}
	}
	source, err := open(account, scopes, b.client)
	if err != nil { // it might quote the key
		return machineToken{}, errors.New("the service account cannot be used: its key is damaged, or this machine has no default credentials")
	}
	token, expires, err := source(ctx)
	if err != nil {
		return machineToken{}, failure(provider, err)
	}
	return machineToken{&credential.Credential{Type: credential.TypeHTTP, HTTP: &credential.HTTP{Scheme: "bearer", Token: token}}, expires}, nil
}

// ServiceAccounts returns a source of tokens for a service account of Google Cloud, or
// for that of the process if the account has no key. Errors of the provider are
// *oauth2.RetrieveError. Package credential/google registers it.
type ServiceAccounts func(account *credential.ServiceAccount, scopes []string, client *http.Client) (TokenSource, error)

// TokenSource requests a token; expires is zero if it does not.
type TokenSource func(ctx context.Context) (token string, expires time.Time, err error)

func (m *machines) find(key [sha256.Size]byte, now time.Time) *credential.Credential {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t, ok := m.of[key]; ok && now.Add(leeway).Before(t.expires) {
		return t.Clone()
	}
	return nil
}

func (m *machines) keep(key [sha256.Size]byte, t machineToken, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.of) >= mostMachines {
		for k, old := range m.of {
			if now.After(old.expires) {
				delete(m.of, k)
			}
		}
	}
	if m.of == nil || len(m.of) >= mostMachines {
		m.of = map[[sha256.Size]byte]machineToken{}
	}
	m.of[key] = t
}

// drop deletes a token: the refused one or, if that is nil, any.
func (m *machines) drop(key [sha256.Size]byte, refused *credential.Credential) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t, ok := m.of[key]; ok && (refused == nil || sameToken(t.Credential, refused)) {
		delete(m.of, key)
	}
}
