package credential_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parley-run/parley/credential"
)

func TestGolden(t *testing.T) {
	request := &credential.Config{
		Scheme: calendar, CredentialKey: "k1", Extra: rawMap{"z": raw(" [ 1 ] "), "b_c": raw("null"), "AuthScheme": raw("1"), "credential-key": raw("1")},
		Raw:       &credential.Credential{Type: credential.TypeOAuth2, OAuth2: &credential.OAuth2{ClientID: "cid", ClientSecret: "sec"}},
		Exchanged: &credential.Credential{Type: credential.TypeOpenIDConnect, OAuth2: &credential.OAuth2{ClientID: "cid", AuthURI: "https://idp.example/auth?a&b", State: "s", ExpiresAt: 1, ExpiresIn: 2}},
	}
	oidc := &credential.Config{
		Scheme: &credential.Scheme{Type: credential.TypeOpenIDConnect, OpenIDConnectURL: "https://o", BearerFormat: "JWT", OpenID: credential.OpenID{
			AuthorizationEndpoint: "https://a", TokenEndpoint: "https://t", UserinfoEndpoint: "https://u", RevocationEndpoint: "https://r",
			TokenEndpointAuthMethods: []string{"none", "x"}, GrantTypes: []string{"g"}, Scopes: []string{"openid", "email"},
		}},
		Raw: &credential.Credential{Type: credential.TypeServiceAccount, ServiceAccount: &credential.ServiceAccount{
			Key: &credential.ServiceAccountKey{Type: "service_account", PrivateKey: "pem", ClientX509CertURL: "https://c"}, Scopes: []string{"s"}, UseIDToken: true, Audience: "a",
		}},
	}
	key := &credential.Config{
		Scheme: &credential.Scheme{Type: credential.TypeAPIKey, In: "query", Name: "k"},
		Raw:    &credential.Credential{Type: credential.TypeAPIKey, APIKey: "key"},
		Exchanged: &credential.Credential{Type: credential.TypeHTTP, HTTP: &credential.HTTP{
			Scheme: "basic", Username: "u", Password: "p", AdditionalHeaders: map[string]string{"X-B": "2", "X-A": "1"},
		}},
	}
	tests := []struct {
		name         string
		config       *credential.Config
		camel, snake string
	}{
		{"nothing", &credential.Config{}, `{}`, `{}`},
		{
			"request", request,
			`{"authScheme":{"type":"oauth2","flows":{"authorizationCode":{"authorizationUrl":"https://idp.example/auth","tokenUrl":"https://idp.example/token","scopes":{"b":"B","a":"A"}}}},` +
				`"rawAuthCredential":{"authType":"oauth2","oauth2":{"clientId":"cid","clientSecret":"sec"}},` +
				`"exchangedAuthCredential":{"authType":"openIdConnect","oauth2":{"clientId":"cid","authUri":"https://idp.example/auth?a&b","state":"s","expiresAt":1,"expiresIn":2}},"credentialKey":"k1","b_c":null,"z":[1]}`,
			`{"auth_scheme":{"type":"oauth2","flows":{"authorizationCode":{"authorizationUrl":"https://idp.example/auth","tokenUrl":"https://idp.example/token","scopes":{"b":"B","a":"A"}}}},` +
				`"raw_auth_credential":{"auth_type":"OAUTH2","oauth2":{"client_id":"cid","client_secret":"sec"}},` +
				`"exchanged_auth_credential":{"auth_type":"OPEN_ID_CONNECT","oauth2":{"client_id":"cid","auth_uri":"https://idp.example/auth?a&b","state":"s","expires_at":1,"expires_in":2}},"credential_key":"k1","b_c":null,"z":[1]}`,
		},
		{
			"OpenID Connect and a service account", oidc,
			`{"authScheme":{"type":"openIdConnect","bearerFormat":"JWT","openIdConnectUrl":"https://o","authorizationEndpoint":"https://a","tokenEndpoint":"https://t","userinfoEndpoint":"https://u","revocationEndpoint":"https://r","tokenEndpointAuthMethodsSupported":["none","x"],"grantTypesSupported":["g"],"scopes":["openid","email"]},` +
				`"rawAuthCredential":{"authType":"serviceAccount","serviceAccount":{"serviceAccountCredential":{"type":"service_account","private_key":"pem","client_x509_cert_url":"https://c"},"scopes":["s"],"useIdToken":true,"audience":"a"}}}`,
			`{"auth_scheme":{"type":"openIdConnect","bearerFormat":"JWT","openIdConnectUrl":"https://o","authorization_endpoint":"https://a","token_endpoint":"https://t","userinfo_endpoint":"https://u","revocation_endpoint":"https://r","token_endpoint_auth_methods_supported":["none","x"],"grant_types_supported":["g"],"scopes":["openid","email"]},` +
				`"raw_auth_credential":{"auth_type":"SERVICE_ACCOUNT","service_account":{"credentials":{"type":"service_account","private_key":"pem","client_x509_cert_url":"https://c"},"scopes":["s"],"use_id_token":true,"audience":"a"}}}`,
		},
		{
			"API key and http", key,
			`{"authScheme":{"type":"apiKey","in":"query","name":"k"},"rawAuthCredential":{"authType":"apiKey","apiKey":"key"},` +
				`"exchangedAuthCredential":{"authType":"http","http":{"scheme":"basic","credentials":{"username":"u","password":"p"},"additionalHeaders":{"X-A":"1","X-B":"2"}}}}`,
			`{"auth_scheme":{"type":"apiKey","in":"query","name":"k"},"raw_auth_credential":{"auth_type":"API_KEY","api_key":{"api_key":"key"}},` +
				`"exchanged_auth_credential":{"auth_type":"HTTP","http":{"scheme":"basic","credentials":{"username":"u","password":"p"},"additional_headers":{"X-A":"1","X-B":"2"}}}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for spelling, want := range map[credential.Spelling]string{credential.Camel: tt.camel, credential.Snake: tt.snake} {
				got, err := tt.config.AppendJSON([]byte("x"), spelling)
				if err != nil {
					t.Fatal(err)
				}
				if string(got) != "x"+want {
					t.Errorf("got  %s\nwant x%s", got, want)
				}
			}
		})
	}
}

func TestEncodeRefusesInvalidJSON(t *testing.T) {
	bad := rawMap{"x": raw("{")}
	for _, c := range []*credential.Config{
		{Extra: bad},
		{Scheme: &credential.Scheme{Extra: bad}},
		{Raw: &credential.Credential{OAuth2: &credential.OAuth2{Extra: bad}}},
	} {
		if got, err := c.AppendJSON([]byte("x"), credential.Camel); err == nil || string(got) != "x" {
			t.Errorf("got %s and %v, want an error and nothing appended", got, err)
		}
	}
}

func TestKeyFile(t *testing.T) {
	const doc = `{"type":"service_account","private_key":"pem","client_email":"a@b","more":1}`
	c, err := credential.DecodeCredential(raw(`{"serviceAccount":{"credentials":` + doc + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.ServiceAccount.Key.AppendJSON(nil)
	if err != nil || len(got) != len(doc) || !strings.Contains(string(got), `"private_key":"pem"`) {
		t.Errorf("got %s and %v, want the members of %s", got, err, doc)
	}
}

func TestPartsAlone(t *testing.T) {
	const schemeDoc, credDoc = `{"type":"http","scheme":"bearer","more":1}`, `{"auth_type":"API_KEY","api_key":{"api_key":"k"}}`
	var both struct {
		Scheme     *credential.Scheme
		Credential credential.Credential
	}
	if err := json.Unmarshal([]byte(`{"Scheme":`+schemeDoc+`,"Credential":`+credDoc+`}`), &both); err != nil {
		t.Fatal(err)
	}
	if got, err := both.Scheme.AppendJSON(nil, credential.Snake); err != nil || string(got) != schemeDoc {
		t.Errorf("got %s and %v, want %s", got, err, schemeDoc)
	}
	if got, err := both.Credential.AppendJSON(nil, credential.Snake); err != nil || string(got) != credDoc {
		t.Errorf("got %s and %v, want %s", got, err, credDoc)
	}
	// What is marshalled by accident is redacted.
	want := `{"Scheme":` + schemeDoc + `,"Credential":{"authType":"apiKey"}}`
	if got, err := json.Marshal(both); err != nil || string(got) != want {
		t.Errorf("got %s and %v, want %s", got, err, want)
	}
	for _, v := range []json.Unmarshaler{both.Scheme, &both.Credential, &credential.Config{}} {
		if v.UnmarshalJSON([]byte("[]")) == nil {
			t.Errorf("%T was read from an array", v)
		}
	}
}

// anyConfig draws logins with every member, each of which is often absent.
// What is secret contains mark.
func anyConfig(t *rapid.T, mark string) *credential.Config {
	text := rapid.SampledFrom([]string{"", "a", "snake_case", "é😀", "\x00\"\\", "https://x.example/?a=b&c"})
	sec := func(label string) string {
		if s := text.Draw(t, label); s != "" {
			return s + mark
		}
		return ""
	}
	str := func(label string) string { return text.Draw(t, label) }
	list := func(label string) []string {
		if l := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z_]{1,4}`), 0, 3, rapid.ID).Draw(t, label); len(l) > 0 {
			return l
		}
		return nil
	}
	extra := func(value string) rawMap {
		if !rapid.Bool().Draw(t, "extra?") {
			return nil
		}
		return rawMap{"x-" + rapid.StringMatching(`[a-z_]{0,4}`).Draw(t, "extra"): raw(value), "hint_A": raw(value)}
	}
	open := func() rawMap {
		return extra(`{"a":[{"Client_Secret":"` + mark + `","token":{"x":"` + mark + `"}},1e400],"ok":1}`)
	}
	shut := func() rawMap { return extra(`["` + mark + `"]`) }
	maybe := func(label string) bool { return rapid.IntRange(0, 3).Draw(t, label) > 0 }
	flow := func(label string) *credential.Flow {
		if !maybe(label) {
			return nil
		}
		f := &credential.Flow{AuthorizationURL: str("authz"), TokenURL: str("token"), RefreshURL: str("refresh"), Extra: open()}
		for _, name := range list("scopes") {
			f.Scopes = append(f.Scopes, credential.Scope{Name: name, Description: str("description")})
		}
		return f
	}
	kinds := []credential.Type{credential.TypeAPIKey, credential.TypeHTTP, credential.TypeOAuth2, credential.TypeOpenIDConnect, credential.TypeServiceAccount}
	cred := func(label string) *credential.Credential {
		if !maybe(label) {
			return nil
		}
		c := &credential.Credential{Type: rapid.SampledFrom(kinds).Draw(t, "authType"), ResourceRef: str("ref"), APIKey: sec("key"), Extra: shut()}
		if maybe("http") {
			c.HTTP = &credential.HTTP{Scheme: str("scheme"), Username: str("user"), Password: sec("password"), Token: sec("token"), Extra: shut()}
			if maybe("headers") {
				c.HTTP.AdditionalHeaders = map[string]string{"X-Key": mark, "x_y": mark}
			}
		}
		if maybe("oauth2") {
			c.OAuth2 = &credential.OAuth2{
				ClientID: str("id"), ClientSecret: sec("secret"), AuthURI: str("authUri"), Nonce: str("nonce"), State: str("state"),
				CodeVerifier: sec("verifier"), CodeChallengeMethod: str("method"), RedirectURI: str("redirect"), AuthResponseURI: sec("response"),
				AuthCode: sec("code"), AccessToken: sec("access"), RefreshToken: sec("refresh"), IDToken: sec("idToken"),
				ExpiresAt: rapid.Int64Range(-1<<53, 1<<53).Draw(t, "at"), ExpiresIn: rapid.Int64Range(0, 9).Draw(t, "in"),
				Audience: str("audience"), Prompt: str("prompt"), TokenEndpointAuthMethod: str("authMethod"), Extra: shut(),
			}
		}
		if maybe("serviceAccount") {
			c.ServiceAccount = &credential.ServiceAccount{
				Scopes: list("scopes"), UseDefaultCredential: maybe("default"), UseIDToken: maybe("idToken"), Audience: str("audience"), Extra: shut(),
			}
			if maybe("keyFile") {
				c.ServiceAccount.Key = &credential.ServiceAccountKey{
					Type: str("type"), ProjectID: str("project"), PrivateKeyID: sec("kid"), PrivateKey: sec("pem"), ClientEmail: str("email"), ClientID: str("client"),
					AuthURI: str("auth"), TokenURI: str("token"), AuthProviderX509CertURL: str("x"), ClientX509CertURL: str("y"), UniverseDomain: str("domain"), Extra: shut(),
				}
			}
		}
		return c
	}
	c := &credential.Config{CredentialKey: str("key"), Extra: open(), Raw: cred("raw"), Exchanged: cred("exchanged")}
	if maybe("scheme") {
		c.Scheme = &credential.Scheme{
			Type: rapid.SampledFrom(append(kinds, "other")).Draw(t, "type"), Description: str("description"), In: str("in"), Name: str("name"),
			HTTPScheme: str("scheme"), BearerFormat: str("format"), OpenIDConnectURL: str("url"), Extra: open(),
			OpenID: credential.OpenID{
				AuthorizationEndpoint: str("a"), TokenEndpoint: str("t"), UserinfoEndpoint: str("u"), RevocationEndpoint: str("r"),
				TokenEndpointAuthMethods: list("methods"), GrantTypes: list("grants"), Scopes: list("scopes"),
			},
		}
		if maybe("flows") {
			c.Scheme.Flows = &credential.Flows{
				Implicit: flow("implicit"), AuthorizationCode: flow("code"), ClientCredentials: flow("client"), Password: flow("password"), Extra: open(),
			}
		}
	}
	return c
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := anyConfig(t, "MARK")
		for _, spelling := range []credential.Spelling{credential.Camel, credential.Snake} {
			doc, err := want.AppendJSON(nil, spelling)
			if err != nil {
				t.Fatal(err)
			}
			if !json.Valid(doc) {
				t.Fatalf("not JSON: %s", doc)
			}
			got, err := credential.DecodeConfig(doc)
			if err != nil {
				t.Fatalf("%v: %s", err, doc)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s\n-want +got:\n%s", doc, diff)
			}
			if got.Key() != want.Key() {
				t.Fatalf("the key changed on the way: %s", doc)
			}
		}
		if diff := cmp.Diff(want, want.Clone()); diff != "" {
			t.Fatalf("Clone: -want +got:\n%s", diff)
		}
	})
}
