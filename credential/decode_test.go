package credential_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/wire"
)

type rawMap = map[string]json.RawMessage

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// quoted is doc as a JSON string.
func quoted(doc string) string { return string(wire.Quote(nil, doc)) }

var calendar = &credential.Scheme{Type: credential.TypeOAuth2, Flows: &credential.Flows{AuthorizationCode: &credential.Flow{
	AuthorizationURL: "https://idp.example/auth", TokenURL: "https://idp.example/token",
	Scopes: []credential.Scope{{Name: "b", Description: "B"}, {Name: "a", Description: "A"}},
}}}

func TestDecodeScheme(t *testing.T) {
	flow := func(f credential.Flow) *credential.Scheme {
		return &credential.Scheme{Type: credential.TypeOAuth2, Flows: &credential.Flows{ClientCredentials: &f}}
	}
	names := []credential.Scope{{Name: "x"}, {Name: "y"}}
	full := &credential.Scheme{Type: credential.TypeOpenIDConnect, OpenID: credential.OpenID{
		AuthorizationEndpoint: "https://a", TokenEndpoint: "https://t", UserinfoEndpoint: "https://u", RevocationEndpoint: "https://r",
		TokenEndpointAuthMethods: []string{"none"}, GrantTypes: []string{"authorization_code"}, Scopes: []string{"openid", "email"},
	}}
	tests := []struct {
		name, doc string
		want      *credential.Scheme
	}{
		{"API key", `{"type":"apiKey","in":"header","name":"X-Key"}`, &credential.Scheme{Type: credential.TypeAPIKey, In: "header", Name: "X-Key"}},
		{"Python names", `{"type_":"apiKey","in_":"query","name":"k","description":null}`, &credential.Scheme{Type: credential.TypeAPIKey, In: "query", Name: "k"}},
		{"bearer", `{"type":"http","scheme":"bearer","bearerFormat":"JWT"}`, &credential.Scheme{Type: credential.TypeHTTP, HTTPScheme: "bearer", BearerFormat: "JWT"}},
		{"snake bearer", `{"type":"HTTP","scheme":"bearer","bearer_format":"JWT"}`, &credential.Scheme{Type: credential.TypeHTTP, HTTPScheme: "bearer", BearerFormat: "JWT"}},
		{"oauth2", `{"type":"oauth2","flows":{"authorizationCode":{"authorizationUrl":"https://idp.example/auth","tokenUrl":"https://idp.example/token","scopes":{"b":"B","a":"A"}}}}`, calendar},
		{"snake oauth2", `{"type":"oauth2","flows":{"implicit":null,"authorization_code":{"authorization_url":"https://idp.example/auth","token_url":"https://idp.example/token","refresh_url":null,"scopes":{"b":"B","a":"A"}}}}`, calendar},
		{"in a string", quoted(`{"flows":{"authorizationCode":{"authorizationUrl":"https://idp.example/auth","tokenUrl":"https://idp.example/token","scopes":{"b":"B","a":"A"}}}}`), calendar},
		{"scopes as a list", `{"flows":{"clientCredentials":{"tokenUrl":"https://t","refreshUrl":"https://r","scopes":["x","y","x"]}}}`, flow(credential.Flow{TokenURL: "https://t", RefreshURL: "https://r", Scopes: names})},
		{"scopes in one string", `{"flows":{"client_credentials":{"scopes":" x y "}}}`, flow(credential.Flow{Scopes: names})},
		{"scopes without descriptions", `{"flows":{"client_credentials":{"scopes":{"x":null,"y":""}}}}`, flow(credential.Flow{Scopes: names})},
		{"names of scopes are data", `{"flows":{"client_credentials":{"scopes":{"read_all":"r"}}}}`, flow(credential.Flow{Scopes: []credential.Scope{{Name: "read_all", Description: "r"}}})},
		{"no scopes", `{"flows":{"client_credentials":{"scopes":[]}}}`, flow(credential.Flow{})},
		{"OpenID Connect, snake", `{"type":"openIdConnect","authorization_endpoint":"https://a","token_endpoint":"https://t","userinfo_endpoint":"https://u","revocation_endpoint":"https://r","token_endpoint_auth_methods_supported":["none"],"grant_types_supported":["authorization_code"],"scopes":["openid","email"]}`, full},
		{"OpenID Connect, camel", `{"type":"OPEN_ID_CONNECT","authorizationEndpoint":"https://a","tokenEndpoint":"https://t","userinfoEndpoint":"https://u","revocationEndpoint":"https://r","tokenEndpointAuthMethodsSupported":["none"],"grantTypesSupported":["authorization_code"],"scopes":{"openid":"","email":""}}`, full},
		{"OpenID Connect by address", `{"openIdConnectUrl":"https://o"}`, &credential.Scheme{Type: credential.TypeOpenIDConnect, OpenIDConnectURL: "https://o"}},
		{"by its members: API key", `{"in":"cookie","name":"k"}`, &credential.Scheme{Type: credential.TypeAPIKey, In: "cookie", Name: "k"}},
		{"by its members: http", `{"scheme":"basic"}`, &credential.Scheme{Type: credential.TypeHTTP, HTTPScheme: "basic"}},
		{"unknown", `{"type":"gcpAuthProviderScheme","name":"n","custom_scopes":["a"],"continueUri":{"b":1,"a":null}}`, &credential.Scheme{
			Type: "gcpAuthProviderScheme", Name: "n", Extra: rawMap{"custom_scopes": raw(`["a"]`), "continueUri": raw(`{"b":1,"a":null}`)},
		}},
		{"nothing", `{"x":null}`, &credential.Scheme{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := credential.DecodeScheme(raw(tt.doc))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestDecodeCredential(t *testing.T) {
	key := &credential.Credential{Type: credential.TypeAPIKey, APIKey: "k"}
	robot := &credential.Credential{Type: credential.TypeServiceAccount, ServiceAccount: &credential.ServiceAccount{
		Key:    &credential.ServiceAccountKey{Type: "service_account", PrivateKey: "pem", PrivateKeyID: "kid", AuthProviderX509CertURL: "https://c", Extra: rawMap{"quota": raw("1")}},
		Scopes: []string{"s"}, UseDefaultCredential: true, UseIDToken: true, Audience: "aud",
	}}
	keyDoc := `{"type":"service_account","private_key":"pem","private_key_id":"kid","auth_provider_x509_cert_url":"https://c","quota":1}`
	login := &credential.Credential{Type: credential.TypeOpenIDConnect, ResourceRef: "r", OAuth2: &credential.OAuth2{
		ClientID: "1", ClientSecret: "2", AuthURI: "3", Nonce: "4", State: "5", CodeVerifier: "6", CodeChallengeMethod: "S256", RedirectURI: "8",
		AuthResponseURI: "9", AuthCode: "10", AccessToken: "11", RefreshToken: "12", IDToken: "13", ExpiresAt: 1700000000, ExpiresIn: 15,
		Audience: "16", Prompt: "17", TokenEndpointAuthMethod: "18",
	}}
	tests := []struct {
		name, doc string
		want      *credential.Credential
	}{
		{"API key", `{"authType":"apiKey","apiKey":"k"}`, key},
		{"API key of the specification", `{"authType":"API_KEY","apiKey":{"apiKey":"k"}}`, key},
		{"API key, snake", `{"auth_type":"api_key","api_key":{"api_key":"k"},"http":null,"oauth2":null}`, key},
		{"API key, by its member", `{"apiKey":"k"}`, key},
		{"API key in a string", quoted(`{"apiKey":"k"}`), key},
		{"API key as a number", `{"apiKey":12.50}`, &credential.Credential{Type: credential.TypeAPIKey, APIKey: "12.50"}},
		{"http", `{"authType":"http","http":{"scheme":"basic","credentials":{"username":"u","password":"p","token":null},"additionalHeaders":{"X-A":"1","x_b":null}}}`, &credential.Credential{
			Type: credential.TypeHTTP, HTTP: &credential.HTTP{Scheme: "basic", Username: "u", Password: "p", AdditionalHeaders: map[string]string{"X-A": "1"}},
		}},
		{"http, snake", `{"auth_type":"HTTP","http":{"scheme":"bearer","credentials":{"token":"t"},"additional_headers":{"x_b":"2"}}}`, &credential.Credential{
			Type: credential.TypeHTTP, HTTP: &credential.HTTP{Scheme: "bearer", Token: "t", AdditionalHeaders: map[string]string{"x_b": "2"}},
		}},
		{"oauth2", `{"authType":"OAUTH2","oauth2":{"clientId":"c"}}`, &credential.Credential{Type: credential.TypeOAuth2, OAuth2: &credential.OAuth2{ClientID: "c"}}},
		{"oauth2, by its member", `{"oauth2":{"client_id":"c"}}`, &credential.Credential{Type: credential.TypeOAuth2, OAuth2: &credential.OAuth2{ClientID: "c"}}},
		{"every member, camel", `{"authType":"openIdConnect","resourceRef":"r","oauth2":{"clientId":"1","clientSecret":"2","authUri":"3","nonce":"4","state":"5","codeVerifier":"6","codeChallengeMethod":"S256","redirectUri":"8","authResponseUri":"9","authCode":"10","accessToken":"11","refreshToken":"12","idToken":"13","expiresAt":1700000000,"expiresIn":15,"audience":"16","prompt":"17","tokenEndpointAuthMethod":"18"}}`, login},
		{"every member, snake", `{"auth_type":"open_id_connect","resource_ref":"r","oauth2":{"client_id":"1","client_secret":"2","auth_uri":"3","nonce":"4","state":"5","code_verifier":"6","code_challenge_method":"S256","redirect_uri":"8","auth_response_uri":"9","auth_code":"10","access_token":"11","refresh_token":"12","id_token":"13","expires_at":1700000000.75,"expires_in":"15","audience":"16","prompt":"17","token_endpoint_auth_method":"18"}}`, login},
		{"oidc", `{"authType":"oidc","oauth2":{}}`, &credential.Credential{Type: credential.TypeOpenIDConnect, OAuth2: &credential.OAuth2{}}},
		{"service account", `{"authType":"serviceAccount","serviceAccount":{"serviceAccountCredential":` + keyDoc + `,"scopes":["s"],"useDefaultCredential":true,"useIdToken":true,"audience":"aud"}}`, robot},
		{"service account of the specification", `{"authType":"SERVICE_ACCOUNT","serviceAccount":{"credentials":` + keyDoc + `,"scopes":["s"],"use_default_credential":true,"use_id_token":true,"audience":"aud"}}`, robot},
		{"service account, snake", `{"auth_type":"service_account","service_account":{"service_account_credential":` + keyDoc + `,"scopes":"s","use_default_credential":true,"use_id_token":true,"audience":"aud"}}`, robot},
		{"key as the text of its file", `{"serviceAccount":{"credentials":` + quoted("\n"+keyDoc) + `,"scopes":["s"],"useDefaultCredential":true,"useIdToken":true,"audience":"aud"}}`, robot},
		{"key in camelCase", `{"serviceAccount":{"serviceAccountCredential":{"type":"service_account","privateKey":"pem","privateKeyId":"kid","authProviderX509CertUrl":"https://c","quota":1},"scopes":["s"],"useDefaultCredential":true,"useIdToken":true,"audience":"aud"}}`, robot},
		{"the last one wins", `{"oauth2":{"clientId":"a","state":"s"},"oauth2":{"client_id":"b","clientId":"c"}}`, &credential.Credential{Type: credential.TypeOAuth2, OAuth2: &credential.OAuth2{ClientID: "c"}}},
		{"unknown members", `{"authType":"apiKey","apiKey":"k","x_y":[1, 2],"oauth2":{"hint":"h"}}`, &credential.Credential{
			Type: credential.TypeAPIKey, APIKey: "k", Extra: rawMap{"x_y": raw("[1,2]")}, OAuth2: &credential.OAuth2{Extra: rawMap{"hint": raw(`"h"`)}},
		}},
		// A reader that does not look at case would take them for the real ones.
		{"names in another case", `{"AUTHTYPE":"http","AuthType":5,"apikey":"z","apiKey":"k","Api_Key":"z","OAuth2":{"clientId":"z"},"authtype":1}`, key},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := credential.DecodeCredential(raw(tt.doc))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestDecodeConfig(t *testing.T) {
	want := &credential.Config{
		Scheme: calendar, CredentialKey: "k1",
		Raw:       &credential.Credential{Type: credential.TypeOAuth2, OAuth2: &credential.OAuth2{ClientID: "cid", ClientSecret: "sec"}},
		Exchanged: &credential.Credential{Type: credential.TypeOAuth2, OAuth2: &credential.OAuth2{ClientID: "cid", AuthResponseURI: "https://back?code=c", RedirectURI: "https://back"}},
	}
	camel := `{"authScheme":{"type":"oauth2","flows":{"authorizationCode":{"authorizationUrl":"https://idp.example/auth","tokenUrl":"https://idp.example/token","scopes":{"b":"B","a":"A"}}}},` +
		`"rawAuthCredential":{"authType":"oauth2","oauth2":{"clientId":"cid","clientSecret":"sec"}},` +
		`"exchangedAuthCredential":{"authType":"oauth2","oauth2":{"clientId":"cid","authResponseUri":"https://back?code=c","redirectUri":"https://back"}},"credentialKey":"k1"}`
	snake := `{"auth_scheme":{"type_":"oauth2","description":null,"flows":{"implicit":null,"authorizationCode":{"refreshUrl":null,"scopes":{"b":"B","a":"A"},"authorizationUrl":"https://idp.example/auth","tokenUrl":"https://idp.example/token"}}},` +
		`"raw_auth_credential":{"auth_type":"oauth2","resource_ref":null,"api_key":null,"http":null,"service_account":null,"oauth2":{"client_id":"cid","client_secret":"sec","auth_uri":null}},` +
		`"exchanged_auth_credential":{"auth_type":"OAUTH2","oauth2":{"client_id":"cid","auth_response_uri":"https://back?code=c","redirect_uri":"https://back","expires_at":null}},"credential_key":"k1"}`
	for _, doc := range []string{camel, snake, quoted(camel), quoted("\n " + snake + " ")} {
		for name, read := range map[string]func(json.RawMessage) (*credential.Config, error){
			"config": credential.DecodeConfig, "answer": credential.DecodeAnswer,
			"json": func(doc json.RawMessage) (*credential.Config, error) {
				var c credential.Config
				return &c, json.Unmarshal(doc, &c)
			},
		} {
			got, err := read(raw(doc))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s\n-want +got:\n%s", name, doc, diff)
			}
		}
	}
}

func TestDecodeAnswer(t *testing.T) {
	key := &credential.Config{Exchanged: &credential.Credential{Type: credential.TypeAPIKey, APIKey: "sk-1"}}
	for doc, want := range map[string]*credential.Config{
		`"sk-1"`:                                key,
		`{"result":"sk-1"}`:                     key,
		`{"result":{"apiKey":"sk-1"},"x":null}`: key,
		`{"result":` + quoted(`{"apiKey":"sk-1"}`) + `}`:    key,
		`{"api_key":"sk-1"}`:                                key,
		`{"authType":"API_KEY","apiKey":{"apiKey":"sk-1"}}`: key,
		`12345678901234567890`:                              {Exchanged: &credential.Credential{Type: credential.TypeAPIKey, APIKey: "12345678901234567890"}},
		`{"credentialKey":"k"}`:                             {CredentialKey: "k"},
		`{"auth_type":"http","credential_key":"k"}`:         {Exchanged: &credential.Credential{Type: credential.TypeHTTP, Extra: rawMap{"credential_key": raw(`"k"`)}}},
	} {
		got, err := credential.DecodeAnswer(raw(doc))
		if err != nil {
			t.Errorf("%s: %v", doc, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", doc, diff)
		}
	}
	for _, doc := range []string{`{}`, `{"pending":true}`, `{"result":{}}`, `""`, `" "`, `true`, `null`, `[]`, `"{"`, `{"result":"sk-1","oauth":1}`, `x`, ``} {
		if got, err := credential.DecodeAnswer(raw(doc)); err == nil {
			t.Errorf("%s: got %v, want an error", doc, got)
		} else if _, ok := errors.AsType[*wire.Error](err); !ok {
			t.Errorf("%s: got %v, want a *wire.Error", doc, err)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	deep := strings.Repeat("[", 9001) + strings.Repeat("]", 9001)
	for _, tt := range []struct {
		doc, typ string
		path     []any
	}{
		{`[]`, "object_type", nil},
		{`null`, "object_type", nil},
		{`"secret"`, "object_type", nil},
		{`{"auth_scheme":"secret"}`, "object_type", []any{"auth_scheme"}},
		{`{"authScheme":{"type":5}}`, "string_type", []any{"authScheme", "type"}},
		{`{"authScheme":{"flows":{"implicit":{"scopes":[1]}}}}`, "string_type", []any{"authScheme", "flows", "implicit", "scopes", 0}},
		{`{"authScheme":{"flows":{"implicit":{"scopes":{"a":1}}}}}`, "string_type", []any{"authScheme", "flows", "implicit", "scopes", "a"}},
		{`{"authScheme":{"flows":{"implicit":{"scopes":5}}}}`, "list_type", []any{"authScheme", "flows", "implicit", "scopes"}},
		{`{"raw_auth_credential":{"auth_type":"secret"}}`, "enum", []any{"raw_auth_credential", "auth_type"}},
		{`{"rawAuthCredential":{"apiKey":["secret"]}}`, "string_type", []any{"rawAuthCredential", "apiKey"}},
		{`{"rawAuthCredential":{"apiKey":{"apiKey":{"apiKey":"secret"}}}}`, "string_type", []any{"rawAuthCredential", "apiKey", "apiKey"}},
		{`{"rawAuthCredential":{"oauth2":{"expires_at":"secret"}}}`, "float_type", []any{"rawAuthCredential", "oauth2", "expires_at"}},
		{`{"rawAuthCredential":{"oauth2":{"expiresAt":"NaN"}}}`, "int_type", []any{"rawAuthCredential", "oauth2", "expiresAt"}},
		{`{"rawAuthCredential":{"oauth2":{"expiresAt":1e300}}}`, "int_type", []any{"rawAuthCredential", "oauth2", "expiresAt"}},
		{`{"rawAuthCredential":{"http":{"additionalHeaders":{"a":["secret"]}}}}`, "string_type", []any{"rawAuthCredential", "http", "additionalHeaders", "a"}},
		{`{"rawAuthCredential":{"serviceAccount":{"credentials":"secret"}}}`, "object_type", []any{"rawAuthCredential", "serviceAccount", "credentials"}},
		{`{"rawAuthCredential":{"serviceAccount":{"credentials":"{\"private_key\":5}"}}}`, "string_type", []any{"rawAuthCredential", "serviceAccount", "credentials", "private_key"}},
		{`{"rawAuthCredential":{"serviceAccount":{"credentials":"{secret"}}}`, "json_invalid", []any{"rawAuthCredential", "serviceAccount", "credentials"}},
		{`{"x":` + deep + `}`, "json_invalid", []any{"x"}},
		{`{"x":1`, "json_invalid", nil},
		{`{"x":nul}`, "json_invalid", nil},
		{`{} {}`, "json_invalid", nil},
	} {
		_, err := credential.DecodeConfig(raw(tt.doc))
		e, ok := errors.AsType[*wire.Error](err)
		if !ok {
			t.Errorf("%.80s: got %v, want a *wire.Error", tt.doc, err)
			continue
		}
		if diff := cmp.Diff(tt.path, e.Path); diff != "" || e.Type != tt.typ || strings.Contains(e.Msg, "secret") {
			t.Errorf("%.80s: got %s at %v (%s), want %s at %v", tt.doc, e.Type, e.Path, e.Msg, tt.typ, tt.path)
		}
	}
}
