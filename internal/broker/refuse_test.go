package broker_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/broker/vault"
	"github.com/parley-run/parley/internal/testkit/provider"
)

// wantRefused checks that an answer was refused.
func wantRefused(t *testing.T, err error, why broker.Refusal) {
	t.Helper()
	if refused, ok := errors.AsType[*broker.AnswerError](err); !ok || refused.Refusal != why || refused.Message == "" {
		t.Errorf("got %v (%T), want an AnswerError with %d", err, err, why)
	}
}

func wantDenied(t *testing.T, err error) {
	t.Helper()
	if denied, ok := errors.AsType[*broker.DeniedError](err); !ok || !strings.HasPrefix(denied.Provider, "127.0.0.1:") {
		t.Errorf("got %v, want a DeniedError", err)
	}
}

func wantFailed(t *testing.T, err error, code, reason string) {
	t.Helper()
	failed, ok := errors.AsType[*broker.ExchangeError](err)
	if !ok || failed.Code != code || !strings.Contains(err.Error(), reason) || !strings.Contains(err.Error(), failed.Provider) {
		t.Errorf("got %v, want an ExchangeError with %q, %q", err, code, reason)
	}
}

func TestRefusedAnswers(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	other := w.session("s2")
	config := w.config()
	asked := w.ask(w.broker, w.key, "call-1", config, credential.Camel)
	elsewhere := w.ask(w.broker, other, "call-2", config, credential.Camel)
	back := w.visit(asked, true)
	good := w.reply(asked, back, credential.Camel)
	before := len(w.provider.Requests())

	changed := func(change func(*credential.Config)) json.RawMessage {
		c, err := credential.DecodeConfig(good)
		if err != nil {
			t.Fatal(err)
		}
		change(c)
		text, err := c.AppendJSON(nil, credential.Camel)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	callback := func(from, to string) json.RawMessage {
		return changed(func(c *credential.Config) {
			o := c.Exchanged.OAuth2
			o.AuthResponseURI = strings.Replace(o.AuthResponseURI, from, to, 1)
		})
	}
	flow := func(c *credential.Config) *credential.Flow { return c.Scheme.Flows.AuthorizationCode }
	for name, test := range map[string]struct {
		answer json.RawMessage
		why    broker.Refusal
	}{
		"no JSON":                {json.RawMessage(`{"exchangedAuthCredential`), broker.Incomplete},
		"something else":         {json.RawMessage(`{"city":"Paris"}`), broker.Incomplete},
		"no credential":          {json.RawMessage(`{"credentialKey":"` + asked.Key() + `"}`), broker.Incomplete},
		"an API key":             {json.RawMessage(`"sk-not-asked-for"`), broker.Incomplete},
		"wrong state":            {callback("state=", "state=x"), broker.Mismatched},
		"no state":               {callback("state=", "stat="), broker.Mismatched},
		"two states":             {callback("state=", "state=x&state="), broker.Mismatched},
		"state of another login": {callback(asked.Exchanged.OAuth2.State, elsewhere.Exchanged.OAuth2.State), broker.Mismatched},
		"wrong state in oauth2":  {changed(func(c *credential.Config) { c.Exchanged.OAuth2.State = "x" }), broker.Mismatched},
		"code without state": {changed(func(c *credential.Config) {
			c.Exchanged.OAuth2 = &credential.OAuth2{AuthCode: "a code"}
		}), broker.Mismatched},
		"no code":                   {callback("code=", "cod="), broker.Incomplete},
		"two codes":                 {callback("code=", "code=x&code="), broker.Mismatched},
		"no address":                {changed(func(c *credential.Config) { c.Exchanged.OAuth2.AuthResponseURI = "" }), broker.Incomplete},
		"bad address":               {changed(func(c *credential.Config) { c.Exchanged.OAuth2.AuthResponseURI = "http://[::1" }), broker.Incomplete},
		"provider's error":          {callback("code=", "error=server_error&c="), broker.Incomplete},
		"provider's strange error":  {callback("code=", "error=%3Cscript%3E&c="), broker.Incomplete},
		"another type":              {changed(func(c *credential.Config) { c.Scheme.Type = credential.TypeOpenIDConnect }), broker.Mismatched},
		"another token endpoint":    {changed(func(c *credential.Config) { flow(c).TokenURL = "https://evil.example/token" }), broker.Mismatched},
		"another refresh endpoint":  {changed(func(c *credential.Config) { flow(c).RefreshURL = "https://evil.example/token" }), broker.Mismatched},
		"another login page":        {changed(func(c *credential.Config) { flow(c).AuthorizationURL = "https://evil.example/auth" }), broker.Mismatched},
		"another client":            {changed(func(c *credential.Config) { c.Raw.OAuth2.ClientID = "evil" }), broker.Mismatched},
		"another client, exchanged": {changed(func(c *credential.Config) { c.Exchanged.OAuth2.ClientID = "evil" }), broker.Mismatched},
		"another key":               {changed(func(c *credential.Config) { c.CredentialKey = "evil" }), broker.Mismatched},
		"tokens of their own": {changed(func(c *credential.Config) {
			c.Exchanged.OAuth2.AuthResponseURI, c.Exchanged.OAuth2.AccessToken = "", "smuggled"
		}), broker.Incomplete},
	} {
		err := w.receive(w.broker, w.key, "call-1", asked, test.answer)
		if wantRefused(t, err, test.why); t.Failed() {
			t.Fatalf("with %s", name)
		}
	}
	wantRefused(t, w.receive(w.broker, w.key, "call-9", asked, good), broker.Conflicting)
	wantRefused(t, w.receive(w.broker, w.key, "call-2", asked, good), broker.Conflicting)
	wantRefused(t, w.receive(w.broker, other, "call-1", asked, good), broker.Conflicting)
	wantRefused(t, w.receive(w.broker, other, "call-2", elsewhere, good), broker.Mismatched)
	wantRefused(t, w.broker.Complete(t.Context(), w.key, "call-1", asked), broker.Conflicting)
	if n := len(w.provider.Requests()); n != before {
		t.Errorf("the provider was called %d times", n-before)
	}
	if err := w.receive(w.broker, w.key, "call-1", asked, good); err != nil {
		t.Errorf("after all of that, the right answer: %v", err)
	}
}

func TestCodeWithState(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	asked := w.ask(w.broker, w.key, "call-1", w.config(), credential.Camel)
	back, err := url.Parse(w.visit(asked, true))
	if err != nil {
		t.Fatal(err)
	}
	answer, _ := json.Marshal(map[string]any{"auth_type": "OAUTH2", "oauth2": map[string]string{
		"auth_code": back.Query().Get("code"), "state": asked.Exchanged.OAuth2.State, "redirect_uri": clientURI,
	}})
	if err := w.receive(w.broker, w.key, "call-1", asked, answer); err != nil {
		t.Fatal(err)
	}
	if err := w.broker.Complete(t.Context(), w.key, "call-1", asked); w.hear(err) != nil {
		t.Fatal(err)
	}
}

func TestCodeTwice(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	asked := w.ask(w.broker, w.key, "call-1", w.config(), credential.Camel)
	answer := w.reply(asked, w.visit(asked, true), credential.Camel)
	for range 2 { // a client that lost the response sends the answer again
		if err := w.receive(w.broker, w.key, "call-1", asked, answer); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.broker.Complete(t.Context(), w.key, "call-1", asked); w.hear(err) != nil {
		t.Fatal(err)
	}
	wantRefused(t, w.receive(w.broker, w.key, "call-1", asked, answer), broker.Conflicting)
	// The same code in another login fails at the provider, and spoils nothing.
	again := w.ask(w.broker, w.key, "call-2", w.config(), credential.Camel)
	second := strings.ReplaceAll(string(answer), asked.Exchanged.OAuth2.State, again.Exchanged.OAuth2.State)
	if err := w.receive(w.broker, w.key, "call-2", again, json.RawMessage(second)); err != nil {
		t.Fatal(err)
	}
	wantFailed(t, w.hear(w.broker.Complete(t.Context(), w.key, "call-2", again)), "invalid_grant", "invalid_grant")
	if w.response(w.broker, w.key, w.config()) == nil {
		t.Error("the first login is gone")
	}
}

func TestDenied(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	asked := w.ask(w.broker, w.key, "call-1", w.config(), credential.Camel)
	redacted, err := w.broker.Receive(t.Context(), w.key, "call-1", asked, w.reply(asked, w.visit(asked, false), credential.Camel))
	if w.hear(err) != nil || !strings.Contains(string(redacted), `"error":"access_denied"`) {
		t.Fatalf("%s, %v", redacted, err)
	}
	wantDenied(t, w.hear(w.broker.Complete(t.Context(), w.key, "call-1", asked)))
	if err := w.broker.Complete(t.Context(), w.key, "call-1", asked); err != nil {
		t.Errorf("completing again: %v", err)
	}
	if requests := w.provider.Requests(provider.TokenPath); len(requests) > 0 {
		t.Errorf("the token endpoint was called: %v", requests)
	}
	again := w.ask(w.broker, w.key, "call-2", w.config(), credential.Camel)
	if again.Exchanged.OAuth2.State == asked.Exchanged.OAuth2.State {
		t.Error("the user is asked with the login that they denied")
	}
}

func TestProviderFails(t *testing.T) {
	_, secret := provider.Start(t, provider.Options{}).Client()
	for name, test := range map[string]struct {
		fault        provider.Fault
		code, reason string
	}{
		"error":             {provider.OAuthError("temporarily_unavailable", "with "+secret), "temporarily_unavailable", "temporarily_unavailable"},
		"error like a code": {provider.OAuthError(secret, secret), "", "status 400"},
		"page":              {provider.Fault{Status: 502, Body: "<html>" + secret}, "", "status 502"},
		"no token":          {provider.Fault{Status: 200, Body: `{"x":"` + secret + `"}`}, "", "could not be understood"},
		"no JSON":           {provider.Fault{Status: 200, Body: secret}, "", "could not be understood"},
		"too much":          {provider.Fault{Status: 200, Body: `{"access_token":"` + strings.Repeat("x", 2<<20) + `"}`}, "", "could not be understood"},
		"bad ID token":      {provider.Fault{Status: 200, Body: `{"access_token":"x","id_token":"a.b.c"}`}, "", "the ID token is invalid"},
		"redirect":          {provider.Fault{Status: 307, Body: secret}, "", "redirect"},
		"hanging":           {provider.Fault{Hang: true}, "", "did not answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, provider.Options{}, func(o *broker.Options) {
				if name == "hanging" {
					o.Timeout = time.Second
				}
			})
			asked := w.ask(w.broker, w.key, "call-1", w.config(), credential.Camel)
			if err := w.receive(w.broker, w.key, "call-1", asked, w.reply(asked, w.visit(asked, true), credential.Camel)); err != nil {
				t.Fatal(err)
			}
			broken := w.provider.Break(provider.TokenPath, test.fault)
			wantFailed(t, w.hear(w.broker.Complete(t.Context(), w.key, "call-1", asked)), test.code, test.reason)
			broken.Repair()
			if names := w.names(); len(names) > 0 {
				t.Errorf("what is kept is %v", names)
			}
			if err := w.broker.Complete(t.Context(), w.key, "call-1", asked); err != nil {
				t.Errorf("completing again: %v", err)
			}
		})
	}
}

// Addresses that are not public are not called, whatever a tool's author writes.
func TestPrivateProvider(t *testing.T) {
	w := newWorld(t, provider.Options{}, func(o *broker.Options) { o.AllowPrivate = nil })
	named := w.config()
	named.Scheme.Flows.AuthorizationCode.TokenURL = strings.Replace(w.provider.TokenURL(), "127.0.0.1", "localhost", 1)
	for name, config := range map[string]*credential.Config{"explicit": w.config(), "by a name": named, "discovered": w.openID()} {
		asked, err := w.broker.For(w.key).Request(t.Context(), config)
		if asked != nil {
			t.Errorf("%s: the user is asked to log in, although that cannot succeed", name)
		}
		wantFailed(t, w.hear(err), "", "--allow_private_logins")
	}
	// A login that was asked for before the network was closed ends there.
	open := w.options
	open.AllowPrivate = loopback
	asked := w.ask(broker.New(open), w.key, "call-1", w.config(), credential.Camel)
	if err := w.receive(w.broker, w.key, "call-1", asked, w.reply(asked, w.visit(asked, true), credential.Camel)); err != nil {
		t.Fatal(err)
	}
	wantFailed(t, w.hear(w.broker.Complete(t.Context(), w.key, "call-1", asked)), "", "--allow_private_logins")
	if requests := w.provider.Requests(provider.TokenPath, provider.DiscoveryPath); len(requests) > 0 {
		t.Errorf("the provider was called: %v", requests)
	}
}

// An ID token of another login is valid except for its nonce.
func TestForeignIDToken(t *testing.T) {
	for _, discovered := range []bool{false, true} {
		w := newWorld(t, provider.Options{}, nil)
		config, theirs := w.config(), w.session("s2")
		if discovered {
			config = w.openID()
		}
		w.login(w.broker, theirs, "call-1", config)
		stolen := w.response(w.broker, theirs, config).OAuth2.IDToken
		asked := w.ask(w.broker, w.key, "call-2", config, credential.Camel)
		if err := w.receive(w.broker, w.key, "call-2", asked, w.reply(asked, w.visit(asked, true), credential.Camel)); err != nil {
			t.Fatal(err)
		}
		w.provider.Break(provider.TokenPath, provider.Fault{Status: 200, Body: `{"access_token":"x","id_token":"` + stolen + `"}`})
		wantFailed(t, w.hear(w.broker.Complete(t.Context(), w.key, "call-2", asked)), "", "the ID token is invalid")
	}
}

func TestDiscoveryFails(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	w.provider.Break(provider.DiscoveryPath, provider.Fault{Status: 500, Body: "{}", Times: 1})
	_, err := w.broker.For(w.key).Request(t.Context(), w.openID())
	wantFailed(t, w.hear(err), "", "")
	w.provider.Break(provider.DiscoveryPath, provider.Fault{Status: 200, Body: `{"issuer":"https://other.example"}`, Times: 1})
	_, err = w.broker.For(w.key).Request(t.Context(), w.openID())
	wantFailed(t, w.hear(err), "", "under another name")
	w.login(w.broker, w.key, "call-1", w.openID())
	w.login(w.broker, w.key, "call-2", w.openID())
	if n := len(w.provider.Requests(provider.DiscoveryPath)); n != 3 {
		t.Errorf("the provider was asked %d times to describe itself", n)
	}
}

func TestNoVault(t *testing.T) {
	w := newWorld(t, provider.Options{}, func(o *broker.Options) { o.Vault = nil })
	if _, err := w.broker.For(w.key).Request(t.Context(), w.config()); !errors.Is(err, broker.ErrNoKey) {
		t.Errorf("Request: %v", err)
	}
	if got := w.response(w.broker, w.key, w.config()); got != nil {
		t.Errorf("Response: %v", got)
	}
	if _, err := w.broker.Callback(t.Context(), &url.URL{}, "browser"); !errors.Is(err, broker.ErrNoKey) {
		t.Errorf("Callback: %v", err)
	}
	key := &credential.Config{
		Scheme: &credential.Scheme{Type: credential.TypeAPIKey, In: "header", Name: "X-Key"},
		Raw:    &credential.Credential{Type: credential.TypeAPIKey, APIKey: "configured key"},
	}
	if got := w.response(w.broker, w.key, key); got == nil || got.APIKey != "configured key" {
		t.Errorf("Response: %v", got)
	}
}

// Another key than the one that a credential was sealed with means a new login.
func TestLostKey(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	w.login(w.broker, w.key, "call-1", w.config())
	var err error
	if w.options.Vault, err = vault.New(vault.Generate()); err != nil {
		t.Fatal(err)
	}
	b := broker.New(w.options)
	if got := w.response(b, w.key, w.config()); got != nil {
		t.Errorf("there is %v", got)
	}
	w.login(b, w.key, "call-2", w.config())
	if w.response(b, w.key, w.config()) == nil {
		t.Error("there is no credential after the login")
	}
}

func TestWhatCannotBeAsked(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	for name, config := range map[string]*credential.Config{
		"nothing":      nil,
		"empty":        {},
		"no client":    {Scheme: w.config().Scheme},
		"unknown type": {Scheme: &credential.Scheme{Type: "mutualTLS"}},
		"an API key": {
			Scheme: &credential.Scheme{Type: credential.TypeAPIKey, In: "header", Name: "X-Key"},
			Raw:    &credential.Credential{Type: credential.TypeAPIKey, APIKey: "configured key"},
		},
		"another method": func() *credential.Config {
			c := w.config()
			c.Raw.OAuth2.TokenEndpointAuthMethod = "private_key_jwt"
			return c
		}(),
	} {
		if _, err := w.broker.For(w.key).Request(t.Context(), config); w.hear(err) == nil {
			t.Errorf("%s can be asked for", name)
		}
	}
	gone := w.key
	gone.ID = "gone"
	if _, err := w.broker.For(gone).Request(t.Context(), w.config()); w.hear(err) == nil {
		t.Error("a session that is not there can be asked")
	}
}

// URLs that a browser would execute, or that can be tampered with on the network, are not shown to users.
func TestAddressesToLogInAt(t *testing.T) {
	w := newWorld(t, provider.Options{}, nil)
	const more = "?x=1"
	for address, good := range map[string]bool{
		"javascript:alert(1)": false, "javascript://provider.example/%0aalert(1)": false, "JavaScript://provider.example/": false,
		"data:text/html,x": false, "file:///etc/passwd": false, "custom://provider.example/authorize": false, "//provider.example/authorize": false,
		"http://provider.example/authorize": false, "http://192.0.2.1/authorize": false, "http://127.0.0.1.provider.example/authorize": false,
		"https://": false, "https:provider.example": false, "https://accounts.example@provider.example/authorize": false,
		"https://provider.example/authorize": true, "HTTPS://provider.example/authorize": true,
		"http://localhost:9/authorize": true, "http://127.0.0.1:9/authorize": true, "http://[::1]:9/authorize": true,
	} {
		scheme, own, discovered := w.config(), w.config(), w.openID()
		scheme.Scheme.Flows.AuthorizationCode.AuthorizationURL = address
		own.Raw.OAuth2.AuthURI = address + more
		d, err := json.Marshal(map[string]string{
			"issuer": w.provider.Issuer(), "authorization_endpoint": address, "token_endpoint": w.provider.TokenURL(), "jwks_uri": w.provider.Issuer() + "/keys",
		})
		if err != nil {
			t.Fatal(err)
		}
		w.provider.Break(provider.DiscoveryPath, provider.Fault{Status: 200, Body: string(d)})
		for from, config := range map[string]*credential.Config{"scheme": scheme, "credential": own, "discovery": discovered} {
			asked, err := broker.New(w.options).For(w.session(rand.Text())).Request(t.Context(), config)
			if (err == nil) != good {
				t.Errorf("%s in the %s: asked %t, %v", address, from, asked != nil, err)
			}
			if _, isFailure := errors.AsType[*broker.ExchangeError](err); err != nil && from == "discovery" && !isFailure {
				t.Errorf("%s in the %s: %v (%T)", address, from, err, err)
			}
		}
	}
}

// RFC 9207: an answer that says whose it is has to be the asked provider's, and
// one of a provider that always says it must not lack it.
func TestAnswerOfAnotherIssuer(t *testing.T) {
	w := managedWorld(t)
	const evil = "https://evil.example"
	says := func(yes bool) {
		text, err := json.Marshal(map[string]any{
			"issuer": w.provider.Issuer(), "authorization_endpoint": w.provider.AuthURL(), "token_endpoint": w.provider.TokenURL(),
			"jwks_uri": w.provider.Issuer() + "/keys", "authorization_response_iss_parameter_supported": yes,
		})
		if err != nil {
			t.Fatal(err)
		}
		w.provider.Break(provider.DiscoveryPath, provider.Fault{Status: 200, Body: string(text)})
	}
	for name, tt := range map[string]struct {
		config      func() *credential.Config
		always      bool
		iss, denied string
		good        bool
	}{
		"explicit, none":                {config: func() *credential.Config { return w.config() }, good: true},
		"explicit, its host":            {config: func() *credential.Config { return w.config() }, iss: w.provider.Issuer(), good: true},
		"explicit, a tenant":            {config: func() *credential.Config { return w.config() }, iss: w.provider.Issuer() + "/tenant", good: true},
		"explicit, another":             {config: func() *credential.Config { return w.config() }, iss: evil},
		"explicit, another, denied":     {config: func() *credential.Config { return w.config() }, iss: evil, denied: "access_denied"},
		"explicit, no address":          {config: func() *credential.Config { return w.config() }, iss: "evil"},
		"discovered, none":              {config: w.openID, good: true},
		"discovered, its":               {config: w.openID, iss: w.provider.Issuer(), good: true},
		"discovered, another":           {config: w.openID, iss: evil},
		"discovered, a tenant":          {config: w.openID, iss: w.provider.Issuer() + "/tenant"},
		"always said, its":              {config: w.openID, always: true, iss: w.provider.Issuer(), good: true},
		"always said, none":             {config: w.openID, always: true},
		"always said, none, and denied": {config: w.openID, always: true, denied: "access_denied"},
		"always said, its, and denied":  {config: w.openID, always: true, iss: w.provider.Issuer(), denied: "access_denied", good: true},
	} {
		says(tt.always)
		w.broker = broker.New(w.options) // which remembers no description
		key := w.session(rand.Text())
		for _, managed := range []bool{true, false} {
			asked := w.ask(w.broker, key, "call-1", tt.config(), credential.Camel)
			back := w.begin(asked, "browser", true)
			query := back.Query()
			query.Del("iss")
			if tt.iss != "" {
				query.Set("iss", tt.iss)
			}
			if tt.denied != "" {
				query.Del("code")
				query.Set("error", tt.denied)
			}
			back.RawQuery = query.Encode()
			var err error
			if managed {
				_, err = w.broker.Callback(t.Context(), back, "browser")
			} else {
				err = w.receive(w.broker, key, "call-1", asked, w.reply(asked, back.String(), credential.Camel))
			}
			if w.hear(err); tt.good && err != nil {
				t.Errorf("%s, managed %t: %v", name, managed, err)
			} else if !tt.good {
				wantRefused(t, err, broker.Mismatched)
			}
		}
	}
}

// A comma may be a part of a scope (RFC 6749, section 3.3).
func TestGrantedScopes(t *testing.T) {
	w := newWorld(t, provider.Options{Scopes: []string{"read,write"}}, nil)
	w.login(w.broker, w.key, "call-1", w.config("read,write"))
	list, err := w.broker.List(t.Context(), "app", "user")
	if err != nil || len(list) != 1 || !slices.Equal(list[0].Scopes, []string{"read,write"}) {
		t.Errorf("granted is %+v, %v", list, err)
	}
}
