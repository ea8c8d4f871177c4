package credential_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/parley-run/parley/credential"
	"github.com/parley-run/parley/internal/redact"
)

// FuzzDecode makes sure that whatever is accepted can be written in both
// spellings, that what was written means the same to the next reader, and that
// nothing that is asked of a login breaks.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"authScheme":{"type":"oauth2","flows":{"authorizationCode":{"authorizationUrl":"https://a","scopes":{"a":"A","a":"B"}},"implicit":{"scopes":["x","x"]}}},"credentialKey":"k"}`,
		`{"auth_scheme":{"type_":"openIdConnect","token_endpoint":"t","scopes":"a b","x_y":{"b":1e400}},"raw_auth_credential":{"auth_type":"OAUTH2","oauth2":{"client_id":"c","expires_at":1.5}}}`,
		`{"exchangedAuthCredential":{"authType":"API_KEY","apiKey":{"apiKey":-0},"APIKEY":"z","http":{"credentials":{"token":"\ud83d"},"additionalHeaders":{"A":"1","a":"2"}}}}`,
		`{"rawAuthCredential":{"serviceAccount":{"credentials":"{\"private_key\":\"p\"}","scopes":null,"useIdToken":true}}}`,
		`"{\"rawAuthCredential\":{}}"`, `{"result":"k"}`, `{"result":{"oauth2":{}}}`, `{"":"","_":1,"a__b":2,"\ud83d":3,"\udc00":4}`, `5`, `"sk"`, `null`,
		`{"authScheme":{"credential_key":"\ud83d"}}`, `{"authScheme":{"flows":{"AuthCode":{}}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		_ = redact.HoldsCredential(doc)
		for _, read := range []func(json.RawMessage) (*credential.Config, error){credential.DecodeConfig, credential.DecodeAnswer} {
			c, err := read(doc)
			if err != nil {
				continue
			}
			for _, spelling := range []credential.Spelling{credential.Camel, credential.Snake} {
				checkStable(t, c, spelling)
				checkStable(t, c.Redacted(), spelling)
			}
			if c.Key() != c.Redacted().Key() {
				t.Fatal("redaction changes the key")
			}
			_, _ = c.String(), c.Validate()
		}
	})
}

func checkStable(t *testing.T, c *credential.Config, spelling credential.Spelling) {
	t.Helper()
	doc, err := c.AppendJSON(nil, spelling)
	if err != nil {
		t.Fatalf("accepted, but cannot be written: %v", err)
	}
	again, err := credential.DecodeConfig(doc)
	if err != nil {
		t.Fatalf("cannot read %s: %v", doc, err)
	}
	if !reflect.DeepEqual(c, again) {
		t.Fatalf("%s is read as something else", doc)
	}
}
