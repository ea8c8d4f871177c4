// Package provider is an OAuth 2.0 and OpenID Connect provider on a loopback address, for tests and for an example,
// together with an API that requires its tokens.
//
// The protocol is implemented by github.com/zitadel/oidc; the storage, the login page, the API and the fault injection
// are here. Any user name can log in without a password: it is for tests only.
package provider

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zitadel/oidc/v3/pkg/op"
)

// The paths that a provider serves; Break and the log of requests speak of them.
const (
	DiscoveryPath = "/.well-known/openid-configuration"
	AuthorizePath = "/authorize"
	LoginPath     = "/login"
	TokenPath     = "/oauth/token" //nolint:gosec // a path, and no token
	UserInfoPath  = "/userinfo"
	RevokePath    = "/revoke"
	KeysPath      = "/keys"
	APIPath       = "/calendar/events"
)

// The scopes that the API wants, GET the one and POST the other.
const (
	ScopeRead  = "calendar.read"
	ScopeWrite = "calendar.write"
)

// largestBody is more than any request here needs.
const largestBody = 1 << 20

// Options are how a provider should be. The zero value will do.
type Options struct {
	// Addr is where to listen; without it, a free port on the loopback address.
	Addr string
	// ClientID and ClientSecret are what the one client is known by. It may show
	// them in the header or in the form.
	ClientID, ClientSecret string
	// RedirectURIs are where users may be sent back to; without them, anywhere.
	RedirectURIs []string
	// Scopes are what may be asked for, beside those of OpenID Connect (a refresh
	// token comes with offline_access); without them, those of the API. Others are
	// left out of what is granted.
	Scopes []string
	// RequirePKCE refuses authorizations without a code challenge. The plain
	// method is always refused.
	RequirePKCE bool
	// KeepRefreshTokens makes a refresh token good for many uses, and leaves it out
	// of the answer to a refresh. Without it, every use brings a new one and the
	// used one is refused.
	KeepRefreshTokens bool
	// How long things live, in whole seconds; without them an hour, 30 days, an
	// hour and a minute.
	AccessTokenLife, RefreshTokenLife, IDTokenLife, CodeLife time.Duration
	// Events are in every calendar at first.
	Events []Event
	// AutoLogin is the user as whom everyone is logged in at once, with consent
	// and without a page. The query parameter auto_login of an authorization does
	// it for that one.
	AutoLogin string
	// Logger logs why requests are refused; nil discards it.
	Logger *slog.Logger
}

// Provider is a running provider.
type Provider struct {
	options  Options
	issuer   string
	store    *storage
	protocol *op.Provider
	mux      *http.ServeMux
	server   *http.Server
	events   calendar
	faults   faults
	log      requestLog

	cancel context.CancelFunc
	work   sync.WaitGroup // the server, and the requests that it is at
	mu     sync.Mutex
	closed bool
}

// New starts a provider. Close ends it.
func New(options Options) (*Provider, error) {
	options = options.withDefaults()
	if strings.Contains(options.ClientID, ":") {
		return nil, errors.New("provider: a client id must not contain a colon")
	}
	key, err := signing()
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", options.Addr)
	if err != nil {
		return nil, fmt.Errorf("provider: %w", err)
	}
	p := &Provider{options: options, issuer: "http://" + listener.Addr().String(), events: calendar{first: options.Events}}
	p.store = newStorage(options, p.issuer, key)
	if p.protocol, err = newProtocol(options, p.issuer, p.store); err != nil {
		_ = listener.Close()
		return nil, fmt.Errorf("provider: %w", err)
	}
	p.mux = http.NewServeMux()
	p.mux.HandleFunc("GET "+LoginPath, p.showLogin)
	p.mux.HandleFunc("POST "+LoginPath, p.takeLogin)
	p.mux.HandleFunc(AuthorizePath, p.authorize)
	p.mux.HandleFunc(UserInfoPath, p.userInfo)
	p.mux.HandleFunc(APIPath, p.serveEvents)
	p.mux.Handle("/", p.protocol)

	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.server = &http.Server{
		Handler:           http.HandlerFunc(p.serve),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          slog.NewLogLogger(options.Logger.Handler(), slog.LevelWarn),
	}
	p.work.Go(func() { _ = p.server.Serve(listener) })
	return p, nil
}

// Start starts a provider that ends with the test.
func Start(tb testing.TB, options Options) *Provider {
	tb.Helper()
	p, err := New(options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(p.Close)
	return p
}

// Close ends the provider, and all requests that it is at. It returns when
// nothing of it is left.
func (p *Provider) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	_ = p.server.Close()
	p.cancel()
	p.work.Wait()
}

// Issuer is the provider's name and address, from which clients discover the rest.
func (p *Provider) Issuer() string { return p.issuer }

// AuthURL is where users are sent to.
func (p *Provider) AuthURL() string { return p.issuer + AuthorizePath }

// TokenURL is where codes and refresh tokens are exchanged.
func (p *Provider) TokenURL() string { return p.issuer + TokenPath }

// RevokeURL is where tokens are given back.
func (p *Provider) RevokeURL() string { return p.issuer + RevokePath }

// UserInfoURL is where a token tells whose it is.
func (p *Provider) UserInfoURL() string { return p.issuer + UserInfoPath }

// API is the address of the events in the protected calendar.
func (p *Provider) API() string { return p.issuer + APIPath }

// Client returns what the one client is known by.
func (p *Provider) Client() (id, secret string) { return p.options.ClientID, p.options.ClientSecret }

// serve writes a request down, lets it meet the faults that are in force, and
// passes it on.
func (p *Provider) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.work.Add(1)
	p.mu.Unlock()
	defer p.work.Done()

	r.Body = http.MaxBytesReader(w, r.Body, largestBody)
	err := r.ParseForm()
	p.log.add(r)
	if err != nil {
		http.Error(w, "the form cannot be read", http.StatusBadRequest)
		return
	}
	if p.faults.meet(w, r) {
		p.mux.ServeHTTP(w, r)
	}
}

// withDefaults fills in what was left out.
func (o Options) withDefaults() Options {
	text := func(value *string, otherwise string) {
		if *value == "" {
			*value = otherwise
		}
	}
	life := func(value *time.Duration, otherwise time.Duration) {
		if *value == 0 {
			*value = otherwise
		}
	}
	text(&o.Addr, "127.0.0.1:0")
	text(&o.ClientID, "parley")
	text(&o.ClientSecret, "a secret that everyone knows")
	life(&o.AccessTokenLife, time.Hour)
	life(&o.RefreshTokenLife, 30*24*time.Hour)
	life(&o.IDTokenLife, time.Hour)
	life(&o.CodeLife, time.Minute)
	if o.Scopes == nil {
		o.Scopes = []string{ScopeRead, ScopeWrite}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// newProtocol sets the library up.
func newProtocol(options Options, issuer string, store *storage) (*op.Provider, error) {
	sealer, err := newSealer()
	if err != nil {
		return nil, err
	}
	config := &op.Config{
		CodeMethodS256: true, AuthMethodPost: true, GrantTypeRefreshToken: true,
		SupportedScopes: append([]string{"openid", "profile", "email", "offline_access"}, options.Scopes...),
	}
	return op.NewProvider(config, store, op.StaticIssuer(issuer),
		op.WithAllowInsecure(), op.WithCrypto(sealer), op.WithLogger(options.Logger))
}

// sealer makes codes and access tokens of what they stand for. The library's own
// would let a token pass that has been changed in some places.
type sealer struct{ cipher.AEAD }

func newSealer() (sealer, error) {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	block, err := aes.NewCipher(key)
	if err != nil {
		return sealer{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return sealer{aead}, err
}

var tokenEncoding = base64.RawURLEncoding.Strict()

// Encrypt is for the library.
func (s sealer) Encrypt(text string) (string, error) {
	return tokenEncoding.EncodeToString(s.Seal(nil, nil, []byte(text), nil)), nil //nolint:gosec // it makes a nonce itself
}

// Decrypt is for the library.
func (s sealer) Decrypt(token string) (string, error) {
	raw, err := tokenEncoding.DecodeString(token)
	if err != nil {
		return "", err
	}
	text, err := s.Open(nil, nil, raw, nil)
	return string(text), err
}
