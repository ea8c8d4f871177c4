package credential_test

import (
	"testing"

	"github.com/parley-run/parley/credential"
)

func TestNeedsUser(t *testing.T) {
	const code = `"authScheme":{"type":"oauth2","flows":{"authorizationCode":{"authorizationUrl":"https://a","tokenUrl":"https://t","scopes":{}}}}`
	const program = `"authScheme":{"type":"oauth2","flows":{"clientCredentials":{"tokenUrl":"https://t","scopes":{}}}}`
	const key = `"authScheme":{"type":"apiKey","in":"header","name":"K"}`
	for doc, want := range map[string]bool{
		`{` + code + `,"rawAuthCredential":{"authType":"oauth2","oauth2":{"clientId":"c"}}}`:                       true,
		`{` + code + `,"rawAuthCredential":{"authType":"oauth2","oauth2":{"clientId":"c","accessToken":"t"}}}`:     false,
		`{` + program + `,"rawAuthCredential":{"authType":"oauth2","oauth2":{"clientId":"c","clientSecret":"s"}}}`: false,
		`{` + key + `}`: true,
		`{` + key + `,"rawAuthCredential":{"authType":"apiKey","apiKey":"k"}}`:                                                   false,
		`{"authScheme":{"type":"http","scheme":"bearer"}}`:                                                                       true,
		`{` + program + `,"rawAuthCredential":{"authType":"serviceAccount","serviceAccount":{"useDefaultCredential":true}}}`:     false,
		`{"authScheme":{"type":"openIdConnect","openIdConnectUrl":"https://o"},"rawAuthCredential":{"oauth2":{"clientId":"c"}}}`: true,
	} {
		cfg, err := credential.DecodeConfig([]byte(doc))
		if err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		if got := cfg.NeedsUser(); got != want {
			t.Errorf("%s: %v", doc, got)
		}
	}
	if (*credential.Config)(nil).NeedsUser() {
		t.Error("nothing needs a user")
	}
}
