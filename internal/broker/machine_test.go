package broker_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/broker"
	"github.com/parley-run/parley/internal/testkit/provider"
	"github.com/parley-run/parley/session"
)

func TestClientCredentials(t *testing.T) {
	w := newWorld(t, provider.Options{}, func(o *broker.Options) { o.Vault = nil })
	other := w.session("s2")
	for name, method := range map[string]string{"header": "", "form": "client_secret_post"} {
		config := w.config(provider.ScopeRead)
		flows := config.Scheme.Flows
		flows.ClientCredentials, flows.AuthorizationCode = flows.AuthorizationCode, nil
		flows.ClientCredentials.AuthorizationURL = ""
		config.Raw.OAuth2.TokenEndpointAuthMethod = method
		before := w.provider.Counts().ClientCredentials
		for _, key := range []session.Key{w.key, other, w.key} {
			cred := w.response(w.broker, key, config)
			if status := w.callAPI(config, cred); status != 200 {
				t.Fatalf("%s: the API answers %d", name, status)
			}
		}
		if n := w.provider.Counts().ClientCredentials - before; n != 1 {
			t.Errorf("%s: %d tokens were fetched", name, n)
		}
		w.advance(2 * time.Hour)
		w.response(w.broker, w.key, config)
		if err := w.broker.For(w.key).Drop(t.Context(), config); err != nil {
			t.Error(err)
		}
		w.response(w.broker, w.key, config)
		if n := w.provider.Counts().ClientCredentials - before; n != 3 {
			t.Errorf("%s: %d tokens were fetched", name, n)
		}
		if _, err := w.broker.For(w.key).Request(t.Context(), config); w.hear(err) == nil {
			t.Errorf("%s: a user is asked for a program's credential", name)
		}
		w.secret("a wrong secret")
		config.Raw.OAuth2.ClientSecret = "a wrong secret"
		_, err := w.broker.For(w.key).Response(t.Context(), config)
		wantFailed(t, w.hear(err), "invalid_client", "")
	}
}

func TestServiceAccount(t *testing.T) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	const idToken = "eyJhbGciOiJub25lIn0.eyJleHAiOjQwMDAwMDAwMDB9.c2ln"
	var calls atomic.Int32
	google := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		n := calls.Add(1)
		if r.FormValue("assertion") == "" || n > 2 {
			http.Error(rw, `{"error":"invalid_grant"}`, http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(rw).Encode(map[string]any{
			"access_token": "google-access", "expires_in": 3600,
			"id_token": idToken,
		})
	}))
	t.Cleanup(google.Close)
	w := newWorld(t, provider.Options{}, nil)
	w.secret(text, text[100:150])
	config := &credential.Config{
		Scheme: &credential.Scheme{Type: credential.TypeHTTP, HTTPScheme: "bearer"},
		Raw: &credential.Credential{Type: credential.TypeServiceAccount, ServiceAccount: &credential.ServiceAccount{
			Key:    &credential.ServiceAccountKey{ClientEmail: "robot@example.com", PrivateKey: text, TokenURI: google.URL},
			Scopes: []string{"x"},
		}},
	}
	for range 2 {
		if got := w.response(w.broker, w.key, config); got == nil || got.HTTP == nil || got.HTTP.Token != "google-access" {
			t.Errorf("there is %v", got)
		}
	}
	config.Raw.ServiceAccount.UseIDToken, config.Raw.ServiceAccount.Audience = true, "https://api.example"
	if got := w.response(w.broker, w.key, config); got == nil || got.HTTP == nil || got.HTTP.Token != idToken {
		t.Errorf("there is %v", got)
	}
	if n := calls.Load(); n != 2 {
		t.Errorf("%d tokens were fetched", n)
	}
	if err := w.broker.For(w.key).Drop(t.Context(), config); err != nil {
		t.Error(err)
	}
	_, err = w.broker.For(w.key).Response(t.Context(), config)
	wantFailed(t, w.hear(err), "", "status 400")
	config.Raw.ServiceAccount.Key.PrivateKey = "damaged"
	if _, err := w.broker.For(w.key).Response(t.Context(), config); w.hear(err) == nil {
		t.Error("a damaged key is good")
	}
	if _, err := w.broker.For(w.key).Request(t.Context(), config); w.hear(err) == nil {
		t.Error("a user is asked for a program's credential")
	}
}

func TestTypedIn(t *testing.T) {
	apiKey := &credential.Scheme{Type: credential.TypeAPIKey, In: "header", Name: "X-Key"}
	bearer := &credential.Scheme{Type: credential.TypeHTTP, HTTPScheme: "Bearer"}
	basic := &credential.Scheme{Type: credential.TypeHTTP, HTTPScheme: "basic"}
	for name, test := range map[string]struct {
		scheme *credential.Scheme
		answer string
		header string // the header that the API receives, or "" if the response is invalid
	}{
		"bare key":       {apiKey, `"sk-typed-in"`, "sk-typed-in"},
		"key":            {apiKey, `{"exchangedAuthCredential":{"authType":"apiKey","apiKey":"sk-typed-in"}}`, "sk-typed-in"},
		"key, snake":     {apiKey, `{"auth_type":"API_KEY","api_key":{"api_key":"sk-typed-in"}}`, "sk-typed-in"},
		"key, raw":       {apiKey, `{"authScheme":{"type":"apiKey","in":"header","name":"X-Key"},"rawAuthCredential":{"authType":"apiKey","apiKey":"sk-typed-in"}}`, "sk-typed-in"},
		"bearer":         {bearer, `{"authType":"http","http":{"scheme":"bearer","credentials":{"token":"sk-typed-in"}}}`, "Bearer sk-typed-in"},
		"bare token":     {bearer, `{"result":"sk-typed-in"}`, "Bearer sk-typed-in"},
		"basic":          {basic, `{"authType":"http","http":{"scheme":"basic","credentials":{"username":"u","password":"sk-typed-in"}}}`, "Basic dTpzay10eXBlZC1pbg=="},
		"no key":         {apiKey, `{"authType":"apiKey"}`, ""},
		"another kind":   {apiKey, `{"authType":"http","http":{"scheme":"bearer","credentials":{"token":"sk-typed-in"}}}`, ""},
		"two lines":      {apiKey, `"sk-typed-in\r\nX-Evil: 1"`, ""},
		"broken JSON":    {apiKey, `{"authType":"apiKey","apiKey":"sk-typed-in" "sk-typed-in"}`, ""},
		"wrong shape":    {bearer, `{"authType":"http","http":"sk-typed-in"}`, ""},
		"wrong type":     {apiKey, `{"authType":"sk-typed-in","apiKey":{"token":"sk-typed-in"}}`, ""},
		"no password":    {basic, `"sk-typed-in"`, ""},
		"another header": {apiKey, `{"authScheme":{"type":"apiKey","in":"header","name":"X-Evil"},"exchangedAuthCredential":{"authType":"apiKey","apiKey":"sk-typed-in"}}`, ""},
		"more headers":   {bearer, `{"authType":"http","http":{"credentials":{"token":"sk-typed-in"},"additionalHeaders":{"X-Evil":"1"}}}`, "Bearer sk-typed-in"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, provider.Options{}, nil)
			w.secret("sk-typed-in")
			config := &credential.Config{Scheme: test.scheme, CredentialKey: "typed"}
			if w.response(w.broker, w.key, config) != nil {
				t.Fatal("there is one before")
			}
			asked := w.ask(w.broker, w.key, "call-1", config, credential.Snake)
			err := w.receive(w.broker, w.key, "call-1", asked, json.RawMessage(test.answer))
			if test.header == "" {
				if err == nil {
					t.Error("it is good")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := w.broker.Complete(t.Context(), w.key, "call-1", asked); w.hear(err) != nil {
				t.Fatal(err)
			}
			request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example", http.NoBody)
			if err := credential.Apply(request, test.scheme, w.response(w.broker, w.key, config)); err != nil {
				t.Fatal(err)
			}
			if got := request.Header.Get("X-Key") + request.Header.Get("Authorization"); got != test.header || request.Header.Get("X-Evil") != "" {
				t.Errorf("the API is called with %v", request.Header)
			}
			wantRefused(t, w.receive(w.broker, w.key, "call-1", asked, json.RawMessage(test.answer)), broker.Conflicting)
		})
	}
}
