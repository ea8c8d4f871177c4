package credential_test

import (
	"strings"
	"testing"

	"github.com/parley-run/parley/credential"
)

func TestValidate(t *testing.T) {
	const (
		code   = `"authScheme":{"flows":{"authorizationCode":{"authorizationUrl":"https://a","tokenUrl":"https://t"}}}`
		apiKey = `"authScheme":{"type":"apiKey","in":"header","name":"k"}`
		http   = `"authScheme":{"type":"http","scheme":"bearer"}`
	)
	for _, tt := range []struct {
		doc  string
		want []string // parts of the lines; none when the login is complete
	}{
		{`{` + code + `,"rawAuthCredential":{"oauth2":{"clientId":"c","clientSecret":"s"}}}`, nil},
		{`{` + code + `,"rawAuthCredential":{"oauth2":{"clientId":"c","tokenEndpointAuthMethod":"none","codeChallengeMethod":"S256"}}}`, nil},
		{`{` + code + `,"rawAuthCredential":{"oauth2":{"authUri":"https://a"}}}`, nil},
		{`{` + code + `,"exchangedAuthCredential":{"oauth2":{"accessToken":"t"}}}`, nil},
		{`{` + code + `,"rawAuthCredential":{"oauth2":{}},"exchangedAuthCredential":{"oauth2":{"authUri":"https://a"}}}`, nil},
		{`{` + code + `,"rawAuthCredential":{"serviceAccount":{"useDefaultCredential":true}}}`, nil},
		{`{` + apiKey + `}`, nil},
		{`{` + apiKey + `,"rawAuthCredential":{"apiKey":"k"}}`, nil},
		{`{` + http + `}`, nil},
		{`{` + http + `,"rawAuthCredential":{"http":{"credentials":{"token":"t"}}}}`, nil},
		{`{` + http + `,"rawAuthCredential":{"http":{"additionalHeaders":{"a":"b"}}}}`, nil},
		{`{` + http + `,"rawAuthCredential":{"http":{"scheme":"basic","credentials":{"username":"u"}}}}`, nil},
		{`{` + http + `,"rawAuthCredential":{"serviceAccount":{"credentials":{"client_email":"e","private_key":"p"}}}}`, nil},
		{`{"authScheme":{"type":"other"}}`, nil},
		{`{"authScheme":{"openIdConnectUrl":"https://o"},"rawAuthCredential":{"authType":"oidc","oauth2":{"clientId":"c","clientSecret":"s"}}}`, nil},

		{`{}`, []string{"authScheme is missing"}},
		{`{"authScheme":{}}`, []string{"authScheme has no type"}},
		{`{"authScheme":{"type":"serviceAccount"}}`, []string{"type of credentials"}},
		{`{"authScheme":{"type":"apiKey"}}`, []string{"needs a name", "set in to header, query or cookie"}},
		{`{"authScheme":{"type":"http"}}`, []string{"bearer or basic"}},
		{`{` + code + `}`, []string{"scheme of type oauth2 needs a credential"}},
		{`{` + code + `,"rawAuthCredential":{"authType":"oauth2"}}`, []string{"needs oauth2"}},
		{`{` + code + `,"rawAuthCredential":{"oauth2":{}}}`, []string{"set clientId", "set clientSecret"}},
		{`{` + code + `,"rawAuthCredential":{"oauth2":{"clientId":"c","clientSecret":"s","codeChallengeMethod":"plain"}}}`, []string{"S256"}},
		{`{` + code + `,"rawAuthCredential":{"apiKey":"k"}}`, []string{"needs oauth2 in its credential"}},
		{`{"authScheme":{"flows":{"authorizationCode":{"authorizationUrl":"ftp://u:pass@a"},"password":{}}},"rawAuthCredential":{"oauth2":{"clientId":"c","clientSecret":"s"}}}`, []string{
			"flows.authorizationCode.authorizationUrl should be", "flows.authorizationCode.tokenUrl is missing", "flows.password.tokenUrl is missing",
		}},
		{`{"authScheme":{"type":"oauth2"},"rawAuthCredential":{"oauth2":{"clientId":"c","clientSecret":"s"}}}`, []string{"needs a flow"}},
		{`{"authScheme":{"type":"openIdConnect","tokenEndpoint":"%"},"exchangedAuthCredential":{"oauth2":{"accessToken":"t"}}}`, []string{"authorizationEndpoint is missing", "tokenEndpoint should be"}},
		{`{` + apiKey + `,"rawAuthCredential":{"apiKey":""}}`, []string{"no authType"}},
		{`{` + apiKey + `,"rawAuthCredential":{"authType":"apiKey"}}`, []string{"set apiKey"}},
		{`{` + apiKey + `,"rawAuthCredential":{"http":{"credentials":{"token":"t"}}}}`, []string{"is of type http"}},
		{`{` + http + `,"rawAuthCredential":{"apiKey":"k"}}`, []string{"give it authType http"}},
		{`{` + http + `,"rawAuthCredential":{"authType":"http"}}`, []string{"needs http"}},
		{`{` + http + `,"rawAuthCredential":{"http":{}}}`, []string{"set token"}},
		{`{` + http + `,"rawAuthCredential":{"http":{"scheme":"Basic"}}}`, []string{"set username and password"}},
		{`{` + http + `,"rawAuthCredential":{"authType":"serviceAccount"}}`, []string{"needs serviceAccount"}},
		{`{` + http + `,"rawAuthCredential":{"serviceAccount":{"useIdToken":true}}}`, []string{"needs its key", "set audience"}},
		{`{` + http + `,"rawAuthCredential":{"serviceAccount":{"credentials":{}}}}`, []string{"client_email and private_key"}},
	} {
		err := config(t, tt.doc).Validate()
		if len(tt.want) == 0 {
			if err != nil {
				t.Errorf("%s: %v", tt.doc, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%s: no complaint, want %q", tt.doc, tt.want)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != len(tt.want) || strings.Contains(err.Error(), "pass@") {
			t.Errorf("%s: got %q, want %q", tt.doc, lines, tt.want)
			continue
		}
		for i, want := range tt.want {
			if !strings.Contains(lines[i], want) {
				t.Errorf("%s: got %q, want …%s…", tt.doc, lines[i], want)
			}
		}
	}
	if err := (&credential.Credential{Type: "magic"}).Validate(); err == nil {
		t.Error("an unknown type should be refused")
	}
	if err := (*credential.Config)(nil).Validate(); err == nil {
		t.Error("nothing is not complete")
	}
}
