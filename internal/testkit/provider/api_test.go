package provider_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/parley-run/parley/internal/testkit/provider"
)

// do sends a request and returns the status and the body.
func do(t *testing.T, request *http.Request, err error) (int, string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	response, err := client(t).Value(oauth2.HTTPClient).(*http.Client).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// call calls the API with a token, or without one.
func call(t *testing.T, p *provider.Provider, method, token, body string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, p.API(), strings.NewReader(body))
	if err == nil && token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return do(t, request, err)
}

// wantStatus calls the API and looks at the status and at the code of an error.
func wantStatus(t *testing.T, p *provider.Provider, method, token string, status int, code string) {
	t.Helper()
	got, body := call(t, p, method, token, `{"title": "Lunch"}`)
	var problem struct{ Code, Message string }
	if err := json.Unmarshal([]byte(body), &problem); err != nil || got != status || problem.Code != code || (problem.Message == "") != (code == "") {
		t.Fatalf("%d %s; want %d %s", got, body, status, code)
	}
}

func TestAPI(t *testing.T) {
	p := provider.Start(t, provider.Options{})
	good := token(t, p, "openid", provider.ScopeRead, provider.ScopeWrite).AccessToken
	if status, body := call(t, p, http.MethodPost, good, `{"title": "Lunch", "start": "2030-01-01T12:00:00Z"}`); status != http.StatusCreated {
		t.Fatalf("%d %s", status, body)
	}
	status, body := call(t, p, http.MethodGet, good, "")
	if want := `{"events":[{"id":"event-1","title":"Lunch","start":"2030-01-01T12:00:00Z"}]}`; status != http.StatusOK || strings.TrimSpace(body) != want {
		t.Errorf("%d %s", status, body)
	}
	if status, body := call(t, p, http.MethodPost, good, `{}`); status != http.StatusBadRequest {
		t.Errorf("%d %s", status, body)
	}
	wantStatus(t, p, http.MethodDelete, good, http.StatusMethodNotAllowed, "method_not_allowed")
	if events := p.Events("alice"); len(events) != 1 || len(p.Events("bob")) != 0 {
		t.Errorf("%+v", events)
	}
}

func TestAPIRefuses(t *testing.T) {
	p := provider.Start(t, provider.Options{AccessTokenLife: time.Second})
	got := token(t, p, "openid", "offline_access", provider.ScopeRead)
	if got.ExpiresIn != 1 {
		t.Errorf("expires in %d", got.ExpiresIn)
	}
	p.Advance(-time.Hour) // so that it does not expire while the test is at it
	good := got.AccessToken
	wantStatus(t, p, http.MethodGet, good, http.StatusOK, "")
	wantStatus(t, p, http.MethodPost, good, http.StatusForbidden, "insufficient_scope")
	wantStatus(t, p, http.MethodGet, "", http.StatusUnauthorized, "missing_token")
	wantStatus(t, p, http.MethodGet, "nonsense", http.StatusUnauthorized, "invalid_token")
	wantStatus(t, p, http.MethodGet, got.RefreshToken, http.StatusUnauthorized, "invalid_token")
	for i := range good {
		changed := []byte(good)
		changed[i] = "AB"[map[bool]int{true: 1}[changed[i] == 'A']]
		if string(changed) != good {
			wantStatus(t, p, http.MethodGet, string(changed), http.StatusUnauthorized, "invalid_token")
		}
	}
	p.Advance(time.Hour + time.Second)
	wantStatus(t, p, http.MethodGet, good, http.StatusUnauthorized, "invalid_token")
	if status, body := call(t, p, http.MethodGet, good, ""); !strings.Contains(body, "expired") {
		t.Errorf("%d %s", status, body)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.UserInfoURL(), nil)
	request.Header.Set("Authorization", "Bearer "+good)
	if status, body := do(t, request, err); status != http.StatusUnauthorized {
		t.Errorf("%d %s", status, body)
	}
}

// TestExpiry makes sure that a client that is told a short life refreshes.
func TestExpiry(t *testing.T) {
	p := provider.Start(t, provider.Options{AccessTokenLife: time.Second, IDTokenLife: 2 * time.Second})
	first := token(t, p, "openid", "offline_access")
	source := config(p).TokenSource(client(t), first)
	second, err := source.Token() // a second is less than the margin that clients keep
	if err != nil || second.AccessToken == first.AccessToken || p.Counts().Refreshes != 1 {
		t.Errorf("%+v, %v, %+v", second, err, p.Counts())
	}
}

func TestRevoke(t *testing.T) {
	p := provider.Start(t, provider.Options{})
	revoke := func(value string, secret string) int {
		t.Helper()
		id, _ := p.Client()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.RevokeURL(),
			strings.NewReader(url.Values{"token": {value}}.Encode()))
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret))
		status, _ := do(t, request, err)
		return status
	}
	_, secret := p.Client()
	scopes := []string{"openid", "offline_access", provider.ScopeRead}

	one, two := token(t, p, scopes...), token(t, p, scopes...)
	if revoke(one.AccessToken, "wrong") != http.StatusUnauthorized {
		t.Error("anyone may revoke")
	}
	wantStatus(t, p, http.MethodGet, one.AccessToken, http.StatusOK, "")
	if revoke(one.AccessToken, secret) != http.StatusOK {
		t.Error("an access token cannot be revoked")
	}
	wantStatus(t, p, http.MethodGet, one.AccessToken, http.StatusUnauthorized, "invalid_token")
	one, err := refresh(t, p, one.RefreshToken)
	if err != nil {
		t.Fatal(err)
	}
	if revoke(one.RefreshToken, secret) != http.StatusOK {
		t.Error("a refresh token cannot be revoked")
	}
	wantStatus(t, p, http.MethodGet, one.AccessToken, http.StatusUnauthorized, "invalid_token")
	_, err = refresh(t, p, one.RefreshToken)
	wantRefused(t, err, "invalid_grant")
	if revoke(one.RefreshToken, secret) != http.StatusOK || revoke("nonsense", secret) != http.StatusOK || p.Counts().Revocations != 2 {
		t.Errorf("%+v", p.Counts())
	}

	wantStatus(t, p, http.MethodGet, two.AccessToken, http.StatusOK, "")
	p.RevokeAccessTokens()
	wantStatus(t, p, http.MethodGet, two.AccessToken, http.StatusUnauthorized, "invalid_token")
	if two, err = refresh(t, p, two.RefreshToken); err != nil {
		t.Fatal(err)
	}
	p.RevokeAll()
	wantStatus(t, p, http.MethodGet, two.AccessToken, http.StatusUnauthorized, "invalid_token")
	_, err = refresh(t, p, two.RefreshToken)
	wantRefused(t, err, "invalid_grant")
}

func TestRequests(t *testing.T) {
	p := provider.Start(t, provider.Options{})
	if all := p.Requests(); len(all) != 0 {
		t.Errorf("%+v before anyone came", all)
	}
	got := token(t, p, "openid", "offline_access")
	if _, err := refresh(t, p, got.RefreshToken); err != nil {
		t.Fatal(err)
	}
	exchanges := p.Requests(provider.TokenPath)
	if len(exchanges) != 2 || exchanges[0].Grant != "authorization_code" || exchanges[1].Grant != "refresh_token" ||
		exchanges[0].Method != http.MethodPost || !slices.Equal(exchanges[0].Form, []string{"code", "grant_type", "redirect_uri"}) {
		t.Errorf("%+v", exchanges)
	}
	if pages := p.Requests(provider.AuthorizePath, provider.LoginPath); len(pages) != 3 {
		t.Errorf("%+v", pages)
	}
	before := len(p.Requests())
	call(t, p, http.MethodGet, "", "")
	if all := p.Requests(); len(all) != before+1 || all[before].Path != provider.APIPath {
		t.Errorf("%+v", all)
	}
}

func TestCloseTwice(t *testing.T) {
	p, err := provider.New(provider.Options{})
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimPrefix(p.Issuer(), "http://")
	if _, err := provider.New(provider.Options{Addr: address}); err == nil {
		t.Error("two providers on one port")
	}
	p.Close()
	p.Close()
	again, err := provider.New(provider.Options{Addr: address})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.Issuer() != p.Issuer() {
		t.Errorf("%s is not %s", again.Issuer(), p.Issuer())
	}
	if _, err := p.Login(context.Background(), "http://127.0.0.1:1/closed", "x", true); err == nil {
		t.Error("login at a port without a listener succeeded")
	}
}
