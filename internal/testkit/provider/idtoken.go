package provider

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"io"
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
	do := func(req *http.Request, err error) []byte {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		resp, err := browser.Do(req)
		if err != nil {
			tb.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			tb.Fatal(err)
		}
		return body
	}
	do(http.NewRequestWithContext(tb.Context(), http.MethodGet, ask, nil))
	form := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {back}, "client_id": {id}, "client_secret": {secret},
	}
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, p.TokenURL(), strings.NewReader(form.Encode()))
	if err == nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	var answer struct {
		IDToken string `json:"id_token"`
	}
	if err := json.Unmarshal(do(req, err), &answer); err != nil || answer.IDToken == "" {
		tb.Fatalf("no identity token for %s: %v", user, err)
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
