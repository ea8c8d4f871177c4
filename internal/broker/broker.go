// Package broker is the credential request protocol: it asks users to log in
// somewhere, takes their answers, exchanges them for tokens, keeps those fresh
// and hands them to tools.
//
// A login goes like this:
//
//	Response   there is nothing yet
//	Request    a pending login is made: state, PKCE verifier, the client's secret
//	Bind       the pending login learns the id under which the client is asked
//	           … the user logs in …
//	Receive    (or Begin and Callback) the answer is checked against the pending login
//	Complete   the code is exchanged; the pending login becomes a credential
//	Response   the credential, refreshed whenever it has to be
//
// Everything is kept sealed in session.Secrets, so any process that shares the
// store can do the next step. Steps that a provider must see once only, such as
// the use of a refresh token, are done under a lock in the same store.
//
// No error, log line or returned document has a secret in it: no token, no code,
// no client secret, and nothing of what a provider has said but the name of its
// error.
package broker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/agentrt"
	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/redact"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/tool"
)

const (
	// shared is how long one pending login serves all calls that want it.
	shared = 15 * time.Minute
	// leeway is how long before its end a token is renewed.
	leeway = time.Minute
	// shortestLock is the minimum time until a lock that is not released expires.
	shortestLock = 5 * time.Second
)

// ErrNoKey refuses logins on a server that has nothing to seal their secrets
// with.
var ErrNoKey = refuse(Unavailable, "Logins are not possible: the server has no key to seal credentials with. "+
	"Start it with --credential_key_file, or with PARLEY_CREDENTIAL_KEY set (CredentialKeyFile or CredentialKey in Go): "+
	"a keyset of Tink, or 32 bytes in base64")

// Options are how a broker should be. Secrets are needed, the rest has defaults.
type Options struct {
	Secrets session.Secrets
	// Vault seals what is kept. Without it, logins are refused with ErrNoKey;
	// tools whose credentials need no user work nevertheless.
	Vault *vault.Vault
	// PerUser keeps a credential for all sessions of a user, instead of for the
	// one in which the user has logged in.
	PerUser bool
	// Client is what providers are called with. Without it, a client whose
	// connections go to public addresses only, and through no proxy. A given
	// client has to see for itself where its connections go; it is still held
	// to https, to the time limit, and follows no redirects.
	Client *http.Client
	// AllowPrivate are networks that are not public and that providers may be
	// in nevertheless. They may also be called without TLS there.
	AllowPrivate []netip.Prefix
	// Timeout is how long one call to a provider may take; without it, 15 s.
	Timeout time.Duration
	// WaitTTL is how long an answer to a pending login is taken; 0 for as long as
	// there is its session.
	WaitTTL time.Duration
	// PublicURL is where users reach this server. With it, users begin their
	// logins at PublicURL + "/oauth/start" and come back to PublicURL +
	// "/oauth/callback" (see managed.go), unless the tool says where to.
	PublicURL string
	// Now is the clock, for tests.
	Now func() time.Time
	// Log hears what happens, without secrets.
	Log *slog.Logger
}

// Broker makes and keeps logins. It may be used by many goroutines at once.
type Broker struct {
	secrets  session.Secrets
	vault    *vault.Vault
	perUser  bool
	client   *http.Client
	guard    *guard // of the client
	lockLife time.Duration
	waitTTL  time.Duration
	public   string // where users reach this server, or ""
	now      func() time.Time
	log      *slog.Logger

	turns     turns
	providers providers
	machines  machines
}

// New makes a broker.
func New(o Options) *Broker {
	if o.Timeout <= 0 {
		o.Timeout = 15 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	b := &Broker{
		public:  strings.TrimRight(o.PublicURL, "/"),
		secrets: o.Secrets, vault: o.Vault, perUser: o.PerUser, now: o.Now, log: o.Log,
		lockLife: max(shortestLock, 4*o.Timeout), waitTTL: o.WaitTTL,
	}
	b.client, b.guard = outbound(o.Client, o.AllowPrivate, o.Timeout, nil)
	return b
}

// CanKeep tells whether there is a key to seal logins with.
func (b *Broker) CanKeep() bool { return b.vault != nil }

// Vault is what seals what is kept; nil if there is nothing to seal it with.
func (b *Broker) Vault() *vault.Vault { return b.vault }

// For gives the side of one session that its tools see.
func (b *Broker) For(key session.Key) *Session { return &Session{broker: b, key: key} }

// Session is what the tools of one run of a session ask for credentials. It
// knows which secrets they have got.
type Session struct {
	broker *Broker
	key    session.Key
	out    redact.Set
}

var (
	_ tool.Credentials = (*Session)(nil)
	_ agentrt.Secrets  = (*Session)(nil)
)

// login is one login of a session: which one it is, and where its parts are.
type login struct {
	key    session.Key
	config *credential.Config
	name   string
}

// loginOf finds the names for a login.
//
// Tools share a login by its credential key. Keys are chosen by authors, and the
// same one may be found with two APIs; a token of the one must never be sent to
// the other. Therefore the name has also what the login is for.
func loginOf(key session.Key, config *credential.Config) (login, error) {
	if config == nil || config.Scheme == nil {
		return login{}, config.Validate()
	}
	config, err := normal(config)
	if err != nil {
		return login{}, err
	}
	is := identify(config)
	sum := sha256.Sum256(vault.Bind(is.kind, is.authorize, is.token, is.discovery, is.in, is.name, is.scheme, is.client))
	return login{key, config, config.Key() + "@" + hex.EncodeToString(sum[:6])}, nil
}

// normal fills in the types that are left out.
func normal(config *credential.Config) (*credential.Config, error) {
	text, err := config.AppendJSON(nil, credential.Camel)
	if err != nil {
		return nil, err
	}
	return credential.DecodeConfig(text)
}

// identity is what a login is for. All of it is known to clients.
type identity struct{ kind, authorize, token, refresh, discovery, in, name, scheme, client, also string }

func identify(config *credential.Config) identity {
	is := identity{client: clientID(config.Raw), also: clientID(config.Exchanged)}
	if is.client == "" {
		is.client = is.also
	}
	if s := config.Scheme; s != nil {
		is.kind, is.authorize, is.token, is.refresh = string(s.Type), s.AuthorizationEndpoint(), s.TokenEndpoint(), s.RefreshEndpoint()
		is.discovery, is.in, is.name, is.scheme = s.OpenIDConnectURL, s.In, s.Name, strings.ToLower(s.HTTPScheme)
	}
	return is
}

// contradicts tells which member of the other has another value. What is left
// out does not count.
func (is identity) contradicts(other identity) (member string) {
	for _, m := range []struct{ name, ours, theirs string }{
		{"type of the scheme", is.kind, other.kind},
		{"authorization endpoint", is.authorize, other.authorize},
		{"token endpoint", is.token, other.token},
		{"refresh endpoint", is.refresh, other.refresh},
		{"openIdConnectUrl", is.discovery, other.discovery},
		{"place of the API key", is.in, other.in},
		{"name of the API key", is.name, other.name},
		{"http scheme", is.scheme, other.scheme},
		{"client id", is.client, other.client},
		{"client id", is.client, other.also},
	} {
		if m.theirs != "" && m.theirs != m.ours {
			return m.name
		}
	}
	return ""
}

func clientID(c *credential.Credential) string {
	if c == nil || c.OAuth2 == nil {
		return ""
	}
	return c.OAuth2.ClientID
}

// pendingID is where the pending login is: always with the session.
func (l login) pendingID() session.SecretID {
	return session.SecretID{App: l.key.App, User: l.key.User, Session: l.key.ID, Name: "pending/" + l.name}
}

// grantID is where the credential is.
func (b *Broker) grantID(l login) session.SecretID { return b.scoped(l, credentialPrefix+l.name) }

// lockID is where the lock of both is.
func (b *Broker) lockID(l login) session.SecretID { return b.scoped(l, lockPrefix+l.name) }

func (b *Broker) scoped(l login, name string) session.SecretID {
	id := session.SecretID{App: l.key.App, User: l.key.User, Session: l.key.ID, Name: name}
	if b.perUser {
		id.Session = ""
	}
	return id
}

// calls returns a context whose calls by the libraries go through our client.
func (b *Broker) calls(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, b.client)
}

// host is the part of an address that may be named to anybody.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "the provider"
	}
	return u.Host
}
