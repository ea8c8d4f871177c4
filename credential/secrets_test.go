package credential_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/parley-run/parley/credential"
)

// Every secret that a redacted credential lacks is one that Secrets names.
func TestSecrets(t *testing.T) {
	cred, err := credential.DecodeCredential(json.RawMessage(`{
		"authType": "oauth2", "apiKey": "s-key",
		"http": {"scheme": "basic", "credentials": {"username": "ann", "password": "s-password", "token": "s-token"}, "additionalHeaders": {"A": "s-header"}},
		"oauth2": {"clientId": "client", "clientSecret": "s-client", "accessToken": "s-access", "refreshToken": "s-refresh", "idToken": "s-id",
			"authCode": "s-code", "codeVerifier": "s-verifier", "authResponseUri": "s-response", "redirectUri": "open", "expiresAt": 9},
		"serviceAccount": {"serviceAccountCredential": {"client_email": "a@b", "private_key": "s-private", "private_key_id": "s-private-id"}}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	got := cred.Secrets()
	for _, s := range []string{
		"s-key", "s-password", "s-token", "s-header", "s-client", "s-access", "s-refresh", "s-id", "s-code", "s-verifier", "s-response", "s-private", "s-private-id",
	} {
		if !slices.Contains(got, s) {
			t.Errorf("%s is missing in %q", s, got)
		}
	}
	for _, s := range got {
		if !strings.HasPrefix(s, "s-") {
			t.Errorf("%q is no secret", s)
		}
	}
	if (*credential.Credential)(nil).Secrets() != nil {
		t.Error("nothing has secrets")
	}
}
