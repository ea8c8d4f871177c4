package provider_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/parley-run/parley/internal/testkit/leak"
	"github.com/parley-run/parley/internal/testkit/provider"
)

func TestMain(m *testing.M) { leak.Main(m) }

// callback is the redirect URI. Nothing listens there.
const callback = "http://127.0.0.1:9/callback"

// client returns a context whose requests leave no connection behind.
func client(t *testing.T) context.Context {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	return context.WithValue(t.Context(), oauth2.HTTPClient, &http.Client{Transport: transport})
}

func config(p *provider.Provider, scopes ...string) *oauth2.Config {
	id, secret := p.Client()
	return &oauth2.Config{
		ClientID: id, ClientSecret: secret, RedirectURL: callback, Scopes: scopes,
		Endpoint: oauth2.Endpoint{AuthURL: p.AuthURL(), TokenURL: p.TokenURL(), AuthStyle: oauth2.AuthStyleInHeader},
	}
}

// query returns what the user brings back.
func query(t *testing.T, address string) url.Values {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(address, callback+"?") {
		t.Fatalf("sent back to %s, %v", address, err)
	}
	return u.Query()
}

// code lets a user allow what is asked for.
func code(t *testing.T, p *provider.Provider, c *oauth2.Config, options ...oauth2.AuthCodeOption) string {
	t.Helper()
	back, err := p.Login(t.Context(), c.AuthCodeURL("a state", options...), "alice", true)
	if err != nil {
		t.Fatal(err)
	}
	values := query(t, back)
	if values.Get("state") != "a state" || values.Get("code") == "" {
		t.Fatalf("sent back with %v", values)
	}
	return values.Get("code")
}

// token goes the whole way to one.
func token(t *testing.T, p *provider.Provider, scopes ...string) *oauth2.Token {
	t.Helper()
	c := config(p, scopes...)
	got, err := c.Exchange(client(t), code(t, p, c))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// refresh uses a refresh token.
func refresh(t *testing.T, p *provider.Provider, value string) (*oauth2.Token, error) {
	t.Helper()
	return config(p).TokenSource(client(t), &oauth2.Token{RefreshToken: value}).Token()
}

// wantRefused makes sure that a token was refused for the given reason.
func wantRefused(t *testing.T, err error, reason string) {
	t.Helper()
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok || refused.ErrorCode != reason {
		t.Fatalf("got %v, want %s", err, reason)
	}
}

func TestCodeFlow(t *testing.T) {
	p := provider.Start(t, provider.Options{RequirePKCE: true})
	ctx := client(t)
	discovered, err := oidc.NewProvider(ctx, p.Issuer())
	if err != nil {
		t.Fatal(err)
	}
	endpoint := discovered.Endpoint()
	if endpoint.AuthURL != p.AuthURL() || endpoint.TokenURL != p.TokenURL() || discovered.UserInfoEndpoint() != p.UserInfoURL() {
		t.Errorf("discovered %+v", endpoint)
	}
	var more struct {
		Revocation string   `json:"revocation_endpoint"`
		Methods    []string `json:"code_challenge_methods_supported"`
		Scopes     []string `json:"scopes_supported"`
	}
	if err := discovered.Claims(&more); err != nil || more.Revocation != p.RevokeURL() ||
		!slices.Equal(more.Methods, []string{"S256"}) || !slices.Contains(more.Scopes, provider.ScopeRead) {
		t.Errorf("discovered %+v, %v", more, err)
	}
	for _, style := range []oauth2.AuthStyle{oauth2.AuthStyleInHeader, oauth2.AuthStyleInParams} {
		c := config(p, "openid", "profile", "email", "offline_access", provider.ScopeRead, "unheard.of")
		c.Endpoint.AuthStyle = style
		verifier := oauth2.GenerateVerifier()
		got, err := c.Exchange(ctx, code(t, p, c, oauth2.S256ChallengeOption(verifier), oidc.Nonce("a nonce")),
			oauth2.VerifierOption(verifier))
		if err != nil {
			t.Fatal(err)
		}
		if got.ExpiresIn != 3600 || got.TokenType != "Bearer" || got.RefreshToken == "" {
			t.Errorf("%+v", got)
		}
		if got.Extra("scope") != "openid profile email offline_access "+provider.ScopeRead {
			t.Errorf("scope %q", got.Extra("scope"))
		}
		raw, _ := got.Extra("id_token").(string)
		signed, err := discovered.Verifier(&oidc.Config{ClientID: c.ClientID, SupportedSigningAlgs: []string{oidc.RS256}}).Verify(ctx, raw)
		if err != nil {
			t.Fatal(err)
		}
		var claims struct {
			Name  string `json:"name"`
			Email string `json:"email"`
		}
		if err := signed.Claims(&claims); err != nil || claims.Name != "alice" || claims.Email != "alice@example.com" ||
			signed.Subject != "alice" || signed.Nonce != "a nonce" || signed.VerifyAccessToken(got.AccessToken) != nil {
			t.Errorf("%+v, %+v, %v", claims, signed, err)
		}
		info, err := discovered.UserInfo(ctx, oauth2.StaticTokenSource(got))
		if err != nil || info.Subject != "alice" || info.Email != "alice@example.com" || !info.EmailVerified {
			t.Errorf("%+v, %v", info, err)
		}
	}
	if got, want := p.Counts(), (provider.Counts{Authorizations: 2, Exchanges: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestProofKey(t *testing.T) {
	p := provider.Start(t, provider.Options{RequirePKCE: true})
	c := config(p, "openid")
	verifier := oauth2.GenerateVerifier()
	got := code(t, p, c, oauth2.S256ChallengeOption(verifier))
	_, err := c.Exchange(client(t), got, oauth2.VerifierOption(oauth2.GenerateVerifier()))
	wantRefused(t, err, "invalid_grant")
	_, err = c.Exchange(client(t), got)
	wantRefused(t, err, "invalid_request")
	if _, err = c.Exchange(client(t), got, oauth2.VerifierOption(verifier)); err != nil {
		t.Error(err)
	}
	for name, options := range map[string][]oauth2.AuthCodeOption{
		"none": nil,
		"plain": {
			oauth2.SetAuthURLParam("code_challenge", verifier), oauth2.SetAuthURLParam("code_challenge_method", "plain"),
		},
		"no method": {oauth2.SetAuthURLParam("code_challenge", verifier)},
	} {
		back, err := p.Login(t.Context(), c.AuthCodeURL("s", options...), "alice", true)
		if err != nil {
			t.Fatal(err)
		}
		if values := query(t, back); values.Get("error") != "invalid_request" || values.Get("code") != "" || values.Get("state") != "s" {
			t.Errorf("%s: %v", name, values)
		}
	}
}

func TestCodeIsUsedOnce(t *testing.T) {
	p := provider.Start(t, provider.Options{})
	c := config(p, "openid", "offline_access")
	for _, scopes := range [][]string{{"openid"}, {"openid", "offline_access"}} {
		c.Scopes = scopes
		got := code(t, p, c)
		results := make(chan error)
		for range 5 {
			go func() {
				_, err := c.Exchange(client(t), got)
				results <- err
			}()
		}
		good := 0
		for range 5 {
			if err := <-results; err == nil {
				good++
			} else {
				wantRefused(t, err, "invalid_grant")
			}
		}
		if good != 1 {
			t.Errorf("%v: the code was good %d times", scopes, good)
		}
	}
	late := code(t, p, c)
	p.Advance(2 * time.Minute)
	_, err := c.Exchange(client(t), late)
	wantRefused(t, err, "invalid_grant")
	if p.Counts().Exchanges != 2 {
		t.Errorf("%+v", p.Counts())
	}
}

func TestClientIsAuthenticated(t *testing.T) {
	p := provider.Start(t, provider.Options{ClientID: "me", ClientSecret: "it's 100% &secret+", RedirectURIs: []string{callback}})
	for _, style := range []oauth2.AuthStyle{oauth2.AuthStyleInHeader, oauth2.AuthStyleInParams} {
		c := config(p, "openid")
		c.Endpoint.AuthStyle = style
		got := code(t, p, c)
		c.ClientSecret = "wrong"
		_, err := c.Exchange(client(t), got)
		wantRefused(t, err, "invalid_client")
		_, c.ClientSecret = p.Client()
		if _, err = c.Exchange(client(t), got); err != nil {
			t.Error(err)
		}
	}
	c := config(p, "openid")
	c.RedirectURL = callback + "/elsewhere"
	if back, err := p.Login(t.Context(), c.AuthCodeURL("s"), "alice", true); err == nil {
		t.Errorf("sent to %s, which was not registered", back)
	}
	c = config(p, "openid")
	c.ClientID = "unknown"
	if back, err := p.Login(t.Context(), c.AuthCodeURL("s"), "alice", true); err == nil {
		t.Errorf("sent to %s by a client that is not known", back)
	}
}

func TestRefresh(t *testing.T) {
	p := provider.Start(t, provider.Options{})
	first := token(t, p, "openid", "offline_access", provider.ScopeRead)
	second, err := refresh(t, p, first.RefreshToken)
	if err != nil || second.RefreshToken == first.RefreshToken || second.AccessToken == first.AccessToken {
		t.Fatalf("%+v, %v", second, err)
	}
	_, err = refresh(t, p, first.RefreshToken)
	wantRefused(t, err, "invalid_grant")
	results := make(chan error)
	for range 5 {
		go func() {
			_, err := refresh(t, p, second.RefreshToken)
			results <- err
		}()
	}
	good := 0
	for range 5 {
		if err := <-results; err == nil {
			good++
		} else {
			wantRefused(t, err, "invalid_grant")
		}
	}
	if good != 1 || p.Counts().Refreshes != 2 {
		t.Errorf("the token was good %d times; %+v", good, p.Counts())
	}
	last := token(t, p, "openid", "offline_access")
	p.Advance(31 * 24 * time.Hour)
	_, err = refresh(t, p, last.RefreshToken)
	wantRefused(t, err, "invalid_grant")
	if token(t, p, "openid").RefreshToken != "" {
		t.Error("a refresh token that was not requested")
	}
}

func TestKeptRefreshToken(t *testing.T) {
	p := provider.Start(t, provider.Options{KeepRefreshTokens: true})
	first := token(t, p, "openid", "offline_access")
	for range 3 {
		again, err := refresh(t, p, first.RefreshToken)
		if err != nil || again.RefreshToken != first.RefreshToken { // the library keeps it
			t.Fatalf("%+v, %v", again, err)
		}
	}
}

func TestClientCredentials(t *testing.T) {
	p := provider.Start(t, provider.Options{})
	id, secret := p.Client()
	c := clientcredentials.Config{ClientID: id, ClientSecret: secret, TokenURL: p.TokenURL(), Scopes: []string{provider.ScopeRead}}
	for _, style := range []oauth2.AuthStyle{oauth2.AuthStyleInHeader, oauth2.AuthStyleInParams} {
		c.AuthStyle = style
		got, err := c.Token(client(t))
		if err != nil || got.AccessToken == "" || got.RefreshToken != "" {
			t.Fatalf("%+v, %v", got, err)
		}
		wantStatus(t, p, http.MethodGet, got.AccessToken, http.StatusOK, "")
	}
	c.Scopes = []string{"unheard.of"}
	_, err := c.Token(client(t))
	wantRefused(t, err, "invalid_scope")
	c.ClientSecret = "wrong"
	_, err = c.Token(client(t))
	wantRefused(t, err, "invalid_client")
	if p.Counts().ClientCredentials != 2 {
		t.Errorf("%+v", p.Counts())
	}
}
