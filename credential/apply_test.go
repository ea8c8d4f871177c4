package credential_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/credential"
)

func TestApply(t *testing.T) {
	const header, query, cookie = `{"type":"apiKey","in":"header","name":"x-key"}`, `{"type":"apiKey","in":"query","name":"k y"}`, `{"in":"cookie","name":"sid"}`
	for _, tt := range []struct {
		name, scheme, cred string
		query              string // a=1 when empty
		want               http.Header
	}{
		{"header", header, `{"apiKey":"k"}`, "", http.Header{"X-Key": {"k"}}},
		{"query", query, `{"apiKey":"a&b"}`, "z=%2f&a=1;&k+y=a%26b", nil},
		{"cookie", cookie, `{"apiKey":"k"}`, "", http.Header{"Cookie": {"other=1; sid=k"}}},
		{"bearer", `{"type":"http","scheme":"bearer"}`, `{"http":{"scheme":"Bearer","credentials":{"token":"t"}}}`, "", http.Header{"Authorization": {"Bearer t"}}},
		{"no scheme", ``, `{"http":{"credentials":{"token":"t"}}}`, "", http.Header{"Authorization": {"Bearer t"}}},
		{"basic", `{"type":"http","scheme":"basic"}`, `{"http":{"credentials":{"username":"u","password":"p"}}}`, "", http.Header{"Authorization": {"Basic dTpw"}}},
		{"another scheme", `{"type":"http","scheme":"bearer"}`, `{"http":{"scheme":"GNAP","credentials":{"token":"t"}}}`, "", http.Header{"Authorization": {"GNAP t"}}},
		{"the scheme's scheme", `{"type":"http","scheme":"DPoP"}`, `{"http":{"credentials":{"token":"t"}}}`, "", http.Header{"Authorization": {"DPoP t"}}},
		{"headers", ``, `{"http":{"additionalHeaders":{"x-a":"1","authorization":"no"},"credentials":{"token":"t"}}}`, "", http.Header{"Authorization": {"Bearer t"}, "X-A": {"1"}}},
		{"only headers", ``, `{"http":{"additionalHeaders":{"x-a":"1"}}}`, "", http.Header{"X-A": {"1"}}},
		{"oauth2", `{"flows":{}}`, `{"oauth2":{"accessToken":"t","idToken":"i"}}`, "", http.Header{"Authorization": {"Bearer t"}}},
		{"OpenID Connect", `{"openIdConnectUrl":"o"}`, `{"authType":"oidc","oauth2":{"access_token":"t"},"http":{"additionalHeaders":{"x-a":"1"}}}`, "", http.Header{"Authorization": {"Bearer t"}, "X-A": {"1"}}},
		{"service account", `{"flows":{}}`, `{"authType":"serviceAccount","oauth2":{"accessToken":"t"}}`, "", http.Header{"Authorization": {"Bearer t"}}},
		{"service account with an ID token", ``, `{"authType":"serviceAccount","serviceAccount":{"useIdToken":true},"oauth2":{"accessToken":"t","idToken":"i"}}`, "", http.Header{"Authorization": {"Bearer i"}}},
		{"exchanged service account", ``, `{"authType":"serviceAccount","http":{"credentials":{"token":"t"}}}`, "", http.Header{"Authorization": {"Bearer t"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := httptest.NewRequest(http.MethodGet, "https://api.example/?z=%2f&k%20y=old&a=1;", nil)
			if tt.name == "cookie" {
				req.Header.Set("Cookie", "sid=old; other=1")
			}
			if err := apply(t, req, tt.scheme, tt.cred); err != nil {
				t.Fatal(err)
			}
			if tt.query != "" && req.URL.RawQuery != tt.query {
				t.Errorf("query: got %s, want %s", req.URL.RawQuery, tt.query)
			}
			if diff := cmp.Diff(tt.want, req.Header, cmp.Transformer("", func(h http.Header) map[string][]string { return h })); diff != "" && tt.want != nil {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func apply(t *testing.T, req *http.Request, scheme, cred string) error {
	t.Helper()
	var s *credential.Scheme
	var err error
	if scheme != "" {
		if s, err = credential.DecodeScheme(raw(scheme)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := credential.DecodeCredential(raw(cred))
	if err != nil {
		t.Fatal(err)
	}
	return credential.Apply(req, s, c)
}

func TestApplyErrors(t *testing.T) {
	const header = `{"type":"apiKey","in":"header","name":"x-key"}`
	for _, tt := range []struct {
		scheme, cred string
		notReady     bool
	}{
		{header, `{"authType":"apiKey"}`, true},
		{``, `{}`, true},
		{``, `{"authType":"http"}`, true},
		{``, `{"http":{}}`, true},
		{``, `{"http":{"scheme":"basic","credentials":{"token":"s3cret"}}}`, true},
		{``, `{"oauth2":{"clientId":"c","clientSecret":"s3cret","refreshToken":"s3cret"}}`, true},
		{``, `{"authType":"oauth2"}`, true},
		{``, `{"serviceAccount":{"credentials":{"private_key":"s3cret"}}}`, true},
		{``, `{"apiKey":"s3cret"}`, false},
		{`{"type":"http","scheme":"bearer"}`, `{"apiKey":"s3cret"}`, false},
		{`{"type":"apiKey","in":"header"}`, `{"apiKey":"s3cret"}`, false},
		{`{"type":"apiKey","in":"body","name":"k"}`, `{"apiKey":"s3cret"}`, false},
		{`{"type":"apiKey","in":"header","name":"a b"}`, `{"apiKey":"s3cret"}`, false},
		{`{"type":"apiKey","in":"cookie","name":"k"}`, `{"apiKey":"s3cret;"}`, false},
		{header, `{"apiKey":"s3cret\r\nX-Evil: 1"}`, false},
		{header, `{"http":{"credentials":{"token":"s3cret"}}}`, false},
		{``, `{"oauth2":{"accessToken":"s3cret\n"}}`, false},
		{``, `{"http":{"credentials":{"token":"s3cret"},"additionalHeaders":{"x-a":"s3cret\u0000"}}}`, false},
		{``, `{"http":{"credentials":{"token":"s3cret"},"additionalHeaders":{"":"s3cret"}}}`, false},
		{``, `{"http":{"scheme":"basic","credentials":{"username":"a:b","password":"s3cret"}}}`, false},
	} {
		req := httptest.NewRequest(http.MethodGet, "https://api.example/?a=1", nil)
		err := apply(t, req, tt.scheme, tt.cred)
		if err == nil || errors.Is(err, credential.ErrNotReady) != tt.notReady || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s %s: got %v, not ready: want %t", tt.scheme, tt.cred, err, tt.notReady)
		}
		if len(req.Header) != 0 || req.URL.RawQuery != "a=1" {
			t.Errorf("%s %s: the request was changed", tt.scheme, tt.cred)
		}
	}
	if err := credential.Apply(&http.Request{}, nil, nil); !errors.Is(err, credential.ErrNotReady) {
		t.Errorf("got %v", err)
	}
}

func TestApplyToBareRequest(t *testing.T) {
	for scheme, want := range map[string]http.Request{
		`{"in":"header","name":"K"}`: {URL: &url.URL{}, Header: http.Header{"K": {"v"}}},
		`{"in":"query","name":"K"}`:  {URL: &url.URL{RawQuery: "K=v"}},
		`{"in":"cookie","name":"K"}`: {URL: &url.URL{}, Header: http.Header{"Cookie": {"K=v"}}},
	} {
		req := &http.Request{URL: &url.URL{}}
		if err := apply(t, req, scheme, `{"apiKey":"v"}`); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Header, req.Header); diff != "" || req.URL.RawQuery != want.URL.RawQuery {
			t.Errorf("%s: got %v %v", scheme, req.URL, req.Header)
		}
	}
	req := &http.Request{}
	if err := apply(t, req, `{"in":"query","name":"K"}`, `{"apiKey":"v"}`); err == nil {
		t.Error("a request without an address has no query")
	}
	if err := apply(t, req, ``, `{"oauth2":{"accessToken":"v"}}`); err != nil || req.Header.Get("Authorization") != "Bearer v" {
		t.Errorf("got %v and %v", req.Header, err)
	}
}
