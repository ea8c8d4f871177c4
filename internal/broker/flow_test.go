package broker_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/testkit/provider"
)

func TestLogin(t *testing.T) {
	explicit := func(w *world) *credential.Config {
		c := w.openID()
		c.Scheme.OpenIDConnectURL = ""
		c.Scheme.OpenID.AuthorizationEndpoint, c.Scheme.OpenID.TokenEndpoint = w.provider.AuthURL(), w.provider.TokenURL()
		return c
	}
	for name, test := range map[string]struct {
		config   func(*world) *credential.Config
		spelling credential.Spelling
		change   func(answer string) string
	}{
		"oauth2":     {config: func(w *world) *credential.Config { return w.config() }},
		"snake case": {config: func(w *world) *credential.Config { return w.config() }, spelling: credential.Snake},
		"as a string": {
			config: func(w *world) *credential.Config { return w.config() },
			change: func(answer string) string { text, _ := json.Marshal(answer); return string(text) },
		},
		"authorization_code": {
			config: func(w *world) *credential.Config { return w.config() },
			change: func(answer string) string { return strings.Replace(answer, "?code=", "?authorization_code=", 1) },
		},
		"secret in the form": {config: func(w *world) *credential.Config {
			c := w.config()
			c.Raw.OAuth2.TokenEndpointAuthMethod = "client_secret_post"
			return c
		}},
		"types left out": {config: func(w *world) *credential.Config {
			c := w.config()
			c.Scheme.Type, c.Raw.Type = "", ""
			return c
		}},
		"discovered":         {config: (*world).openID},
		"explicit endpoints": {config: explicit, spelling: credential.Snake},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, provider.Options{RequirePKCE: true}, nil)
			config := test.config(w)
			if got := w.response(w.broker, w.key, config); got != nil {
				t.Fatalf("before the login there is %v", got)
			}
			asked := w.ask(w.broker, w.key, "call-1", config, test.spelling)
			checkAddress(t, asked.Exchanged.OAuth2)
			answer := string(w.reply(asked, w.visit(asked, true), test.spelling))
			if test.change != nil {
				answer = test.change(answer)
			}
			if err := w.receive(w.broker, w.key, "call-1", asked, json.RawMessage(answer)); err != nil {
				t.Fatal(err)
			}
			for range 2 { // repeating it does nothing
				if err := w.broker.Complete(t.Context(), w.key, "call-1", asked); w.hear(err) != nil {
					t.Fatal(err)
				}
			}
			cred := w.response(w.broker, w.key, config)
			if cred == nil || cred.OAuth2 == nil || cred.OAuth2.ExpiresIn < 3500 || cred.OAuth2.IDToken == "" || cred.OAuth2.RefreshToken != "" {
				t.Fatalf("after the login there is %v", cred)
			}
			if status := w.callAPI(config, cred); status != 200 {
				t.Errorf("the API answers %d", status)
			}
			if counts := w.provider.Counts(); counts.Exchanges != 1 {
				t.Errorf("the provider has granted %+v", counts)
			}
			if names := w.names(); !slices.Equal(names, []string{"s1:credential"}) {
				t.Errorf("what is kept is %v", names)
			}
		})
	}
}

// checkAddress checks the parameters of an authorization URL.
func checkAddress(t *testing.T, o *credential.OAuth2) {
	t.Helper()
	u, err := url.Parse(o.AuthURI)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	for name, want := range map[string]string{
		"response_type": "code", "client_id": "parley", "state": o.State, "code_challenge_method": "S256",
		"access_type": "offline", "prompt": "consent", "scope": "openid offline_access calendar.read",
	} {
		if query.Get(name) != want || want == "" {
			t.Errorf("%s is %q, want %q", name, query.Get(name), want)
		}
	}
	if len(query.Get("code_challenge")) != 43 || query.Get("nonce") == "" || query.Has("redirect_uri") {
		t.Errorf("the address is %s", o.AuthURI)
	}
}

// The configuration of a tool can set parameters of the URL.
func TestAddressFollowsTheConfiguration(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	config := w.config("a", "b")
	config.Scheme.Flows.AuthorizationCode.AuthorizationURL += "?tenant=t%26x&redirect_uri=&state=fixed"
	o := config.Raw.OAuth2
	o.Prompt, o.Audience, o.RedirectURI = "login", "api", "https://app.example/back?x=1"
	asked := w.ask(w.broker, w.key, "call-1", config, credential.Camel)
	u, err := url.Parse(asked.Exchanged.OAuth2.AuthURI)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	for name, want := range map[string]string{
		"tenant": "t&x", "prompt": "login", "audience": "api", "redirect_uri": "https://app.example/back?x=1", "scope": "a b",
		"state": asked.Exchanged.OAuth2.State,
	} {
		if got := query[name]; len(got) != 1 || got[0] != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if query.Has("nonce") || query.Get("state") == "fixed" {
		t.Errorf("the address is %s", u)
	}
}

func TestCallsShareARequest(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	first := w.ask(w.broker, w.key, "call-1", w.config(), credential.Camel)
	second := w.ask(w.broker, w.key, "call-2", w.config(), credential.Camel)
	if first.Exchanged.OAuth2.State != second.Exchanged.OAuth2.State {
		t.Error("two calls have two logins")
	}
	other := w.ask(w.broker, w.session("s2"), "call-3", w.config(), credential.Camel)
	if first.Exchanged.OAuth2.State == other.Exchanged.OAuth2.State {
		t.Error("two sessions share a login")
	}
	// Any of the ids is accepted until one is completed.
	back := w.visit(first, true)
	if err := w.receive(w.broker, w.key, "call-2", second, w.reply(second, back, credential.Camel)); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"call-1", "call-2"} {
		if err := w.broker.Complete(t.Context(), w.key, id, first); w.hear(err) != nil {
			t.Fatal(err)
		}
	}
	if counts := w.provider.Counts(); counts.Exchanges != 1 {
		t.Errorf("the provider has granted %+v", counts)
	}
	wantRefused(t, w.receive(w.broker, w.key, "call-1", first, w.reply(first, back, credential.Camel)), broker.Conflicting)
}

func TestRequestIsRepeatedAfterItExpires(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	first := w.ask(w.broker, w.key, "call-1", w.config(), credential.Camel)
	w.advance(16 * time.Minute)
	// Until then, and even later, it can be answered.
	if err := w.receive(w.broker, w.key, "call-1", first, w.reply(first, w.visit(first, true), credential.Camel)); err != nil {
		t.Error(err)
	}
	second := w.ask(w.broker, w.key, "call-2", w.config(), credential.Camel)
	if first.Exchanged.OAuth2.State == second.Exchanged.OAuth2.State {
		t.Error("a request lives on")
	}
	wantRefused(t, w.receive(w.broker, w.key, "call-1", first, w.reply(first, w.visit(first, true), credential.Camel)), broker.Conflicting)
	w.advance(25 * time.Hour)
	wantRefused(t, w.receive(w.broker, w.key, "call-2", second, w.reply(second, w.visit(second, true), credential.Camel)), broker.Conflicting)
	if err := w.broker.Bind(t.Context(), w.key, "call-3", first); w.hear(err) == nil {
		t.Error("a request that was replaced can be bound")
	}
}

func TestRequestWithoutAnEnd(t *testing.T) {
	w := newWorld(t, provider.Options{}, func(o *broker.Options) { o.WaitTTL = 0 })
	asked := w.ask(w.broker, w.key, "call-1", w.config(), credential.Camel)
	w.advance(10_000 * time.Hour)
	if err := w.receive(w.broker, w.key, "call-1", asked, w.reply(asked, w.visit(asked, true), credential.Camel)); err != nil {
		t.Error(err)
	}
}

// A credential key that two APIs share by accident must not carry tokens from one to the other.
func TestOneKeyForTwoProviders(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	mine, theirs := w.config(), w.config()
	mine.CredentialKey, theirs.CredentialKey = "default", "default"
	theirs.Scheme.Flows.AuthorizationCode.TokenURL = "https://evil.example/token"
	w.login(w.broker, w.key, "call-1", mine)
	if w.response(w.broker, w.key, mine) == nil || w.response(w.broker, w.key, theirs) != nil {
		t.Error("a token goes to the wrong API")
	}
}

func TestPerUser(t *testing.T) {
	w := newWorld(t, provider.Options{}, func(o *broker.Options) { o.PerUser = true })
	other := w.session("s2")
	w.login(w.broker, w.key, "call-1", w.config())
	if w.response(w.broker, other, w.config()) == nil {
		t.Error("another session of the user has no credential")
	}
	outsider := other
	outsider.User = "outsider"
	if w.response(w.broker, outsider, w.config()) != nil {
		t.Error("another user has the credential")
	}
	if err := w.store.Delete(t.Context(), w.key); err != nil {
		t.Fatal(err)
	}
	if w.response(w.broker, other, w.config()) == nil {
		t.Error("the credential went with a session")
	}
}

func TestPerSession(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	w.login(w.broker, w.key, "call-1", w.config())
	if w.response(w.broker, w.session("s2"), w.config()) != nil {
		t.Error("another session has the credential")
	}
}

// A sealed credential that was copied to another user does not open there.
func TestCredentialIsBoundToItsOwner(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	other := w.session("s2")
	w.login(w.broker, w.key, "call-1", w.config())
	all, err := w.store.ListSecrets(t.Context(), "app", "user")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		s.Session, s.Version = other.ID, 0
		if _, err := w.store.PutSecret(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if w.response(w.broker, other, w.config()) != nil {
		t.Error("a copied credential opens")
	}
	w.login(w.broker, other, "call-2", w.config()) // and it can be replaced
	if w.response(w.broker, other, w.config()) == nil {
		t.Error("there is no credential after a login")
	}
}
