package provider

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// IDToken logs a user in, as a browser would, and returns the identity token.
func (p *Provider) IDToken(tb testing.TB, user string) string {
	tb.Helper()
	const back = "http://127.0.0.1/back"
	id, secret := p.Client()
	ask := p.AuthURL() + "?" + url.Values{
		"client_id": {id}, "redirect_uri": {back}, "response_type": {"code"}, "scope": {"openid email profile"}, "state": {"s"}, "auto_login": {user},
	}.Encode()
	var code string
	browser := &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			if strings.HasPrefix(r.URL.String(), back) {
				code = r.URL.Query().Get("code")
				return http.ErrUseLastResponse
			}
			return nil
		},
	}
	get := func(resp *http.Response, err error) *http.Response {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, ask, nil)
	if err != nil {
		tb.Fatal(err)
	}
	get(browser.Do(req))
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {back}, "client_id": {id}, "client_secret": {secret},
	}
	req, err = http.NewRequestWithContext(tb.Context(), http.MethodPost, p.TokenURL(), strings.NewReader(form.Encode()))
	if err != nil {
		tb.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	var answer struct {
		IDToken string `json:"id_token"`
	}
	resp := get(browser.Do(req))
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.IDToken == "" {
		tb.Fatalf("no identity token for %s: %d, %v", user, resp.StatusCode, err)
	}
	return answer.IDToken
}

// RotateKey makes the provider sign with another key, and forget the one that it
// had.
func (p *Provider) RotateKey(tb testing.TB) {
	tb.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		tb.Fatal(err)
	}
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	p.store.key = signingKey{rand.Text(), key}
}

// signing is the key of now.
func (s *storage) signing() signingKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.key
}
