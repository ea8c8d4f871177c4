package credential_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parley-run/parley/credential"
)

func config(t *testing.T, doc string) *credential.Config {
	t.Helper()
	c, err := credential.DecodeConfig(raw(doc))
	if err != nil {
		t.Fatalf("%v: %s", err, doc)
	}
	return c
}

// The keys are what logins are stored under: a change loses them.
func TestKeyIsStable(t *testing.T) {
	for doc, want := range map[string]string{
		`{}`: "",
		`{"credentialKey":"mine","authScheme":{"type":"http"}}`:                           "mine",
		`{"authScheme":{"type":"http","credential_key":"scheme's"}}`:                      "scheme's",
		`{"rawAuthCredential":{"authType":"http","credentialKey":"its"},"authScheme":{}}`: "its",
		`{"authScheme":{"type":"http","credentialKey":5,"scheme":"bearer"}}`:              "login_http_ffa980e0e605df1f",
		`{"authScheme":{"type":"apiKey","in":"header","name":"k"}}`:                       "login_apiKey_64d033ca661e90ba",
		`{"rawAuthCredential":{"authType":"apiKey","apiKey":"k"}}`:                        "login_apiKey_39fdaa2147b3f2d1",
		`{"authScheme":{"flows":{}},"rawAuthCredential":{"oauth2":{"clientId":"c"}}}`:     "login_oauth2_af2ee39c20332b82_oauth2_c10092a828d799d6",
	} {
		if got := config(t, doc).Key(); got != want {
			t.Errorf("%s: got %q, want %q", doc, got, want)
		}
	}
	if got := (*credential.Config)(nil).Key(); got != "" {
		t.Errorf("got %q of nothing", got)
	}
}

func TestKeyIdentity(t *testing.T) {
	oauth := func(members string) string {
		return `{"authScheme":{"type":"oauth2","flows":{"authorizationCode":{"scopes":{"a":"A","b":"B"}}}},"rawAuthCredential":{"authType":"oauth2","oauth2":{"clientId":"c"` + members + `}}}`
	}
	basic := func(members string) string {
		return `{"authScheme":{"type":"http"},"rawAuthCredential":{"authType":"http","http":{"credentials":{` + members + `}}}}`
	}
	robot := func(members string) string {
		return `{"rawAuthCredential":{"serviceAccount":{"scopes":["a"],"credentials":{` + members + `}}}}`
	}
	scheme := func(doc string) string { return `{"authScheme":` + doc + `}` }
	for _, tt := range []struct {
		name, one, other string
		same             bool
	}{
		{"spelling", oauth(""), `{"auth_scheme":{"flows":{"authorization_code":{"scopes":{"b":"B","a":"A"}}},"type_":"OAUTH2"},"raw_auth_credential":{"auth_type":"OAUTH2","oauth2":{"client_id":"c"}}}`, true},
		{"tokens and login", oauth(""), oauth(`,"authUri":"u","state":"s","nonce":"n","codeVerifier":"v","authResponseUri":"r","authCode":"c","accessToken":"a","refreshToken":"r","idToken":"i","expiresAt":1,"expiresIn":2`), true},
		{"client's secret", oauth(""), oauth(`,"clientSecret":"s"`), true},
		{"client", oauth(""), oauth(`,"client_id":"d"`), false},
		{"audience", oauth(""), oauth(`,"audience":"d"`), false},
		{"password", basic(`"username":"u"`), basic(`"username":"u","password":"p"`), true},
		{"user", basic(`"username":"u"`), basic(`"username":"v"`), false},
		{"token", basic(`"token":"u"`), basic(`"token":"v"`), false},
		{"key of an account", robot(`"client_email":"e","private_key":"1"`), robot(`"client_email":"e","private_key":"2"`), true},
		{"account", robot(`"client_email":"e"`), robot(`"client_email":"f"`), false},
		{"API key", `{"rawAuthCredential":{"apiKey":"1"}}`, `{"rawAuthCredential":{"apiKey":"2"}}`, false},
		{"type", `{"rawAuthCredential":{"authType":"oidc","oauth2":{}}}`, `{"rawAuthCredential":{"authType":"oauth2","oauth2":{}}}`, false},
		{"order of scopes", scheme(`{"type":"oidc","scopes":["a","b"]}`), scheme(`{"type":"oidc","scopes":["b","a"]}`), true},
		{"scopes", scheme(`{"type":"oidc","scopes":["a"]}`), scheme(`{"type":"oidc","scopes":["b"]}`), false},
		{"order of unknown members", scheme(`{"type":"x","y":{"a":1,"b":[2]}}`), scheme(`{"y":{"b":[2],"a":1},"type":"x"}`), true},
		{"unknown members", scheme(`{"type":"x","y":12345678901234567890}`), scheme(`{"type":"x","y":12345678901234567891}`), false},
	} {
		one, other := config(t, tt.one), config(t, tt.other)
		if (one.Key() == other.Key()) != tt.same {
			t.Errorf("%s: got %s and %s, same: want %t", tt.name, one.Key(), other.Key(), tt.same)
		}
		if one.Redacted().Key() != one.Key() {
			t.Errorf("%s: redaction changes the key", tt.name)
		}
	}
}

func TestEndpoints(t *testing.T) {
	for _, tt := range []struct {
		name, doc            string
		auth, token, refresh string
		scopes               []string
	}{
		{"none", `{"type":"http"}`, "", "", "", nil},
		{"OpenID Connect", `{"authorizationEndpoint":"a","tokenEndpoint":"t","scopes":["x"],"flows":{"implicit":{"authorizationUrl":"no"}}}`, "a", "t", "t", []string{"x"}},
		{"discovered later", `{"openIdConnectUrl":"o","scopes":["x"]}`, "", "", "", []string{"x"}},
		{"code", `{"flows":{"password":{"tokenUrl":"p"},"authorizationCode":{"authorizationUrl":"a","tokenUrl":"t","refreshUrl":"r","scopes":{"b":"","a":""}}}}`, "a", "t", "r", []string{"b", "a"}},
		{"implicit is first", `{"flows":{"authorizationCode":{"authorizationUrl":"a","tokenUrl":"t","scopes":["a"]},"implicit":{"authorizationUrl":"i","scopes":["i"]}}}`, "i", "t", "t", []string{"i"}},
		{"an empty flow is none", `{"flows":{"authorizationCode":{"authorizationUrl":"a","scopes":["a"]},"implicit":{"scopes":["i"]}}}`, "a", "", "", []string{"a"}},
		{"without a user", `{"flows":{"password":{"tokenUrl":"p","scopes":["p"]},"clientCredentials":{"tokenUrl":"c","scopes":["c"]}}}`, "", "c", "c", []string{"c"}},
		{"only scopes", `{"flows":{"password":{"scopes":["p"]}}}`, "", "", "", []string{"p"}},
		{"empty", `{"flows":{}}`, "", "", "", nil},
	} {
		s, err := credential.DecodeScheme(raw(tt.doc))
		if err != nil {
			t.Fatal(err)
		}
		got := []string{s.AuthorizationEndpoint(), s.TokenEndpoint(), s.RefreshEndpoint()}
		if diff := cmp.Diff([]string{tt.auth, tt.token, tt.refresh}, got); diff != "" {
			t.Errorf("%s: endpoints: -want +got:\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.scopes, s.Scopes()); diff != "" {
			t.Errorf("%s: scopes: -want +got:\n%s", tt.name, diff)
		}
	}
	var none *credential.Scheme
	if none.AuthorizationEndpoint()+none.TokenEndpoint()+none.RefreshEndpoint() != "" || none.Scopes() != nil {
		t.Error("no scheme has no endpoints")
	}
}
