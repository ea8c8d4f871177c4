// Package broker implements the credential request protocol: it asks users to log in, checks their answers, exchanges
// them for tokens, refreshes those and passes them to tools.
//
// A login has these steps:
//
//	Response   there is no credential yet
//	Request    creates a pending login: state, PKCE verifier, the client's secret
//	Bind       sets the id under which the client is asked
//	           … the user logs in …
//	Receive    (or Begin and Callback) checks the answer against the pending login
//	Complete   exchanges the code; the pending login becomes a credential
//	Response   returns the credential, refreshed when necessary
//
// Everything is stored sealed in session.Secrets, so any process that shares the store can do the next step. Steps that
// a provider must see once only, such as the use of a refresh token, hold a lock in the same store.
//
// No error, log line or returned document contains a secret: no token, no code, no client secret, and nothing that a
// provider has sent except for the code of its error.
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
	// shared is the time in which requests share a pending login.
	shared = 15 * time.Minute
	// leeway is how long before its expiry a token is refreshed.
	leeway = time.Minute
	// shortestLock is the minimum time until a lock that is not released expires.
	shortestLock = 5 * time.Second
)

// ErrNoKey refuses logins on a server that has no key to seal secrets.
var ErrNoKey = refuse(Unavailable, "Logins are not possible: the server has no key to seal credentials with. "+
	"Start it with --credential_key_file (Logins.KeyFile), or set PARLEY_CREDENTIAL_KEY (Logins.Key): "+
	"a keyset of Tink, or 32 bytes in base64")

// Options are the options of a Broker. Secrets is required; the rest has defaults.
type Options struct {
	Secrets session.Secrets
	// Vault seals what is stored. Without it, logins are refused with ErrNoKey; tools whose credentials need no user
	// still work.
	Vault *vault.Vault
	// PerUser shares a credential among all sessions of a user, instead of storing it for the session of the login
	// only.
	PerUser bool
	// Client is the HTTP client for providers. The default connects to public addresses only, and uses no proxy. A
	// given client must check its connections itself; it is still limited to https and Timeout, and follows no
	// redirects.
	Client *http.Client
	// AllowPrivate are private networks that providers may be in. They may be called without TLS there.
	AllowPrivate []netip.Prefix
	// Timeout bounds one call to a provider; the default is 15 s.
	Timeout time.Duration
	// WaitTTL is the time in which a pending login can be answered; 0 means the lifetime of its session.
	WaitTTL time.Duration
	// PublicURL is the URL of this server for users. With it, users begin their logins at PublicURL + "/oauth/start"
	// and return to PublicURL + "/oauth/callback" (see managed.go), unless the tool sets another redirect URI.
	PublicURL string
	// Now is the clock, for tests.
	Now func() time.Time
	// Log receives events, without secrets.
	Log *slog.Logger
}

// Broker manages logins. It is safe for concurrent use.
type Broker struct {
	secrets  session.Secrets
	vault    *vault.Vault
	perUser  bool
	client   *http.Client
	guard    *guard // of client
	lockLife time.Duration
	waitTTL  time.Duration
	public   string // PublicURL, or ""
	now      func() time.Time
	log      *slog.Logger

	turns     turns
	providers providers
	machines  machines
}

// New creates a broker.
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

// CanKeep reports whether there is a key to seal logins with.
func (b *Broker) CanKeep() bool { return b.vault != nil }

// Vault returns the vault, or nil if there is none.
func (b *Broker) Vault() *vault.Vault { return b.vault }

// For returns the credentials of one session for its tools.
func (b *Broker) For(key session.Key) *Session { return &Session{broker: b, key: key} }

// Session provides credentials to the tools of one run of a session. It records which secrets they have received.
type Session struct {
	broker *Broker
	key    session.Key
	out    redact.Set
}

var (
	_ tool.Credentials = (*Session)(nil)
	_ agentrt.Secrets  = (*Session)(nil)
)

// login identifies a login of a session, and the names under which its parts are stored.
type login struct {
	key    session.Key
	config *credential.Config
	name   string
}

// loginOf returns the login of a configuration.
//
// Tools share a login by its credential key. Authors choose the keys, and two APIs may use the same one; a token of one
// must never be sent to the other. Therefore the name also includes what the login is for.
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

// normal fills in missing types.
func normal(config *credential.Config) (*credential.Config, error) {
	text, err := config.AppendJSON(nil, credential.Camel)
	if err != nil {
		return nil, err
	}
	return credential.DecodeConfig(text)
}

// identity is what a login is for. Clients know all of it.
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

// contradicts returns the first member that differs from other. It ignores missing members.
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

// pendingID returns the id of the pending login, which always belongs to the session.
func (l login) pendingID() session.SecretID {
	return session.SecretID{App: l.key.App, User: l.key.User, Session: l.key.ID, Name: "pending/" + l.name}
}

// grantID returns the id of the credential.
func (b *Broker) grantID(l login) session.SecretID { return b.scoped(l, credentialPrefix+l.name) }

// lockID returns the id of the lock of both.
func (b *Broker) lockID(l login) session.SecretID { return b.scoped(l, lockPrefix+l.name) }

func (b *Broker) scoped(l login, name string) session.SecretID {
	id := session.SecretID{App: l.key.App, User: l.key.User, Session: l.key.ID, Name: name}
	if b.perUser {
		id.Session = ""
	}
	return id
}

// calls returns a context in which libraries use the broker's HTTP client.
func (b *Broker) calls(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, b.client)
}

// host returns the part of a URL that is not secret.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "the provider"
	}
	return u.Host
}
