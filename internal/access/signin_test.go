package access

import (
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// signInAt returns a client of an issuer whose discovery document has further members.
func signInAt(t *testing.T, said map[string]any) *Client {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		about := map[string]any{
			"issuer": server.URL, "authorization_endpoint": server.URL + "/authorize", "token_endpoint": server.URL + "/token", "jwks_uri": server.URL + "/keys",
		}
		maps.Copy(about, said)
		if err := json.NewEncoder(w).Encode(about); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	g, err := OIDC(t.Context(), OIDCConfig{Issuers: []string{server.URL}, ClientID: "parley", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return g.Client()
}

// Browsers are sent only to web pages, over TLS, and so is the client's secret.
func TestSignInAddresses(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{"authorization_endpoint", "token_endpoint"} {
		for address, good := range map[string]bool{
			"javascript:alert(1)": false, "http://issuer.example/x": false, "https://a@issuer.example/x": false, "": false,
			"https://issuer.example/x": true, "http://127.0.0.1:9/x": true,
		} {
			to, _, err := signInAt(t, map[string]any{endpoint: address}).Begin(t.Context(), "https://parley.example/back")
			if _, down := errors.AsType[*UnavailableError](err); down == good {
				t.Errorf("%s %q: %s, %v", endpoint, address, to, err)
			}
		}
	}
}

// The iss parameter of a callback must match the issuer, and is required if the issuer promises it (RFC 9207).
func TestSignInOfAnotherIssuer(t *testing.T) {
	t.Parallel()
	for _, always := range []bool{false, true} {
		c := signInAt(t, map[string]any{"authorization_response_iss_parameter_supported": always})
		for iss, exchanged := range map[string]bool{"": !always, c.Issuer(): true, "https://evil.example": false} {
			_, a, err := c.Begin(t.Context(), "https://parley.example/back")
			if err != nil {
				t.Fatal(err)
			}
			back := url.Values{"state": {a.State}, "code": {"code"}}
			if iss != "" {
				back.Set("iss", iss)
			}
			_, err = c.Finish(t.Context(), a, "https://parley.example/back", back)
			refused, ok := errors.AsType[*RefusedError](err)
			if !ok || exchanged != (refused.Why == `the issuer refused the code: 418 I'm a teapot ""`) {
				t.Errorf("always %t, iss %q: %v", always, iss, err)
			}
		}
	}
}
