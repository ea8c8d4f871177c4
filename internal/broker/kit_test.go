package broker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/testkit/pgtest"
	"github.com/parley-run/parley/internal/testkit/provider"
	"github.com/parley-run/parley/session"
	"github.com/parley-run/parley/session/memstore"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// clientURI is the redirect URI of the client. Nothing listens there.
const clientURI = "http://127.0.0.1:9/callback"

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// world is a provider, a store with some sessions, and a broker between them. It records everything that leaves the
// broker, and finally checks that no secret was in it.
type world struct {
	*testing.T
	provider *provider.Provider
	store    session.Store
	options  broker.Options
	broker   *broker.Broker
	key      session.Key

	mu      sync.Mutex
	ahead   time.Duration // of the broker's clock
	heard   bytes.Buffer
	secrets []string
}

func newWorld(t *testing.T, p provider.Options, change func(*broker.Options)) *world {
	t.Helper()
	w := &world{T: t, provider: provider.Start(t, p), store: memstore.New(0)}
	_, secret := w.provider.Client()
	w.secret(secret)
	w.key = w.session("s1")
	v, err := vault.New(vault.Generate())
	if err != nil {
		t.Fatal(err)
	}
	w.options = broker.Options{
		Secrets: w.store, Vault: v, AllowPrivate: loopback, WaitTTL: 24 * time.Hour, Now: w.now,
		Log: slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&w.options)
	}
	w.broker = broker.New(w.options)
	t.Cleanup(w.checkSecrets)
	return w
}

func (w *world) session(id string) session.Key {
	w.Helper()
	key := session.Key{App: "app", User: "user", ID: id}
	if _, err := w.store.Create(w.Context(), session.NewSession{Key: key}); err != nil {
		w.Fatal(err)
	}
	return key
}

func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.ahead)
}

// advance moves the broker's clock forward.
func (w *world) advance(by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ahead += by
}

// Write records output.
func (w *world) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard.WriteByte('\n')
	return w.heard.Write(text)
}

func (w *world) hear(err error) error {
	if err != nil {
		_, _ = w.Write([]byte(err.Error()))
	}
	return err
}

// secret registers values that must never be output.
func (w *world) secret(values ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range values {
		if v != "" {
			w.secrets = append(w.secrets, v, url.QueryEscape(v))
		}
	}
}

func (w *world) checkSecrets() {
	w.Helper()
	all, err := w.store.ListSecrets(context.Background(), "app", "user")
	if err != nil {
		w.Error(err)
	}
	for _, s := range all {
		_, _ = w.Write(s.About)
		_, _ = w.Write(s.Sealed)
		_, _ = w.Write([]byte(s.Name))
	}
	heard := w.heard.String()
	for _, secret := range w.secrets {
		if i := strings.Index(heard, secret); i >= 0 {
			w.Errorf("the secret %q was heard: %s", secret, heard[max(0, i-200):min(len(heard), i+200)])
		}
	}
}

// config is a login at the provider, with an API's usual scheme.
func (w *world) config(scopes ...string) *credential.Config {
	id, secret := w.provider.Client()
	if scopes == nil {
		scopes = []string{"openid", "offline_access", provider.ScopeRead}
	}
	flow := &credential.Flow{AuthorizationURL: w.provider.AuthURL(), TokenURL: w.provider.TokenURL()}
	for _, s := range scopes {
		flow.Scopes = append(flow.Scopes, credential.Scope{Name: s})
	}
	return &credential.Config{
		Scheme: &credential.Scheme{Type: credential.TypeOAuth2, Flows: &credential.Flows{AuthorizationCode: flow}},
		Raw:    &credential.Credential{Type: credential.TypeOAuth2, OAuth2: &credential.OAuth2{ClientID: id, ClientSecret: secret}},
	}
}

// openID is a login at the provider that describes itself.
func (w *world) openID() *credential.Config {
	c := w.config()
	c.Scheme = &credential.Scheme{Type: credential.TypeOpenIDConnect, OpenIDConnectURL: w.provider.Issuer() + provider.DiscoveryPath}
	c.Scheme.OpenID.Scopes = []string{"openid", "offline_access", provider.ScopeRead}
	return c
}

// ask requests a login and binds it to an id. The result has been encoded and decoded.
func (w *world) ask(b *broker.Broker, key session.Key, id string, config *credential.Config, spelling credential.Spelling) *credential.Config {
	w.Helper()
	asked, err := b.For(key).Request(w.Context(), config)
	if w.hear(err) != nil {
		w.Fatal(err)
	}
	wire, err := asked.AppendJSON(nil, spelling)
	if err != nil {
		w.Fatal(err)
	}
	_, _ = w.Write(wire)
	if asked, err = credential.DecodeConfig(wire); err != nil {
		w.Fatal(err)
	}
	if err := b.Bind(w.Context(), key, id, asked); w.hear(err) != nil {
		w.Fatal(err)
	}
	return asked
}

// visit logs the user in and returns the callback URL.
func (w *world) visit(asked *credential.Config, allow bool) string {
	w.Helper()
	address := asked.Exchanged.OAuth2.AuthURI
	if !strings.Contains(address, "redirect_uri=") {
		address += "&redirect_uri=" + url.QueryEscape(clientURI) // as the specification has it
	}
	back, err := w.provider.Login(w.Context(), address, "alice", allow)
	if err != nil {
		w.Fatal(err)
	}
	u, err := url.Parse(back)
	if err != nil {
		w.Fatal(err)
	}
	w.secret(u.Query().Get("code"))
	return back
}

// reply returns the answer of a client to a request and its callback URL.
func (w *world) reply(asked *credential.Config, back string, spelling credential.Spelling) json.RawMessage {
	w.Helper()
	c := asked.Clone()
	c.Exchanged.OAuth2.AuthResponseURI, c.Exchanged.OAuth2.RedirectURI = back, clientURI
	text, err := c.AppendJSON(nil, spelling)
	if err != nil {
		w.Fatal(err)
	}
	return text
}

func (w *world) receive(b *broker.Broker, key session.Key, id string, asked *credential.Config, answer json.RawMessage) error {
	w.Helper()
	redacted, err := b.Receive(w.Context(), key, id, asked, answer)
	_, _ = w.Write(redacted)
	if (err == nil) != json.Valid(redacted) {
		w.Errorf("Receive returns %q, %v", redacted, err)
	}
	return w.hear(err)
}

// login performs a whole login.
func (w *world) login(b *broker.Broker, key session.Key, id string, config *credential.Config) {
	w.Helper()
	asked := w.ask(b, key, id, config, credential.Camel)
	if err := w.receive(b, key, id, asked, w.reply(asked, w.visit(asked, true), credential.Camel)); err != nil {
		w.Fatal(err)
	}
	if err := b.Complete(w.Context(), key, id, asked); w.hear(err) != nil {
		w.Fatal(err)
	}
}

// response returns a tool's credential and registers its secrets.
func (w *world) response(b *broker.Broker, key session.Key, config *credential.Config) *credential.Credential {
	w.Helper()
	cred, err := b.For(key).Response(w.Context(), config)
	if w.hear(err) != nil {
		w.Error(err)
	}
	if cred != nil {
		w.secret(cred.APIKey)
		if cred.HTTP != nil {
			w.secret(cred.HTTP.Token, cred.HTTP.Password)
		}
		if cred.OAuth2 != nil {
			w.secret(cred.OAuth2.AccessToken, cred.OAuth2.IDToken)
		}
	}
	return cred
}

// callAPI calls the provider's calendar, and returns the status.
func (w *world) callAPI(config *credential.Config, cred *credential.Credential) int {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), http.MethodGet, w.provider.API(), http.NoBody)
	if err != nil {
		w.Fatal(err)
	}
	if err := credential.Apply(request, config.Scheme, cred); w.hear(err) != nil {
		w.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := transport.RoundTrip(request)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

func (w *world) names() (names []string) {
	w.Helper()
	all, err := w.store.ListSecrets(w.Context(), "app", "user")
	if err != nil {
		w.Fatal(err)
	}
	for _, s := range all {
		kind, _, _ := strings.Cut(s.Name, "/")
		if kind != "lock" {
			names = append(names, s.Session+":"+kind)
		}
	}
	return names
}
