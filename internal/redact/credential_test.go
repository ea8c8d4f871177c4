package redact_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/redact"
	"github.com/parley-run/parley/internal/wire"
)

func TestHoldsCredential(t *testing.T) {
	quoted := func(doc string) string { return string(wire.Quote(nil, doc)) }
	const cred = `{"authType":"oauth2","oauth2":{"clientId":"c"}}`
	for _, tt := range []struct {
		doc   string
		holds bool
	}{
		{cred, true},
		{` {"auth_type":"API_KEY","x":1,"api_key":{"api_key":"k"}}`, true},
		{`{"auth\u0054ype":"http","http":{}}`, true},
		{`{"auth_type":"SERVICE_ACCOUNT","service_account":{}}`, true},
		{`{"authType":"oauth2","authType":null,"oauth2":{"a":1},"oauth2":null}`, true},
		{quoted(cred), true},
		{quoted(quoted(cred)), false}, // no reader of ours opens it
		{`{"authScheme":{},"exchangedAuthCredential":` + cred + `}`, true},
		{`{"raw_auth_credential":` + cred + `}`, true},
		{`{"google":` + cred + `}`, true},
		{`[[` + cred + `]]`, true},
		{`{"list":[1,` + quoted(`[`+cred+`]`) + `]}`, true},
		{`{"authType":"oauth2"}`, false},
		{`{"authType":"oauth2","oauth2":null}`, false},
		{`{"authType":5,"oauth2":{}}`, false},
		{`{"oauth2":{"clientId":"c"}}`, false},
		{`{"token":"t","auth":"x"}`, false},
		{`"auth"`, false},
		{`"{auth"`, false},
		{`{"author":1`, false},
		{`null`, false},
		{``, false},
	} {
		if holds := redact.HoldsCredential(json.RawMessage(tt.doc)); holds != tt.holds {
			t.Errorf("%s: got %t, want %t", tt.doc, holds, tt.holds)
		}
	}
}

// Every secret that a redacted credential lacks is one of those in it.
func TestSecretsIn(t *testing.T) {
	const doc = `{
		"authType": "oauth2", "apiKey": "s-key",
		"http": {"scheme": "basic", "credentials": {"username": "ann", "password": "s-password", "token": "s-token"}, "additionalHeaders": {"A": "s-header"}},
		"oauth2": {"clientId": "client", "clientSecret": "s-client", "accessToken": "s-access", "refreshToken": "s-refresh", "idToken": "s-id",
			"authCode": "s-code", "codeVerifier": "s-verifier", "authResponseUri": "s-response", "redirectUri": "open", "expiresAt": 9},
		"serviceAccount": {"serviceAccountCredential": {"client_email": "a@b", "private_key": "s-private", "private_key_id": "s-private-id"}}
	}`
	cred, err := credential.DecodeCredential(json.RawMessage(doc))
	if err != nil {
		t.Fatal(err)
	}
	snake, err := cred.AppendJSON(nil, credential.Snake)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"list": []any{doc}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"s-access", "s-client", "s-code", "s-header", "s-id", "s-key", "s-password", "s-private", "s-private-id", "s-refresh", "s-response", "s-token", "s-verifier",
	}
	for how, value := range map[string]json.RawMessage{"camelCase": json.RawMessage(doc), "snake_case": snake, "in a text": text} {
		got := redact.SecretsIn(value)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", how, got)
		}
	}
	for _, value := range []string{`"token"`, `{"a":"b"}`, `[`, `null`} {
		if got := redact.SecretsIn(json.RawMessage(value)); got != nil {
			t.Errorf("%s has %q", value, got)
		}
	}
}
